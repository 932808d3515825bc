"""Views of the API of webhook endpoints. The rules are in `service.py`."""

from collections.abc import Iterable
from typing import ClassVar

from django.db import transaction
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.audit.actors import actor_of
from accounts.keys.authentication import Principal, principal_of_request
from accounts.models import Merchant
from gateway.core.api.errors import InvalidRequestError, ScopeError
from gateway.core.api.openapi import PAGE_PARAMETERS, errors
from gateway.core.api.pagination import Page, list_body, parse_page
from gateway.core.api.rate_limits import Limit
from gateway.core.api.scopes import Scope
from gateway.core.api.views import ApiViewSet
from gateway.core.api.wire import json_body
from webhooks.endpoints.samples import send_sample
from webhooks.listed import serializers
from webhooks.listed.serializers import NewWebhookEndpoint, WebhookEndpoint, WebhookEndpointSecret, read_changes
from webhooks.listed.service import (
    add_endpoint,
    change_endpoint,
    delete_endpoint,
    endpoint_named,
    endpoints_of,
    locked_endpoint,
    rotate_endpoint_secret,
    types_at,
)
from webhooks.models import Endpoint
from webhooks.selectors import lacking_scope


class WebhookEndpointViewSet(ApiViewSet):
    """`/api/v1/webhook_endpoints`."""

    lookup_url_kwarg = "endpoint_id"
    scopes: ClassVar = {
        "create": Scope.WEBHOOKS_WRITE,
        "list": Scope.WEBHOOKS_READ,
        "retrieve": Scope.WEBHOOKS_READ,
        "partial_update": Scope.WEBHOOKS_WRITE,
        "destroy": Scope.WEBHOOKS_WRITE,
        "test": Scope.WEBHOOKS_WRITE,
        "rotate_secret": Scope.WEBHOOKS_WRITE,
    }
    other_limit: ClassVar = Limit("webhook_endpoints", 60)

    @extend_schema(
        operation_id="createWebhookEndpoint",
        tags=["Webhook endpoints"],
        request=NewWebhookEndpoint,
        responses={201: WebhookEndpointSecret, **errors(400, 401, 409, 413, 415, 429)},
    )
    @sensitive_variables("body", "values", "secret", "given")
    def create(self, request: Request) -> Response:
        """Create a webhook endpoint.

        It receives the events that it chose, beside the default endpoint or the checkout's own `webhook_url`. Owners get a mail.

        Types `inbox.*` need the scope `inbox:read` too, and `refund.*` and `payout.*` `payouts:read`: else 403 `scope_insufficient`.
        409 `duplicate`: another endpoint has this URL. 409 `capacity_exhausted`: 20 are listed.
        """
        principal = principal_of_request(request)
        values = NewWebhookEndpoint.read(json_body(request))
        _refuse_closed(principal, values["events"] or ())
        secret = values.pop("secret")
        endpoint, given = add_endpoint(
            Merchant.objects.get(pk=principal.merchant_id),
            mode=principal.mode,
            values=values,
            secret=secret,
            now=timezone.now(),
            actor=actor_of(request),
        )
        return Response(WebhookEndpointSecret.of(endpoint, secret=given), status=201)

    @extend_schema(
        operation_id="listWebhookEndpoints",
        tags=["Webhook endpoints"],
        parameters=PAGE_PARAMETERS,
        responses={200: serializers.WebhookEndpointList, **errors(400, 401, 429)},
    )
    def list(self, request: Request) -> Response:
        """List webhook endpoints.

        Newest first; the default endpoint is among them. URLs of single checkouts are not.
        """
        principal, page = principal_of_request(request), parse_page(request.query_params)
        rows = endpoints_of(principal.merchant_id, principal.mode)
        found = sorted(rows, key=lambda row: (row.created_at, row.pk), reverse=True)
        data = [WebhookEndpoint.of(row) for row in found]
        total = len(data) if page.include_total else None
        begin = _begin([endpoint["id"] for endpoint in data], page)
        return Response(list_body(data[begin : begin + page.limit], page, total))

    @extend_schema(
        operation_id="getWebhookEndpoint",
        tags=["Webhook endpoints"],
        responses={200: WebhookEndpoint, **errors(401, 404, 429)},
    )
    def retrieve(self, request: Request, endpoint_id: str) -> Response:
        """Get a webhook endpoint.

        With its health, and without its secret.
        """
        return Response(WebhookEndpoint.of(_endpoint(request, endpoint_id)))

    @extend_schema(
        operation_id="changeWebhookEndpoint",
        tags=["Webhook endpoints"],
        request=serializers.WebhookEndpointChanges,
        responses={200: WebhookEndpoint, **errors(400, 401, 404, 409, 413, 415, 429)},
    )
    def partial_update(self, request: Request, endpoint_id: str) -> Response:
        """Update a webhook endpoint.

        Waiting events go to a new URL. Owners get a mail, unless only its name changes. A key changes no endpoint with types of event, before
        or after, that it may not choose: 403 `scope_insufficient`.

        409 `duplicate`: another endpoint has this URL. 409 `state_conflict`: people change the default endpoint.
        """
        endpoint, body = _endpoint(request, endpoint_id), json_body(request)
        principal = principal_of_request(request)
        with transaction.atomic():
            # Absent fields keep the values of the locked row, so that concurrent changes of other fields stay.
            held = locked_endpoint(endpoint)
            values = read_changes(held, body)
            _refuse_closed(principal, types_at(held).union(values["events"] or ()))
            held = change_endpoint(held, values=values, now=timezone.now(), actor=actor_of(request))
        return Response(WebhookEndpoint.of(held))

    @extend_schema(
        operation_id="deleteWebhookEndpoint",
        tags=["Webhook endpoints"],
        responses={204: None, **errors(401, 404, 409, 429)},
    )
    def destroy(self, request: Request, endpoint_id: str) -> Response:
        """Delete a webhook endpoint.

        What did not arrive there is cancelled; `GET /events` still lists it. 409 `state_conflict`: it is the default endpoint.
        """
        delete_endpoint(_endpoint(request, endpoint_id), now=timezone.now(), actor=actor_of(request))
        return Response(status=204)

    @extend_schema(
        operation_id="testWebhookEndpoint",
        tags=["Webhook endpoints"],
        request=None,
        responses={201: serializers.TestDelivery, **errors(401, 404, 409, 429)},
    )
    @action(detail=True, methods=["post"])
    def test(self, request: Request, endpoint_id: str) -> Response:
        """Send a test event.

        It goes to this endpoint alone. While one waits there, the answer is that one. 409 `state_conflict`: the endpoint is disabled.
        """
        delivery = send_sample(_endpoint(request, endpoint_id), now=timezone.now(), actor=actor_of(request))
        return Response(serializers.TestDelivery.of(delivery), status=201)

    @extend_schema(
        operation_id="rotateWebhookEndpointSecret",
        tags=["Webhook endpoints"],
        request=None,
        responses={200: WebhookEndpointSecret, **errors(401, 404, 409, 429)},
    )
    @action(detail=True, methods=["post"])
    @sensitive_variables("secret")
    def rotate_secret(self, request: Request, endpoint_id: str) -> Response:
        """Rotate the secret of a webhook endpoint.

        For 24 hours both secrets sign. Other endpoints keep theirs. 409 `state_conflict`: people rotate the default endpoint's.
        403 `scope_insufficient`: it has types of event that the key may not choose.
        """
        endpoint = _endpoint(request, endpoint_id)
        _refuse_closed(principal_of_request(request), types_at(endpoint))
        secret = rotate_endpoint_secret(endpoint, now=timezone.now(), actor=actor_of(request))
        return Response(WebhookEndpointSecret.of(endpoint, secret=secret))


def _endpoint(request: Request, endpoint_id: str) -> Endpoint:
    principal = principal_of_request(request)
    return endpoint_named(principal.merchant_id, principal.mode, endpoint_id)


def _refuse_closed(principal: Principal, types: Iterable[str]) -> None:
    """Raise ScopeError if a key may not read the events of one of these types: their bodies would go where it says."""
    if scope := lacking_scope(principal.scopes, types):
        raise ScopeError(scope, param="events")


def _begin(ids: list[str], page: Page) -> int:
    """Return where a page begins. Raises InvalidRequestError for an unknown starting_after."""
    if page.starting_after is None:
        return page.offset
    if page.starting_after not in ids:
        raise InvalidRequestError("starting_after names nothing of yours.", param="starting_after")
    return ids.index(page.starting_after) + 1
