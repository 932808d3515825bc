"""Views of the API of watched wallets, with their parameters and bodies. The rules are in `service.py`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers as s
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.audit.actors import actor_of
from accounts.keys.authentication import principal_of_request
from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.errors import ConflictError, NotFoundError
from gateway.core.api.fields import missing, refuse
from gateway.core.api.openapi import PAGE_PARAMETERS, errors, paginated
from gateway.core.api.pagination import list_body, parse_page, parse_text
from gateway.core.api.rate_limits import Limit
from gateway.core.api.scopes import Scope
from gateway.core.api.views import ApiViewSet
from gateway.core.api.wire import json_body
from wallets import models
from wallets.models.watched import MOST_TAGS, TAG_LENGTH
from wallets.networks import accepted_tokens
from wallets.states import Direction, TransferState, WatchStatus
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
from wallets.watched.payloads import movement_payload, wallet_payload
from wallets.watched.selectors import WalletFilter, balances_of, wallet_page, wallets_wanted, watched_wallet
from wallets.watched.service import LABEL_LENGTH, change_watched_wallet, remove_watched_wallet, watch_wallet

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

Body = Mapping[str, Any]

WALLETS = Limit("wallets", 60)


class WatchedWalletChanges(s.Serializer[None]):
    """Body of `PATCH /wallets/{id}`: what is absent stays. Chain and address cannot be changed."""

    tags = s.ListField(
        child=s.CharField(max_length=TAG_LENGTH),
        required=False,
        allow_null=True,
        max_length=MOST_TAGS,
        help_text="Two that differ in case only count as one.",
    )

    def get_fields(self) -> dict[str, s.Field]:  # type: ignore[type-arg]
        """Return the fields, of which one is named like what every field has."""
        label = s.CharField(required=False, allow_null=True, max_length=LABEL_LENGTH)
        return {"label": label, **super().get_fields()}


class NewWatchedWallet(WatchedWalletChanges):
    """Body of `POST /wallets`."""

    chain = s.CharField()
    address = s.CharField(help_text="Checked by the chain's own checksum, and answered in its canonical form.")


class Balances(s.Serializer[None]):
    """What a wallet held when its chain was last asked, with six decimals."""

    USDC = s.CharField(allow_null=True, help_text="Null where the chain has no such token, or was not asked yet.")
    USDT = s.CharField(allow_null=True)


class History(s.Serializer[None]):
    """How much is known of a wallet's past."""

    progress = s.IntegerField(min_value=0, max_value=100, help_text="Per cent; 100 once all of it is read.")
    since = s.DateTimeField(help_text="From when on movements are known once progress is 100.")
    error = s.CharField(allow_null=True, help_text="Why it does not go on, in words; it is tried again.")


class WatchedWallet(s.Serializer[None]):
    """An address whose movements are recorded. Nothing is ever credited because of it."""

    id = s.CharField()
    chain = s.CharField()
    address = s.CharField()
    tags = s.ListField(child=s.CharField())
    status = s.ChoiceField(choices=WatchStatus.choices)
    balances = Balances()
    history = History()
    livemode = s.BooleanField()
    created_at = s.DateTimeField()

    def get_fields(self) -> dict[str, s.Field]:  # type: ignore[type-arg]
        """Return the fields, of which one is named like what every field has."""
        return {"label": s.CharField(allow_blank=True), **super().get_fields()}


class Movement(s.Serializer[None]):
    """A token movement into or out of a watched wallet."""

    id = s.CharField()
    direction = s.ChoiceField(choices=Direction.choices)
    chain = s.CharField()
    token = s.CharField()
    amount = s.CharField(help_text="Never negative; six decimals.")
    tx_hash = s.CharField()
    position = s.IntegerField()
    counterparty_address = s.CharField(help_text="Where it came from, or where it went.")
    status = s.ChoiceField(choices=TransferState.choices)
    block_time = s.DateTimeField()
    confirmed_at = s.DateTimeField(allow_null=True)


WatchedWalletList = paginated("WatchedWalletList", WatchedWallet)
MovementList = paginated("MovementList", Movement)


@dataclass(frozen=True, slots=True)
class NewWatch:
    """Body of `POST /wallets`, its texts as they were typed."""

    chain: str
    address: str
    label: str
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WatchChanges:
    """Body of `PATCH /wallets/{id}`; None stays as it is."""

    label: str | None
    tags: tuple[str, ...] | None


def parse_watch(body: Body) -> NewWatch:
    """Parse the address to watch."""
    return NewWatch(
        chain=_required(body, "chain"), address=_required(body, "address"), label=_label(body), tags=_tags(body)
    )


def parse_changes(wallet: models.WatchedWallet, body: Body) -> WatchChanges:
    """Parse changes: null clears a label or the tags; an absent field stays."""
    for name, present in (("chain", wallet.chain), ("address", wallet.address)):
        if body.get(name) not in (None, present):
            raise refuse(name, f"{name} cannot be changed; watch another wallet.")
    return WatchChanges(label=_label(body) if "label" in body else None, tags=_tags(body) if "tags" in body else None)


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


def _required(body: Body, name: str) -> str:
    value = body.get(name)
    if value is None:
        raise missing(name)
    if not isinstance(value, str):
        raise refuse(name, f"{name} must be a string.")
    return value


def _label(body: Body) -> str:
    label = body.get("label")
    if label is None:
        return ""
    if not isinstance(label, str):
        raise refuse("label", "label must be a string.")
    return _short("label", label, LABEL_LENGTH)


def _tags(body: Body) -> tuple[str, ...]:
    tags = body.get("tags")
    if tags is None:
        return ()
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise refuse("tags", "tags must be a list of strings.")
    if any("," in tag for tag in tags):
        # The form separates tags by commas, which would split such a tag.
        raise refuse("tags", "No tag may have a comma in it.")
    return tuple(_short("tags", tag, TAG_LENGTH) for tag in tags)


def _short(name: str, text: str, most: int) -> str:
    if len(text) > most:
        what = "Each of tags" if name == "tags" else name
        message = f"{what} must be at most {most} characters."
        raise refuse(name, message, "parameter_too_long")
    return text


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
        wanted = parse_watch(json_body(request))
        wallet, is_new = watch_wallet(
            Merchant.objects.get(pk=principal.merchant_id),
            mode=principal.mode,
            chain=wanted.chain,
            address=wanted.address,
            label=wanted.label,
            tags=wanted.tags,
            now=timezone.now(),
            actor=actor_of(request),
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
        data = [wallet_payload(wallet, balances[wallet.pk]) for wallet in wallets]
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
        wanted = parse_changes(wallet, json_body(request))
        try:
            changed = change_watched_wallet(
                wallet, label=wanted.label, tags=wanted.tags, now=timezone.now(), actor=actor_of(request)
            )
        except ConflictError as error:
            raise _gone() from error
        return Response(_wallet_object(changed))

    @extend_schema(
        operation_id="unwatchWallet", tags=["Watched wallets"], responses={204: None, **errors(401, 404, 429)}
    )
    def destroy(self, request: Request, wallet_id: str) -> Response:
        """Stop watching a wallet.

        Reports keep what was recorded.
        """
        wallet = _wallet(request, wallet_id)
        try:
            remove_watched_wallet(wallet, now=timezone.now(), actor=actor_of(request))
        except ConflictError as error:
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
        data = [movement_payload(row) for row in movement_page(wallet, wanted, page)]
        total = movement_total(wallet, wanted) if page.include_total else None
        return Response(list_body(data, page, total))


def _wallet(request: Request, wallet_id: str) -> models.WatchedWallet:
    principal = principal_of_request(request)
    return watched_wallet(principal.merchant_id, principal.mode, wallet_id)


def _wallet_object(wallet: models.WatchedWallet) -> dict[str, Any]:
    return wallet_payload(wallet, balances_of([wallet])[wallet.pk])


def _gone() -> NotFoundError:
    """Return the error of a wallet that was removed between reading and locking it."""
    return NotFoundError("There is no such wallet here.", param="wallet_id")
