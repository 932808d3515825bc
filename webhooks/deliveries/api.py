"""The API of deliveries: whether an event arrived, and what its endpoint answered. People send one again, in the dashboard."""

from typing import ClassVar

from django.conf import settings
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.authentication import principal_of_request
from gateway.core.api.openapi import PAGE_PARAMETERS, errors
from gateway.core.api.pagination import list_body
from gateway.core.api.rate_limits import Limit
from gateway.core.api.scopes import Scope
from gateway.core.api.views import ApiViewSet
from webhooks.deliveries import serializers
from webhooks.deliveries.queries import (
    STATUSES,
    delivery_named,
    delivery_page,
    delivery_total,
    newest_attempts,
    parse_filter,
)
from webhooks.deliveries.serializers import WebhookDelivery, WebhookDeliveryDetail


class WebhookDeliveryViewSet(ApiViewSet):
    """`/api/v1/webhook_deliveries`."""

    lookup_url_kwarg = "delivery_id"
    scopes: ClassVar = {"list": Scope.WEBHOOKS_READ, "retrieve": Scope.WEBHOOKS_READ}
    other_limit: ClassVar = Limit("webhook_deliveries", 60)

    @extend_schema(
        operation_id="listWebhookDeliveries",
        tags=["Webhook deliveries"],
        parameters=[
            OpenApiParameter("event_id", str, description="Only deliveries of this event, to whichever endpoint."),
            OpenApiParameter("checkout_id", str, description="Only deliveries of this checkout's events."),
            OpenApiParameter(
                "endpoint_id",
                str,
                description="Only deliveries to this endpoint. Without `event_id` or `checkout_id` they are looked for among "
                "the 10,000 newest that match the other filters.",
            ),
            OpenApiParameter(
                "status", str, enum=STATUSES, description="`failing`: pending, after at least one failed try."
            ),
            OpenApiParameter(
                "event_type", str, enum=settings.WEBHOOK_EVENT_TYPES, description="Only events of this type."
            ),
            *PAGE_PARAMETERS,
        ],
        responses={200: serializers.WebhookDeliveryList, **errors(400, 401, 429)},
    )
    def list(self, request: Request) -> Response:
        """List webhook deliveries.

        Newest first, each with its last attempt. There is one for each endpoint that receives an event.
        """
        principal = principal_of_request(request)
        wanted, page = parse_filter(principal.merchant_id, principal.mode, request.query_params)
        data = [WebhookDelivery.of(row) for row in delivery_page(wanted, page)]
        total = delivery_total(wanted) if page.include_total else None
        return Response(list_body(data, page, total))

    @extend_schema(
        operation_id="getWebhookDelivery",
        tags=["Webhook deliveries"],
        responses={200: WebhookDeliveryDetail, **errors(401, 404, 429)},
    )
    def retrieve(self, request: Request, delivery_id: str) -> Response:
        """Get a webhook delivery.

        With its attempts, and what your server answered to each. `GET /events/{event_id}` gives the body that is sent.
        """
        principal = principal_of_request(request)
        found = delivery_named(principal.merchant_id, principal.mode, delivery_id)
        return Response(WebhookDeliveryDetail.of(found, attempts=newest_attempts(found)))
