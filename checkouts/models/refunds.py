"""The team's notes about refunds."""

from django.db import models

from accounts.models import User
from checkouts.models.checkouts import Checkout


class RefundNote(models.Model):
    """A refund of the overpaid part, or of money before expiry. One per checkout.

    Florin sends no refund: no status, sum or event follows from the note.
    """

    checkout = models.OneToOneField(
        Checkout, models.PROTECT, related_name="refund_note", primary_key=True
    )
    # The refund's transaction.
    tx_hash = models.CharField(max_length=128)
    author = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    noted_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"refund of {self.checkout_id}"
