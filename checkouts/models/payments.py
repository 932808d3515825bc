"""Payments: transfers that were credited."""

from django.db import models
from django.db.models import Q

from checkouts.models.checkouts import Checkout
from wallets.models import Transfer


class Payment(models.Model):
    """A transfer credited to a checkout."""

    checkout = models.ForeignKey(Checkout, models.PROTECT, related_name="payments")
    transfer = models.OneToOneField(Transfer, models.PROTECT, related_name="payment")
    # The expired checkout it was made to, if a successor took it over; that one stays unchanged.
    handed_by = models.ForeignKey(
        Checkout,
        models.PROTECT,
        null=True,
        related_name="handed_payments",
        db_index=False,
    )
    # The attribution rule that credited it, in plain words.
    reason = models.CharField(max_length=200)
    credited_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(
                fields=["handed_by"],
                condition=Q(handed_by__isnull=False),
                name="payment_handed",
            )
        ]

    def __str__(self) -> str:
        return f"{self.checkout_id} <- {self.transfer_id}"
