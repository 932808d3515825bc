"""The choices webhooks know."""

from django.db.models import TextChoices


class DeliveryStatus(TextChoices):
    """Where an event's delivery to one URL stands."""

    PENDING = "pending"
    # Its endpoint is disabled; enabling it makes the delivery pending again.
    HELD = "held"
    DELIVERED = "delivered"
    FAILED = "failed"
