"""What a team writes down about money that it sent back to buyers."""

from django.db import models

from accounts.models import User
from checkouts.models.checkouts import Checkout


class RefundNote(models.Model):
    """That the buyer got back what was overpaid, or what came before the checkout expired. There is one per checkout.

    Florin sends no refund: no status, sum or event follows from the note.
    """

    checkout = models.OneToOneField(
        Checkout, models.PROTECT, related_name="refund_note", primary_key=True
    )
    # The transaction that sent the money back.
    tx_hash = models.CharField(max_length=128)
    author = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    noted_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"refund of {self.checkout_id}"
