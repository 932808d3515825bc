"""The shapes of watched wallets for the OpenAPI description. Never used to read or write a request (docs/adr/0003)."""

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers as s

from gateway.core.api.openapi import PAGE_PARAMETERS, errors, paginated
from wallets.models.watched import MOST_TAGS, TAG_LENGTH
from wallets.states import Direction, TransferState, WatchStatus
from wallets.watched.service import LABEL_LENGTH

__all__ = [
    "MOVEMENT_PARAMETERS",
    "WALLET_PARAMETERS",
    "MovementList",
    "NewWatchedWallet",
    "WatchedWallet",
    "WatchedWalletChanges",
    "WatchedWalletList",
    "errors",
]

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
