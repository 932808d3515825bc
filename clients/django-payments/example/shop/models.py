"""Payments of the shop, and what it heard of them."""

from django.db import models
from django.urls import reverse
from payments.models import BasePayment


class Payment(BasePayment):
    """An order and its payment."""

    def get_success_url(self) -> str:
        """Return where a buyer comes who has paid."""
        return reverse("order", kwargs={"token": self.token})

    def get_failure_url(self) -> str:
        """Return where a buyer comes who has not: the same page, which says what the payment is."""
        return reverse("order", kwargs={"token": self.token})


class Change(models.Model):
    """A change of a payment that the shop heard of."""

    payment = models.ForeignKey(Payment, models.CASCADE, related_name="changes")
    status = models.CharField(max_length=10)

    def __str__(self) -> str:
        return self.status
