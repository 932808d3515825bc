"""Statuses of webhooks."""

from django.db.models import TextChoices


class DeliveryStatus(TextChoices):
    """The status of a delivery."""

    PENDING = "pending"
    # Its endpoint is disabled; enabling it makes the delivery pending again.
    HELD = "held"
    DELIVERED = "delivered"
    FAILED = "failed"
