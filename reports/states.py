"""The choices reports know."""

from django.db.models import TextChoices


class Direction(TextChoices):
    """Which way money went, seen from the merchant."""

    IN = "in"
    OUT = "out"


class PaymentState(TextChoices):
    """How the page of payments narrows them."""

    CREDITED = "credited"
    UNCREDITED = "uncredited"
    CONFIRMING = "confirming"
    ORPHANED = "orphaned"
