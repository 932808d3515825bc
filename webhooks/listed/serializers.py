"""Webhook endpoints as the API takes and shows them."""

import binascii
from base64 import b64decode
from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings
from rest_framework import serializers as s

from gateway.core.api.fields import missing, refuse
from gateway.core.api.openapi import paginated
from gateway.core.api.serializers import Answer, ApiField, Body, Flag, LiveMode, Moment, Text, WebUrl
from webhooks import models
from webhooks.listed.service import chosen_events, id_of
from webhooks.models import NAME_LENGTH
from webhooks.signatures import SECRET_PREFIX
from webhooks.states import DeliveryStatus, EndpointHealth

# Standard Webhooks 1.0.0, "Symmetric signatures": from 24 to 64 bytes (https://github.com/standard-webhooks/standard-webhooks).
_SECRET_BYTES: Final = range(24, 65)
_LONGEST_SECRET: Final = 100

_OPT_IN: Final = ", ".join(f"`{name}`" for name in settings.WEBHOOK_OPT_IN_TYPES)
_IMPLIED: Final = (
    "Who receives `checkout.completed` receives `checkout.reversed` and `checkout.restored` too, and `system.recovered` comes with "
    "`system.disrupted`."
)


class EventTypes(ApiField, s.ListField):
    """Types of event, each once; null stands for each type that needs no choice."""

    absent = None
    child = s.ChoiceField(settings.WEBHOOK_EVENT_TYPES)

    def to_internal_value(self, value: Any) -> list[str]:
        """Return the types, with those that others imply. Raises InvalidRequestError."""
        known = settings.WEBHOOK_EVENT_TYPES
        if not isinstance(value, list) or not value or not all(isinstance(one, str) and one in known for one in value):
            raise refuse(self.name, f"{self.name} must be a list of some of {', '.join(known)}.")
        return chosen_events(value)

    def writer(self) -> None:
        """Return none: the empty list of a plugin that chose only what is never sent is not null."""
        return


class OwnSecret(Text):
    """A signing secret that the caller chose. No error repeats it."""

    def to_internal_value(self, value: Any) -> str:
        """Return the secret. Raises InvalidRequestError."""
        secret = super().to_internal_value(value)
        try:
            key = b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if secret and (not secret.startswith(SECRET_PREFIX) or len(key) not in _SECRET_BYTES):
            raise refuse(self.name, f"{self.name} must be {SECRET_PREFIX} and 24 to 64 bytes in base64.")
        return secret


class WebhookEndpoint(Answer):
    """A URL that receives events, without its secret."""

    id = s.CharField(read_only=True, help_text="`whe_…`; the mode's default endpoint is `whe_default`.")
    url = WebUrl(public=True, max_length=models.URL_LENGTH, body_help="A public address, https in production.")
    name = Text(max_length=NAME_LENGTH, required=False, trim_whitespace=True, body_help="For people.")
    events = EventTypes(
        required=False,
        allow_null=True,
        help_text="The types that it receives. Null: each type that needs no choice.",
        body_help="The types that it receives. Null or absent: each type that needs no choice, which are all but "
        f"{_OPT_IN}. {_IMPLIED}",
    )
    enabled = Flag(
        source="is_enabled",
        required=False,
        absent=True,
        help_text="Events of a disabled endpoint are held.",
        body_help="True if absent. Events of a disabled endpoint are held until it is enabled.",
    )
    is_default = s.BooleanField(read_only=True, help_text="Whether it is the default endpoint, which people change.")
    health = s.ChoiceField(EndpointHealth.choices, read_only=True)
    failing_since = Moment(allow_null=True)
    disabled_reason = Text(read_only=True, allow_null=True)
    livemode = LiveMode()
    created_at = Moment()

    def get_id(self, endpoint: models.Endpoint) -> str:
        """Return the id."""
        return id_of(endpoint)


class WebhookEndpointSecret(WebhookEndpoint):
    """A webhook endpoint with its secret, which no other answer has."""

    secret = s.CharField(read_only=True, help_text="`whsec_…`. Keep it: it is not shown again.")


class NewWebhookEndpoint(Body, WebhookEndpoint):
    """Body of `POST /webhook_endpoints`."""

    secret = OwnSecret(
        max_length=_LONGEST_SECRET,
        required=False,
        body_help="`whsec_` and 24 to 64 bytes in base64. Absent: a new one is made.",
    )

    def read_url(self, body: Mapping[str, Any], _: Mapping[str, Any]) -> str:
        """Return the URL, which is not blank. Raises InvalidRequestError."""
        url: str = self.read_fields["url"].read(body)
        if not url:
            raise missing("url")
        return url


class WebhookEndpointChanges(Body, WebhookEndpoint):
    """Body of `PATCH /webhook_endpoints/{id}`: what is absent stays."""

    url = WebUrl(
        public=True,
        max_length=models.URL_LENGTH,
        required=False,
        body_help="A public address, https in production. Failures of the one before are forgotten.",
    )
    events = EventTypes(
        required=False,
        allow_null=True,
        body_help=f"The types that it receives from now on. Null: each type that needs no choice, which are all but {_OPT_IN}. "
        + _IMPLIED,
    )
    enabled = Flag(
        source="is_enabled", required=False, body_help="Events of a disabled endpoint are held until it is enabled."
    )


def read_changes(endpoint: models.Endpoint, body: Mapping[str, Any]) -> dict[str, Any]:
    """Read the body of `PATCH /webhook_endpoints/{id}`: null clears `name` and `events`, what is absent stays as it is stored.

    Raises InvalidRequestError.
    """
    values = WebhookEndpointChanges.read(body)
    if "url" in body and not values["url"]:
        raise missing("url")
    # The endpoint of a plugin may have no types at all, and which URLs are allowed may have changed since.
    stays = [name for name in ("url", "name", "events") if name not in body]
    if body.get("enabled") is None:
        stays.append("is_enabled")
    return values | {column: getattr(endpoint, column) for column in stays}


class TestDelivery(Answer):
    """A test event on its way to an endpoint."""

    id = s.CharField(source="public_id", read_only=True, help_text="`whd_…`, for `GET /webhook_deliveries/{id}`.")
    event_id = s.CharField(source="event.public_id", read_only=True)
    status = s.ChoiceField(DeliveryStatus.choices, read_only=True)
    created_at = Moment()


WebhookEndpointList = paginated("WebhookEndpointList", WebhookEndpoint)
