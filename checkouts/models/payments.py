"""Transfers that were credited."""

from django.db import models

from checkouts.models.checkouts import Checkout
from wallets.models import Transfer


class Payment(models.Model):
    """A transfer credited to a checkout."""

    checkout = models.ForeignKey(Checkout, models.PROTECT, related_name="payments")
    transfer = models.OneToOneField(Transfer, models.PROTECT, related_name="payment")
    # The attribution rule that credited it, in words a person understands.
    reason = models.CharField(max_length=200)
    credited_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.checkout_id} <- {self.transfer_id}"
