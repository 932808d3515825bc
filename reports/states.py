"""Choices of the reports app's filters."""

from django.db.models import TextChoices


class PaymentState(TextChoices):
    """The payments page's filter by state."""

    CREDITED = "credited"
    UNCREDITED = "uncredited"
    CONFIRMING = "confirming"
    ORPHANED = "orphaned"
