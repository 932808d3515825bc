"""The choices reports know."""

from django.db.models import TextChoices


class PaymentState(TextChoices):
    """How the page of payments narrows them."""

    CREDITED = "credited"
    UNCREDITED = "uncredited"
    CONFIRMING = "confirming"
    ORPHANED = "orphaned"
