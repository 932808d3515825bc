"""The choices webhooks know."""

from django.db.models import TextChoices


class DeliveryStatus(TextChoices):
    """Where an event's delivery to one URL stands."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
