"""Views of the API of terminals: what a program may do about the devices that sell, and what they sold. A device is paired by a code."""

from typing import ClassVar

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.audit.actors import actor_of
from accounts.keys.authentication import principal_of_request
from accounts.keys.idempotency import idempotency_key
from accounts.models import Merchant
from checkouts import models
from checkouts.till import serializers
from checkouts.till.pairing import PAIRING_LASTS, add_terminal, offer_pairing, pairing_address, revoke_terminal
from checkouts.till.serializers import NewTerminal, Terminal, TerminalPairing, TerminalSale
from gateway.core.api.errors import InvalidRequestError, NotFoundError
from gateway.core.api.fields import storable
from gateway.core.api.openapi import PAGE_PARAMETERS, errors
from gateway.core.api.pagination import Page, list_body, parse_page
from gateway.core.api.rate_limits import Limit
from gateway.core.api.scopes import Scope
from gateway.core.api.views import ApiViewSet
from gateway.core.api.wire import json_body


class TerminalViewSet(ApiViewSet):
    """`/api/v1/terminals`."""

    lookup_url_kwarg = "terminal_id"
    scopes: ClassVar = {
        "create": Scope.TERMINALS_WRITE,
        "list": Scope.TERMINALS_READ,
        "retrieve": Scope.TERMINALS_READ,
        "sales": Scope.TERMINALS_READ,
        "pair": Scope.TERMINALS_WRITE,
        "revoke": Scope.TERMINALS_WRITE,
    }
    # The code is stored nowhere. A repeat makes a new one, and ends the one before.
    unkept: ClassVar = {"pair"}
    other_limit: ClassVar = Limit("terminals", 60)

    @extend_schema(
        operation_id="createTerminal",
        tags=["Terminals"],
        request=NewTerminal,
        responses={201: Terminal, **errors(400, 401, 413, 415, 429)},
    )
    def create(self, request: Request) -> Response:
        """Create a terminal.

        No device sells there until one is paired by a code. Its sales are checkouts of the key's merchant and mode.
        """
        principal = principal_of_request(request)
        added = add_terminal(
            Merchant.objects.get(pk=principal.merchant_id),
            principal.mode,
            NewTerminal.values_of(json_body(request)),
            actor=actor_of(request),
            now=timezone.now(),
        )
        return Response(Terminal.of(added), status=201)

    @extend_schema(
        operation_id="listTerminals",
        tags=["Terminals"],
        parameters=PAGE_PARAMETERS,
        responses={200: serializers.TerminalList, **errors(400, 401, 429)},
    )
    def list(self, request: Request) -> Response:
        """List terminals.

        Newest first, revoked ones among them.
        """
        page = parse_page(request.query_params)
        rows = _terminals(request).order_by("-pk")
        found, offset = rows, page.offset
        if page.starting_after is not None:
            last = rows.filter(public_id=page.starting_after).first()
            if last is None:
                raise InvalidRequestError("starting_after names no terminal of yours.", param="starting_after")
            found, offset = rows.filter(pk__lt=last.pk), 0
        data = [Terminal.of(row) for row in found[offset : offset + page.limit]]
        return Response(list_body(data, page, rows.count() if page.include_total else None))

    @extend_schema(operation_id="getTerminal", tags=["Terminals"], responses={200: Terminal, **errors(401, 404, 429)})
    def retrieve(self, request: Request, terminal_id: str) -> Response:
        """Get a terminal.

        With its device in words, and when that was seen last.
        """
        return Response(Terminal.of(_terminal(request, terminal_id)))

    @extend_schema(
        operation_id="pairTerminal",
        tags=["Terminals"],
        request=None,
        responses={201: TerminalPairing, **errors(401, 404, 409, 429)},
    )
    @action(detail=True, methods=["post"])
    @sensitive_variables("code")
    def pair(self, request: Request, terminal_id: str) -> Response:
        """Make a code that pairs a device.

        It pairs the first device that uses it, for ten minutes, and ends an older code. A device that is paired already goes on until
        another takes its place. Show the code to nobody else. It is in one answer alone: a repeat makes another, also with the same
        Idempotency-Key. 409 `state_conflict`: the terminal is revoked.
        """
        idempotency_key(request)
        terminal, now = _terminal(request, terminal_id), timezone.now()
        code = offer_pairing(terminal, actor=actor_of(request), now=now)
        answer = TerminalPairing.of(terminal, code=code, url=pairing_address(code), expires_at=now + PAIRING_LASTS)
        return Response(answer, status=201)

    @extend_schema(
        operation_id="revokeTerminal",
        tags=["Terminals"],
        request=None,
        responses={200: Terminal, **errors(401, 404, 429)},
    )
    @action(detail=True, methods=["post"])
    def revoke(self, request: Request, terminal_id: str) -> Response:
        """Revoke a terminal.

        Its device's next request is refused, for good. Its sales stay, and open ones can still be paid. A repeat answers the same.
        """
        revoke_terminal(_terminal(request, terminal_id), actor=actor_of(request), now=timezone.now())
        return Response(Terminal.of(_terminal(request, terminal_id)))

    @extend_schema(
        operation_id="listTerminalSales",
        tags=["Terminals"],
        parameters=PAGE_PARAMETERS,
        responses={200: serializers.TerminalSaleList, **errors(400, 401, 404, 429)},
    )
    @action(detail=True)
    def sales(self, request: Request, terminal_id: str) -> Response:
        """List a terminal's sales.

        Newest first. `starting_after` is the `checkout_id` of the last sale seen.
        """
        rows = models.TerminalSale.objects.filter(terminal=_terminal(request, terminal_id))
        page = parse_page(request.query_params)
        data = [TerminalSale.of(sale) for sale in _sale_page(rows, page)]
        return Response(list_body(data, page, rows.count() if page.include_total else None))


def _terminals(request: Request) -> QuerySet[models.Terminal]:
    principal = principal_of_request(request)
    return models.Terminal.objects.filter(merchant=principal.merchant_id, mode=principal.mode)


def _terminal(request: Request, terminal_id: str) -> models.Terminal:
    found = _terminals(request).filter(public_id=terminal_id).first() if storable(terminal_id) else None
    if found is None:
        raise NotFoundError(f"There is no terminal {terminal_id}.", param="terminal_id")
    return found


def _sale_page(rows: QuerySet[models.TerminalSale], page: Page) -> QuerySet[models.TerminalSale]:
    """Return a page of sales, their checkouts and the successors of these loaded. Raises InvalidRequestError."""
    found, offset = rows, page.offset
    if page.starting_after is not None:
        last = rows.filter(checkout__public_id=page.starting_after).first()
        if last is None:
            raise InvalidRequestError("starting_after names no sale of this terminal.", param="starting_after")
        moment = last.created_at
        found, offset = rows.filter(Q(created_at__lt=moment) | Q(created_at=moment, pk__lt=last.pk)), 0
    ordered = found.select_related("checkout__replaced_by").order_by("-created_at", "-pk")
    return ordered[offset : offset + page.limit]
