"""The outbox: what happened, to whom it must be told, and every time we tried.

Nothing here knows a domain: payloads arrive ready and are kept as the bytes that will be sent.
"""

from functools import partial

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.ids import new_id
from webhooks.states import DeliveryStatus

URL_LENGTH = 2048


class Endpoint(models.Model):
    """A URL of a merchant that receives events, with its health. URLs given on single checkouts have rows too."""

    merchant = models.ForeignKey(
        Merchant, models.CASCADE, related_name="webhook_endpoints"
    )
    mode = models.CharField(max_length=4, choices=Mode)
    url = models.CharField(max_length=URL_LENGTH)
    # The merchant-level URL, used where a checkout names none.
    is_default = models.BooleanField(default=False)
    consecutive_failures = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    # On probation one delivery at a time is tried, and waiting ones use up no tries.
    next_probe_at = models.DateTimeField(null=True)
    owner_told_at = models.DateTimeField(null=True)
    disabled_at = models.DateTimeField(null=True)
    disabled_reason = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "mode", "url"], name="endpoint_once_per_url"
            ),
            models.UniqueConstraint(
                fields=["merchant", "mode"],
                condition=Q(is_default=True),
                name="one_default_endpoint",
            ),
        ]

    def __str__(self) -> str:
        return self.url


class SigningSecret(models.Model):
    """A merchant's webhook secret, encrypted. During a rotation two are valid and both sign."""

    merchant = models.ForeignKey(
        Merchant, models.CASCADE, related_name="webhook_secrets"
    )
    sealed = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant"],
                condition=Q(expires_at=None),
                name="one_current_secret",
            )
        ]

    def __str__(self) -> str:
        return f"secret of {self.merchant_id}"


class EventCounter(models.Model):
    """The last sequence number of a merchant and mode. Locked last, so that numbers commit in order."""

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="+")
    mode = models.CharField(max_length=4, choices=Mode)
    value = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "mode"], name="one_event_counter"
            )
        ]

    def __str__(self) -> str:
        return f"{self.merchant_id}/{self.mode}: {self.value}"


class Event(models.Model):
    """Something a merchant is told. The body is frozen here; every try sends the same bytes."""

    public_id = models.CharField(
        max_length=40, unique=True, default=partial(new_id, "evt")
    )
    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="+")
    mode = models.CharField(max_length=4, choices=Mode)
    type = models.CharField(max_length=40)
    # The public id of what it is about.
    subject_id = models.CharField(max_length=40)
    # Says which occurrence this is, so that the same one cannot be written twice.
    occurrence = models.CharField(max_length=120, unique=True)
    sequence = models.BigIntegerField()
    body = models.BinaryField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "mode", "sequence"], name="event_sequence_once"
            )
        ]
        indexes = [models.Index(fields=["subject_id"], name="events_of_subject")]

    def __str__(self) -> str:
        return f"{self.type} {self.public_id}"


class Delivery(models.Model):
    """An event on its way to an endpoint."""

    public_id = models.CharField(
        max_length=40, unique=True, default=partial(new_id, "whd")
    )
    event = models.ForeignKey(Event, models.CASCADE, related_name="deliveries")
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="deliveries")
    status = models.CharField(
        max_length=9, choices=DeliveryStatus, default=DeliveryStatus.PENDING
    )
    tries = models.PositiveSmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField()
    # While it lies in the future somebody is sending; a crashed sender's row comes back when it passes.
    lease_until = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["event", "endpoint"], name="one_delivery_per_endpoint"
            ),
            models.CheckConstraint(
                condition=Q(status__in=DeliveryStatus.values),
                name="delivery_status_known",
            ),
        ]
        indexes = [
            # The sender's claim walks endpoints, and each one's due rows in order.
            models.Index(
                fields=["endpoint", "next_attempt_at", "id"],
                condition=Q(status=DeliveryStatus.PENDING),
                name="delivery_due",
            )
        ]

    def __str__(self) -> str:
        return self.public_id


class Attempt(models.Model):
    """One HTTP try: what was sent, what came back, how long it took."""

    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="attempts")
    started_at = models.DateTimeField()
    duration_ms = models.PositiveIntegerField()
    status_code = models.PositiveSmallIntegerField(null=True)
    # Why there is no status: a short class such as `timeout`, `forbidden_address`, `connection_refused`.
    error = models.CharField(max_length=200, blank=True)
    request_headers = models.JSONField(default=dict)
    response_headers = models.JSONField(default=dict)
    # The first 16 KB of what the endpoint said, bytes that are not UTF-8 replaced.
    response_body = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"{self.delivery_id}: {self.status_code or self.error}"
