"""The API of watched wallets. Services decide."""

from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.authentication import principal_of_request
from accounts.models import Merchant
from gateway.core.api.errors import ConflictError, NotFoundError
from gateway.core.api.pagination import list_body, parse_page
from gateway.core.api.rate_limits import Limit
from gateway.core.api.views import ApiViewSet
from gateway.core.api.wire import json_body
from gateway.core.web.client_address import address_or_none
from wallets.models import WatchedWallet
from wallets.transfers.movement_selectors import movement_page, movement_total
from wallets.watched import schemas
from wallets.watched.lists import wallet_page, wallets_wanted, watched_wallet
from wallets.watched.payloads import movement_payload, wallet_payload
from wallets.watched.queries import parse_changes, parse_movement_filter, parse_wallet_filter, parse_watch
from wallets.watched.selectors import balances_of
from wallets.watched.service import change_watched_wallet, remove_watched_wallet, watch_wallet

WALLETS = Limit("wallets", 60)


class WatchedWalletViewSet(ApiViewSet):
    """`/api/v1/wallets`."""

    lookup_url_kwarg = "wallet_id"
    other_limit: ClassVar = WALLETS

    @extend_schema(
        operation_id="watchWallet",
        tags=["Watched wallets"],
        request=schemas.NewWatchedWallet,
        responses={
            201: schemas.WatchedWallet,
            200: schemas.WatchedWallet,
            **schemas.errors(400, 401, 409, 413, 415, 429),
        },
    )
    def create(self, request: Request) -> Response:
        """Watch a wallet.

        If the address is watched already, the answer is 200 with that wallet. 409: the limit of watched wallets is reached.
        """
        principal = principal_of_request(request)
        wanted = parse_watch(json_body(request))
        wallet, is_new = watch_wallet(
            Merchant.objects.get(pk=principal.merchant_id),
            mode=principal.mode,
            chain=wanted.chain,
            address=wanted.address,
            label=wanted.label,
            tags=wanted.tags,
            now=timezone.now(),
            **_doer(request),
        )
        return Response(_wallet_object(wallet), status=201 if is_new else 200)

    @extend_schema(
        operation_id="listWatchedWallets",
        tags=["Watched wallets"],
        parameters=schemas.WALLET_PARAMETERS,
        responses={200: schemas.WatchedWalletList, **schemas.errors(400, 401, 429)},
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
        data = [wallet_payload(wallet, balances[wallet.pk]) for wallet in wallets]
        total = wallets_wanted(wanted).count() if page.include_total else None
        return Response(list_body(data, page, total))

    @extend_schema(
        operation_id="getWatchedWallet",
        tags=["Watched wallets"],
        responses={200: schemas.WatchedWallet, **schemas.errors(401, 404, 429)},
    )
    def retrieve(self, request: Request, wallet_id: str) -> Response:
        """Get a watched wallet.

        The answer includes its balances.
        """
        return Response(_wallet_object(_wallet(request, wallet_id)))

    @extend_schema(
        operation_id="changeWatchedWallet",
        tags=["Watched wallets"],
        request=schemas.WatchedWalletChanges,
        responses={200: schemas.WatchedWallet, **schemas.errors(400, 401, 404, 413, 415, 429)},
    )
    def partial_update(self, request: Request, wallet_id: str) -> Response:
        """Update a watched wallet.

        Changes its label and tags.
        """
        wallet = _wallet(request, wallet_id)
        wanted = parse_changes(wallet, json_body(request))
        try:
            changed = change_watched_wallet(
                wallet, label=wanted.label, tags=wanted.tags, now=timezone.now(), **_doer(request)
            )
        except ConflictError as error:
            raise _gone() from error
        return Response(_wallet_object(changed))

    @extend_schema(
        operation_id="unwatchWallet", tags=["Watched wallets"], responses={204: None, **schemas.errors(401, 404, 429)}
    )
    def destroy(self, request: Request, wallet_id: str) -> Response:
        """Stop watching a wallet.

        Reports keep what was recorded.
        """
        wallet = _wallet(request, wallet_id)
        try:
            remove_watched_wallet(wallet, now=timezone.now(), **_doer(request))
        except ConflictError as error:
            raise _gone() from error
        return Response(status=204)

    @extend_schema(
        operation_id="listWatchedWalletTransactions",
        tags=["Watched wallets"],
        parameters=schemas.MOVEMENT_PARAMETERS,
        responses={200: schemas.MovementList, **schemas.errors(400, 401, 404, 429)},
    )
    @action(detail=True)
    def transactions(self, request: Request, wallet_id: str) -> Response:
        """List a watched wallet's transactions.

        Newest first.
        """
        wallet, query = _wallet(request, wallet_id), request.query_params
        wanted, page = parse_movement_filter(query), parse_page(query)
        data = [movement_payload(row) for row in movement_page(wallet, wanted, page)]
        total = movement_total(wallet, wanted) if page.include_total else None
        return Response(list_body(data, page, total))


def _wallet(request: Request, wallet_id: str) -> WatchedWallet:
    principal = principal_of_request(request)
    return watched_wallet(principal.merchant_id, principal.mode, wallet_id)


def _wallet_object(wallet: WatchedWallet) -> dict[str, Any]:
    return wallet_payload(wallet, balances_of([wallet])[wallet.pk])


def _doer(request: Request) -> dict[str, Any]:
    """Return the key and the client's address for the audit log."""
    key_id = principal_of_request(request).key_id
    client = address_or_none(request._request)  # noqa: SLF001 - DRF offers no other way to the Django request
    return {"actor_label": f"API key {key_id}", "client": client}


def _gone() -> NotFoundError:
    """Return the error of a wallet that was removed between reading and locking it."""
    return NotFoundError("There is no such wallet here.", param="wallet_id")
