"""Deliveries and attempts as the API shows them: never what was signed, the secrets, or a whole e-mail address."""

from typing import Any
from urllib.parse import urlsplit, urlunsplit

from rest_framework import serializers as s

from gateway.core.api.openapi import paginated
from gateway.core.api.serializers import Answer, LiveMode, Moment
from gateway.core.times import iso_or_none
from mails.addresses import masked_in
from webhooks import models
from webhooks.listed.service import id_of
from webhooks.states import DeliveryStatus


class DeliveryAttempt(Answer):
    """One POST: when, for how long, and its result."""

    started_at = Moment()
    duration_ms = s.IntegerField()
    status_code = s.IntegerField(allow_null=True, help_text="What your server answered; null if it did not answer.")
    error = s.CharField(
        allow_null=True, help_text="Why there was no answer: such as `timeout`, `tls_failed`, `connection_refused`."
    )

    def get_error(self, attempt: models.Attempt) -> str | None:
        """Return the error's class; None where a status was answered."""
        return attempt.error or None


class AnsweredAttempt(DeliveryAttempt):
    """One POST, with what your server answered."""

    response_headers = s.DictField(child=s.CharField(), help_text="Some headers, such as `Location` and `Retry-After`.")
    response_body = s.CharField(
        help_text="The first 16 KB of a refusal, empty after success. E-mail addresses are masked."
    )

    def get_response_headers(self, attempt: models.Attempt) -> dict[str, str]:
        """Return the headers, with e-mail addresses masked."""
        return {name: masked_in(value) for name, value in attempt.response_headers.items()}

    def get_response_body(self, attempt: models.Attempt) -> str:
        """Return the beginning of the body, with e-mail addresses masked."""
        return masked_in(attempt.response_body)


class WebhookDelivery(Answer):
    """An event on its way to one endpoint, or there."""

    id = s.CharField(source="public_id", help_text="`whd_…`, the same as the `X-Service-Delivery` header.")
    event_id = s.CharField(source="event.public_id")
    event_type = s.CharField(help_text="Such as `checkout.completed`.")
    checkout_id = s.CharField(source="event.subject_id", help_text="As in the event: what it is about.")
    endpoint_id = s.CharField(
        allow_null=True, help_text="Null if a checkout's own `webhook_url` named it, or if it was deleted."
    )
    url = s.CharField(help_text="The endpoint's URL of today, without its query.")
    status = s.ChoiceField(
        DeliveryStatus.choices,
        help_text="`held`: its endpoint is disabled. `failed`: no further try. `cancelled`: nothing is sent any more.",
    )
    tries = s.IntegerField()
    next_attempt_at = Moment(allow_null=True)
    finished_at = Moment(allow_null=True, help_text="When it was delivered, given up or cancelled.")
    last_attempt = DeliveryAttempt(allow_null=True, help_text="Null before the first try, and 30 days after the last.")
    livemode = LiveMode()
    created_at = Moment()

    def get_endpoint_id(self, delivery: models.Delivery) -> str | None:
        """Return the id that `GET /webhook_endpoints` has; None for an endpoint that is not in that list."""
        return id_of(delivery.endpoint) or None

    def get_url(self, delivery: models.Delivery) -> str:
        """Return the URL without what may be a secret of the receiver's."""
        parts = urlsplit(delivery.endpoint.url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    def get_next_attempt_at(self, delivery: models.Delivery) -> str | None:
        """Return when it is tried next; None where it is not."""
        return iso_or_none(delivery.next_attempt_at if delivery.status == DeliveryStatus.PENDING else None)

    def get_last_attempt(self, delivery: models.Delivery) -> dict[str, Any] | None:
        """Return the newest attempt."""
        newest = next(iter(getattr(delivery, "newest", ())), None)
        return DeliveryAttempt.of(newest) if newest else None


class WebhookDeliveryDetail(WebhookDelivery):
    """A delivery with its attempts."""

    attempts = AnsweredAttempt(many=True, help_text="Newest first, at most 20. Each is kept for 30 days.")


WebhookDeliveryList = paginated("WebhookDeliveryList", WebhookDelivery)
