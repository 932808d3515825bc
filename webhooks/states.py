"""Statuses of webhooks, and the forms in which deliveries are sent."""

from typing import Final

from django.db.models import TextChoices

from gateway.core.texts import pgettext_noop
from gateway.core.web.badges import Badge, BadgedChoices

NOTES: Final = "note"
"""The stream of what people are told, in place of a mode: no list of live or test events or endpoints has any of it."""


class Format(TextChoices):
    """The form in which an endpoint's deliveries are sent."""

    # The event as JSON, signed.
    FLORIN = "florin"
    # To a browser, through its push service (RFC 8030, RFC 8292).
    PUSH = "push"
    # JSON as a chat's service takes it.
    CHAT = "chat"
    # JSON as plugins for BTCPay Server take it, signed as BTCPay Server does; `settings.WEBHOOK_BTCPAY_BODY` writes it.
    BTCPAY = "btcpay"


class DeliveryStatus(BadgedChoices):
    """The status of a delivery."""

    PENDING = "pending", Badge("Waiting", "info")
    # Its endpoint is disabled; enabling it makes the delivery pending again.
    HELD = "held", Badge(pgettext_noop("team", "Held"), "warn")
    DELIVERED = "delivered", Badge("Delivered", "ok")
    FAILED = "failed", Badge("Failed", "bad")
    # Its endpoint was deleted before it arrived, or has no words for its event.
    CANCELLED = "cancelled", Badge("Cancelled", "")


class EndpointHealth(BadgedChoices):
    """What an endpoint's last attempts say about it."""

    HEALTHY = "healthy", Badge("Healthy", "ok")
    FAILING = "failing", Badge("Failing", "warn")
    # One delivery at a time is tried.
    PROBATION = "probation", Badge("Retrying one at a time", "warn")
    DISABLED = "disabled", Badge("Disabled", "bad")
