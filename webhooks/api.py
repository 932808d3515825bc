"""The event API: events that were sent, or that wait to be sent."""

from typing import ClassVar

import orjson
from django.conf import settings
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.authentication import Principal, principal_of_request
from gateway.core.api.openapi import PAGE_PARAMETERS, errors, paginated
from gateway.core.api.pagination import list_body
from gateway.core.api.rate_limits import Limit
from gateway.core.api.scopes import Scope
from gateway.core.api.serializers import Answer, Field
from gateway.core.api.views import ApiViewSet
from webhooks.selectors import closed_types, event_bodies, event_body, event_total, parse_filter

EVENTS = Limit("events", 60)


class EventBody(Answer):
    """What a webhook's body is, and an element of the event list."""

    # `_body` of webhooks/outbox/events.py writes it once, when the event happens: every delivery and list has the same bytes.
    id = s.CharField(help_text="`evt_…`, the same as the `webhook-id` header.")
    type = s.CharField(help_text="Such as `checkout.completed`.")
    created_at = s.DateTimeField()
    api_version = s.CharField()
    livemode = s.BooleanField()
    checkout_id = s.CharField()
    sequence = s.IntegerField(help_text="Grows by one with each event of a merchant and mode.")
    # The subject, as GET returned it when the event happened.
    data_: Field = s.DictField()


EventList = paginated("EventList", EventBody)


class EventViewSet(ApiViewSet):
    """`/api/v1/events`."""

    lookup_url_kwarg = "event_id"
    scopes: ClassVar = {"list": Scope.EVENTS_READ, "retrieve": Scope.EVENTS_READ}
    limits: ClassVar = {"list": EVENTS, "retrieve": EVENTS}

    @extend_schema(
        operation_id="listEvents",
        tags=["Events"],
        parameters=[
            OpenApiParameter(
                "after",
                int,
                description="Only events with a greater `sequence`, oldest first, and each that your key may read.",
            ),
            OpenApiParameter("type", str, description="Only events of this type.", enum=settings.WEBHOOK_EVENT_TYPES),
            OpenApiParameter("checkout_id", str, description="Only events of this checkout."),
            *PAGE_PARAMETERS,
        ],
        responses={200: EventList, **errors(400, 401, 429)},
    )
    def list(self, request: Request) -> Response:
        """List events.

        Newest first; with `after`, oldest first, to catch up after an outage. Events `inbox.*` are listed to keys that also have the
        scope `inbox:read`, and `refund.*` and `payout.*` to those with `payouts:read`. For other keys they are left out, and their
        numbers in `sequence` are missing.
        """
        principal: Principal = request.auth  # type: ignore[assignment]
        closed = closed_types(principal.scopes)
        wanted, page = parse_filter(principal.merchant_id, principal.mode, request.query_params, closed=closed)
        total = event_total(wanted) if page.include_total else None
        bodies = [orjson.Fragment(body) for body in event_bodies(wanted, page)]
        return Response(list_body(bodies, page, total))

    @extend_schema(operation_id="getEvent", tags=["Events"], responses={200: EventBody, **errors(401, 404, 429)})
    def retrieve(self, request: Request, event_id: str) -> Response:
        """Get an event.

        Byte for byte what was sent, or waits to be sent. 404 also for a type that the list leaves out for your key.
        """
        principal = principal_of_request(request)
        closed = closed_types(principal.scopes)
        return Response(event_body(principal.merchant_id, principal.mode, event_id, closed=closed))
