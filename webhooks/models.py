"""The outbox: events, deliveries and attempts.

Independent of what events are about: callers pass finished payloads, which are stored as the bytes to send.
"""

from functools import partial

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import MD5
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.ids import new_id
from webhooks.health import PROBATION_AFTER
from webhooks.states import DeliveryStatus, EndpointHealth, Format

URL_LENGTH = 2048
NAME_LENGTH = 80
TYPE_LENGTH = 40
# Endpoints that do not take events at once: disabled, or on probation.
TROUBLED = Q(disabled_at__isnull=False) | Q(consecutive_failures__gte=PROBATION_AFTER)
# Deliveries that failed at least once and will be tried again.
FAILING = Q(status=DeliveryStatus.PENDING, tries__gt=0)
# Endpoints that merchants added, beside the default one.
LISTED = Q(public_id__isnull=False)


class Endpoint(models.Model):
    """A merchant's URL that receives events, with its health. URLs of single checkouts have rows too.

    A listed endpoint was added by its merchant: it has a `public_id`, a secret of its own, and receives the types that it chose.
    """

    # The indexes below begin with the merchant.
    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="webhook_endpoints", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    url = models.CharField(max_length=URL_LENGTH)
    # The merchant's default URL, used if a checkout names none.
    is_default = models.BooleanField(default=False)
    # Listed endpoints have one, others none. The release before fills none of these four.
    public_id = models.CharField(max_length=40, null=True)  # noqa: DJ001 - none is no id
    name = models.CharField(max_length=NAME_LENGTH, blank=True, default="", db_default="")
    # What a listed endpoint receives; null: each type that needs no choice.
    events = ArrayField(models.CharField(max_length=TYPE_LENGTH), null=True)
    created_by = models.CharField(max_length=NAME_LENGTH, blank=True, default="", db_default="")
    # Where it is not FLORIN, `url` only names the service: the real one is a secret, kept as `webhooks.endpoints.targets` says.
    format = models.CharField(max_length=8, choices=Format, default=Format.FLORIN, db_default=Format.FLORIN)
    # What the format's writer has to know beside the event, such as the names by which the receiver chose types.
    dialect = models.JSONField(null=True)
    consecutive_failures = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    # On probation one delivery at a time is tried; waiting deliveries use no attempts.
    next_probe_at = models.DateTimeField(null=True)
    owner_told_at = models.DateTimeField(null=True)
    disabled_at = models.DateTimeField(null=True)
    disabled_reason = models.CharField(max_length=200, blank=True)
    # The sender that serves this endpoint exclusively until then. A crashed sender's endpoints return when it passes.
    served_by = models.CharField(max_length=40, blank=True)
    served_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            # By digest: an index entry holds at most 2,704 bytes. A longer address would make writing the event fail, and with it
            # the credit that the event reports.
            models.UniqueConstraint(F("merchant"), F("mode"), MD5("url"), name="endpoint_once_per_url"),
            models.UniqueConstraint(
                fields=["merchant", "mode"], condition=Q(is_default=True), name="one_default_endpoint"
            ),
            models.UniqueConstraint(fields=["public_id"], condition=LISTED, name="endpoint_id_once"),
        ]
        indexes = [
            # If each of a merchant's checkouts names an address, the merchant has as many endpoints as checkouts.
            models.Index(fields=["merchant", "mode", "id"], name="endpoint_listed"),
            models.Index(fields=["merchant", "mode", "id"], condition=TROUBLED, name="endpoint_troubled"),
            # Who else receives an event, without a look at the URLs of checkouts.
            models.Index(fields=["merchant", "mode", "id"], condition=LISTED, name="endpoint_added"),
        ]

    def __str__(self) -> str:
        return self.url

    @property
    def is_enabled(self) -> bool:
        """Whether events are sent to it at once."""
        return self.disabled_at is None

    @property
    def health(self) -> EndpointHealth:
        """What its last attempts say."""
        if not self.is_enabled:
            return EndpointHealth.DISABLED
        if self.consecutive_failures >= PROBATION_AFTER:
            return EndpointHealth.PROBATION
        return EndpointHealth.FAILING if self.consecutive_failures else EndpointHealth.HEALTHY


class SigningSecret(models.Model):
    """A webhook secret, encrypted: a merchant's, or a listed endpoint's own. During a rotation two are valid and both sign."""

    # Null for an endpoint's own: the release before finds secrets by merchant, and would rotate these with the merchant's.
    merchant = models.ForeignKey(Merchant, models.CASCADE, null=True, related_name="webhook_secrets")
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, null=True, related_name="secrets")
    sealed = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["merchant"], condition=Q(expires_at=None), name="one_current_secret"),
            models.UniqueConstraint(
                fields=["endpoint"], condition=Q(expires_at=None), name="one_current_secret_of_endpoint"
            ),
            models.CheckConstraint(
                condition=Q(merchant=None, endpoint__isnull=False) | Q(merchant__isnull=False, endpoint=None),
                name="secret_has_one_owner",
            ),
        ]

    def __str__(self) -> str:
        return f"secret of {self.merchant_id or self.endpoint}"


class EventCounter(models.Model):
    """The last sequence number of a merchant and mode. Locked last, so that numbers commit in order."""

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="+")
    mode = models.CharField(max_length=4, choices=Mode)
    value = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["merchant", "mode"], name="one_event_counter")]

    def __str__(self) -> str:
        return f"{self.merchant_id}/{self.mode}: {self.value}"


class Event(models.Model):
    """An event for a merchant. The body is frozen here; every attempt sends the same bytes."""

    # Unique by constraints: `unique=True` would add a second index for LIKE to each, at every insert.
    public_id = models.CharField(max_length=40, default=partial(new_id, "evt"))
    merchant = models.ForeignKey(Merchant, models.PROTECT, related_name="+", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode)
    type = models.CharField(max_length=TYPE_LENGTH)
    # The public id of its subject; the longest is that of an inbox item.
    subject_id = models.CharField(max_length=60)
    # Identifies the occurrence, so that it cannot be written twice.
    occurrence = models.CharField(max_length=120)
    sequence = models.BigIntegerField()
    body = models.BinaryField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["merchant", "mode", "sequence"], name="event_sequence_once"),
            models.UniqueConstraint(fields=["public_id"], name="event_id_once"),
            models.UniqueConstraint(fields=["occurrence"], name="event_once_per_occurrence"),
        ]
        indexes = [
            models.Index(fields=["subject_id"], name="events_of_subject"),
            # For lists of one type: without it, a search for a rare type would read all events.
            models.Index(fields=["merchant", "mode", "type", "sequence"], name="events_by_type"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.public_id}"


class Delivery(models.Model):
    """A delivery of an event to an endpoint."""

    public_id = models.CharField(max_length=40, default=partial(new_id, "whd"))
    # The constraint below indexes the event, the partial indexes the endpoint; further indexes would slow the writes.
    event = models.ForeignKey(Event, models.CASCADE, related_name="deliveries", db_index=False)
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="deliveries", db_index=False)
    status = models.CharField(max_length=9, choices=DeliveryStatus, default=DeliveryStatus.PENDING)
    tries = models.PositiveSmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField()
    # Set once next_attempt_at has passed, so that the sender walks only due deliveries.
    is_due = models.BooleanField(default=True)
    finished_at = models.DateTimeField(null=True)
    # Copies from endpoint and event, for a merchant's lists: an index spans one table. The endpoint's own key is checked,
    # so this one need not be.
    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="+", db_index=False, db_constraint=False)
    mode = models.CharField(max_length=4, choices=Mode)
    event_type = models.CharField(max_length=TYPE_LENGTH)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["event", "endpoint"], name="one_delivery_per_endpoint"),
            models.UniqueConstraint(fields=["public_id"], name="delivery_id_once"),
            models.CheckConstraint(condition=Q(status__in=DeliveryStatus.values), name="delivery_status_known"),
        ]
        indexes = [
            # The sender: endpoints with due deliveries, and each one's, oldest first.
            models.Index(
                fields=["endpoint", "id"], condition=Q(status=DeliveryStatus.PENDING, is_due=True), name="delivery_due"
            ),
            # What becomes due next.
            models.Index(
                fields=["next_attempt_at"],
                condition=Q(status=DeliveryStatus.PENDING, is_due=False),
                name="delivery_waiting",
            ),
            # An endpoint's oldest delivery, which sets its probation's schedule; and the held ones.
            models.Index(
                fields=["endpoint", "id"],
                condition=Q(status__in=[DeliveryStatus.PENDING, DeliveryStatus.HELD]),
                name="delivery_unfinished",
            ),
            # The number of an endpoint's failed deliveries.
            models.Index(fields=["endpoint"], condition=Q(status=DeliveryStatus.FAILED), name="delivery_failed"),
            # A merchant's list of those that failed and will be tried again.
            models.Index(fields=["merchant", "mode", "created_at", "id"], condition=FAILING, name="delivery_failing"),
            # A merchant's lists and time ranges: one walk for each status and type.
            models.Index(
                fields=["merchant", "mode", "status", "event_type", "created_at", "id"], name="delivery_listed"
            ),
        ]

    def __str__(self) -> str:
        return self.public_id


class Attempt(models.Model):
    """One HTTP attempt: request, response, duration."""

    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="attempts")
    started_at = models.DateTimeField()
    duration_ms = models.PositiveIntegerField()
    status_code = models.PositiveSmallIntegerField(null=True)
    # Why there is no status: a short class such as `timeout`, `forbidden_address`, `connection_refused`.
    error = models.CharField(max_length=200, blank=True)
    request_headers = models.JSONField(default=dict)
    response_headers = models.JSONField(default=dict)
    # The first 16 KB of the endpoint's response, with invalid UTF-8 replaced.
    response_body = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"{self.delivery_id}: {self.status_code or self.error}"
