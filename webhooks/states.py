"""Statuses of webhooks."""

from gateway.core.web.badges import Badge, BadgedChoices


class DeliveryStatus(BadgedChoices):
    """The status of a delivery."""

    PENDING = "pending", Badge("Waiting", "info")
    # Its endpoint is disabled; enabling it makes the delivery pending again.
    HELD = "held", Badge("Held", "warn")
    DELIVERED = "delivered", Badge("Delivered", "ok")
    FAILED = "failed", Badge("Failed", "bad")
    # Its endpoint was deleted before it arrived.
    CANCELLED = "cancelled", Badge("Cancelled", "")


class EndpointHealth(BadgedChoices):
    """What an endpoint's last attempts say about it."""

    HEALTHY = "healthy", Badge("Healthy", "ok")
    FAILING = "failing", Badge("Failing", "warn")
    # One delivery at a time is tried.
    PROBATION = "probation", Badge("On probation", "warn")
    DISABLED = "disabled", Badge("Disabled", "bad")
