"""Views of the API of watched wallets, with their parameters. The rules are in `service.py`."""

from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.audit.actors import actor_of
from accounts.keys.authentication import principal_of_request
from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.errors import NotFoundError
from gateway.core.api.openapi import PAGE_PARAMETERS, errors
from gateway.core.api.pagination import list_body, parse_page, parse_text
from gateway.core.api.rate_limits import Limit
from gateway.core.api.scopes import Scope
from gateway.core.api.views import ApiViewSet
from gateway.core.api.wire import json_body
from wallets import models
from wallets.networks import accepted_tokens
from wallets.states import Direction
from wallets.transfers.selectors import (
    MovementFilter,
    Query,
    movement_page,
    movement_total,
    parse_chain,
    parse_direction,
    parse_span,
    parse_token,
)
from wallets.watched.selectors import WalletFilter, balances_of, wallet_page, wallets_wanted, watched_wallet
from wallets.watched.serializers import (
    Movement,
    MovementList,
    NewWatchedWallet,
    WatchedWallet,
    WatchedWalletChanges,
    WatchedWalletList,
    read_changes,
)
from wallets.watched.service import WalletRemovedError, change_watched_wallet, remove_watched_wallet, watch_wallet

WALLET_PARAMETERS = [
    OpenApiParameter("chain", str),
    OpenApiParameter("tag", str, description="Exactly one of the wallet's tags."),
    *PAGE_PARAMETERS,
]
MOVEMENT_PARAMETERS = [
    OpenApiParameter("token", str),
    OpenApiParameter("direction", str, enum=list(Direction.values)),
    OpenApiParameter("from", str, description="ISO 8601, inclusive; by block time. UTC."),
    OpenApiParameter("to", str, description="ISO 8601, exclusive; a date is its midnight."),
    *PAGE_PARAMETERS,
]

WALLETS = Limit("wallets", 60)


def parse_wallet_filter(merchant_id: int, mode: Mode, query: Query) -> WalletFilter:
    """Parse the filters of a list of wallets."""
    tag = parse_text(query, "tag") or ""
    return WalletFilter(merchant_id, mode, chain=parse_chain(query), tag=tag)


def parse_movement_filter(query: Query) -> MovementFilter:
    """Parse the filters of a list of movements."""
    since, until = parse_span(query)
    return MovementFilter(
        token=parse_token(query, known=accepted_tokens()), direction=parse_direction(query), since=since, until=until
    )


class WatchedWalletViewSet(ApiViewSet):
    """`/api/v1/wallets`."""

    lookup_url_kwarg = "wallet_id"
    scopes: ClassVar = {
        "create": Scope.WALLETS_WRITE,
        "list": Scope.WALLETS_READ,
        "retrieve": Scope.WALLETS_READ,
        "partial_update": Scope.WALLETS_WRITE,
        "destroy": Scope.WALLETS_WRITE,
        "transactions": Scope.WALLETS_READ,
    }
    other_limit: ClassVar = WALLETS

    @extend_schema(
        operation_id="watchWallet",
        tags=["Watched wallets"],
        request=NewWatchedWallet,
        responses={201: WatchedWallet, 200: WatchedWallet, **errors(400, 401, 409, 413, 415, 429)},
    )
    def create(self, request: Request) -> Response:
        """Watch a wallet.

        If the address is watched already, the answer is 200 with that wallet. 409: the limit of watched wallets is reached.
        """
        principal = principal_of_request(request)
        wanted = NewWatchedWallet.read(json_body(request))
        merchant = Merchant.objects.get(pk=principal.merchant_id)
        wallet, is_new = watch_wallet(
            merchant, mode=principal.mode, **wanted, now=timezone.now(), actor=actor_of(request)
        )
        return Response(_wallet_object(wallet), status=201 if is_new else 200)

    @extend_schema(
        operation_id="listWatchedWallets",
        tags=["Watched wallets"],
        parameters=WALLET_PARAMETERS,
        responses={200: WatchedWalletList, **errors(400, 401, 429)},
    )
    def list(self, request: Request) -> Response:
        """List watched wallets.

        Newest first.
        """
        principal, query = principal_of_request(request), request.query_params
        wanted = parse_wallet_filter(principal.merchant_id, principal.mode, query)
        page = parse_page(query)
        wallets = wallet_page(wanted, page)
        balances = balances_of(wallets)
        data = [WatchedWallet.of(wallet, balances=balances[wallet.pk]) for wallet in wallets]
        total = wallets_wanted(wanted).count() if page.include_total else None
        return Response(list_body(data, page, total))

    @extend_schema(
        operation_id="getWatchedWallet",
        tags=["Watched wallets"],
        responses={200: WatchedWallet, **errors(401, 404, 429)},
    )
    def retrieve(self, request: Request, wallet_id: str) -> Response:
        """Get a watched wallet.

        The answer includes its balances.
        """
        return Response(_wallet_object(_wallet(request, wallet_id)))

    @extend_schema(
        operation_id="changeWatchedWallet",
        tags=["Watched wallets"],
        request=WatchedWalletChanges,
        responses={200: WatchedWallet, **errors(400, 401, 404, 413, 415, 429)},
    )
    def partial_update(self, request: Request, wallet_id: str) -> Response:
        """Update a watched wallet.

        Changes its label and tags.
        """
        wallet = _wallet(request, wallet_id)
        wanted = read_changes(wallet, json_body(request))
        try:
            changed = change_watched_wallet(wallet, **wanted, now=timezone.now(), actor=actor_of(request))
        except WalletRemovedError as error:
            raise _gone() from error
        return Response(_wallet_object(changed))

    @extend_schema(
        operation_id="unwatchWallet", tags=["Watched wallets"], responses={204: None, **errors(401, 404, 409, 429)}
    )
    def destroy(self, request: Request, wallet_id: str) -> Response:
        """Stop watching a wallet.

        Reports keep what was recorded. 409: payouts are being sent from or to it.
        """
        wallet = _wallet(request, wallet_id)
        try:
            remove_watched_wallet(wallet, now=timezone.now(), actor=actor_of(request))
        except WalletRemovedError as error:
            raise _gone() from error
        return Response(status=204)

    @extend_schema(
        operation_id="listWatchedWalletTransactions",
        tags=["Watched wallets"],
        parameters=MOVEMENT_PARAMETERS,
        responses={200: MovementList, **errors(400, 401, 404, 429)},
    )
    @action(detail=True)
    def transactions(self, request: Request, wallet_id: str) -> Response:
        """List a watched wallet's transactions.

        Newest first.
        """
        wallet, query = _wallet(request, wallet_id), request.query_params
        wanted, page = parse_movement_filter(query), parse_page(query)
        data = [Movement.of(row) for row in movement_page(wallet, wanted, page)]
        total = movement_total(wallet, wanted) if page.include_total else None
        return Response(list_body(data, page, total))


def _wallet(request: Request, wallet_id: str) -> models.WatchedWallet:
    principal = principal_of_request(request)
    return watched_wallet(principal.merchant_id, principal.mode, wallet_id)


def _wallet_object(wallet: models.WatchedWallet) -> dict[str, Any]:
    return WatchedWallet.of(wallet, balances=balances_of([wallet])[wallet.pk])


def _gone() -> NotFoundError:
    """Return the error of a wallet that was removed between reading and locking it."""
    return NotFoundError("There is no such wallet here.", param="wallet_id")
