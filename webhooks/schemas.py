"""The event API's shapes for the OpenAPI description. Never used to read or write a request (docs/adr/0003)."""

from typing import Any

from rest_framework import serializers as s

from gateway.core.api.openapi import paginated


class EventBody(s.Serializer[None]):
    """What a webhook's body is, and an element of the event list."""

    id = s.CharField(help_text="`evt_…`, the same as the `webhook-id` header.")
    type = s.CharField(help_text="Such as `checkout.completed`.")
    created_at = s.DateTimeField()
    api_version = s.CharField()
    livemode = s.BooleanField()
    checkout_id = s.CharField()
    sequence = s.IntegerField(help_text="Grows by one with each event of a merchant and mode.")
    # A serializer has a property of the name `data`, so the field cannot be declared in the class body.

    def get_fields(self) -> dict[str, s.Field[Any, Any, Any, Any]]:
        """Add the subject: the checkout, as GET returned it when the event happened."""
        return super().get_fields() | {"data": s.DictField()}


EventList = paginated("EventList", EventBody)
