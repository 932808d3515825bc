"""Credited transfers, signed receipts of them, and notes of refunds that merchants sent."""

from django.db import models
from django.db.models import Q

from accounts.models import User
from checkouts.models.checkouts import Checkout
from wallets.models import Transfer


class Payment(models.Model):
    """A transfer credited to a checkout."""

    checkout = models.ForeignKey(Checkout, models.PROTECT, related_name="payments")
    transfer = models.OneToOneField(Transfer, models.PROTECT, related_name="payment")
    # The expired checkout that was paid, if a successor took the payment over.
    handed_by = models.ForeignKey(Checkout, models.PROTECT, null=True, related_name="handed_payments", db_index=False)
    # The attribution rule that credited it, as text for people.
    reason = models.CharField(max_length=200)
    credited_at = models.DateTimeField()
    # When its reversal after completion was told; null again once the transfer is final again.
    reversed_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["handed_by"], condition=Q(handed_by__isnull=False), name="payment_handed")]

    def __str__(self) -> str:
        return f"{self.checkout_id} <- {self.transfer_id}"


class Receipt(models.Model):
    """A signed receipt of a completed checkout, as its bytes; a trigger keeps it as it is.

    A checkout has one. It gets another, with the next `number`, only where the last one does not say what is so any more.
    """

    checkout = models.ForeignKey(Checkout, models.PROTECT, related_name="receipts", db_index=False)
    number = models.BigIntegerField(default=1)
    # The token's own id.
    jti = models.CharField(max_length=40, unique=True)
    # The key that signed it (`gateway.core.signing`).
    kid = models.CharField(max_length=300)
    # A compact JWS.
    jws = models.BinaryField()
    signed_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["checkout", "number"], name="receipt_once_per_number")]

    def __str__(self) -> str:
        return self.jti


class RefundNote(models.Model):
    """A note of the release before that the merchant refunded an overpaid part, or money from before expiry.

    Nothing reads it but `payouts.lifecycle.noted`, which makes a refund of it: it goes once no process writes it.
    """

    checkout = models.OneToOneField(Checkout, models.PROTECT, related_name="refund_note", primary_key=True)
    # The transaction that sent the money back.
    tx_hash = models.CharField(max_length=128)
    author = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    noted_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"refund of {self.checkout_id}"
