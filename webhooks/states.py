"""Statuses of webhooks."""

from gateway.core.web.badges import Badge, BadgedChoices


class DeliveryStatus(BadgedChoices):
    """The status of a delivery."""

    PENDING = "pending", Badge("Waiting", "info")
    # Its endpoint is disabled; enabling it makes the delivery pending again.
    HELD = "held", Badge("Held", "warn")
    DELIVERED = "delivered", Badge("Delivered", "ok")
    FAILED = "failed", Badge("Failed", "bad")
