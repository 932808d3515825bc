"""Watched wallets and their movements as the API takes and shows them, and as files show movements."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from rest_framework import serializers as s

from gateway.core.api.fields import refuse
from gateway.core.api.openapi import paginated
from gateway.core.api.serializers import Answer, ApiField, Body, LiveMode, Moment, Text
from gateway.core.money import format_units
from gateway.core.times import iso
from wallets import models
from wallets.models.watched import MOST_TAGS, TAG_LENGTH
from wallets.states import Direction, TransferState, WatchStatus
from wallets.watched.selectors import history_progress, history_since
from wallets.watched.service import LABEL_LENGTH

CSV_HEADER: Final = """
    id direction block_time chain token amount tx_hash position counterparty_address status confirmed_at
""".split()
_ALL: Final = 100


class Typed(ApiField, s.CharField):
    """A text as it was typed: the service trims it and takes out what is invisible."""

    answers_null = False

    def to_internal_value(self, value: Any) -> str:
        """Return the text. Raises InvalidRequestError (parameter_invalid, parameter_too_long)."""
        if not isinstance(value, str):
            raise refuse(self.name, f"{self.name} must be a string.")
        return _short(value, self.name, self.name, self.max_length)


class Tags(ApiField, s.ListField):
    """Tags as they were typed: the service trims them and drops repetitions."""

    absent = ()
    answers_null = False

    def in_answers(self) -> s.ListField:
        """Return a list of texts: a client must not break when tags may be longer."""
        return s.ListField(child=s.CharField())

    def to_internal_value(self, value: Any) -> list[str]:
        """Return the tags. Raises InvalidRequestError (parameter_invalid, parameter_too_long)."""
        if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
            raise refuse(self.name, f"{self.name} must be a list of strings.")
        if any("," in tag for tag in value):
            # The form separates tags by commas, which would split such a tag.
            raise refuse(self.name, "No tag may have a comma in it.")
        return [_short(tag, self.name, f"Each of {self.name}", TAG_LENGTH) for tag in value]


class Balances(s.Serializer[Any]):
    """What a wallet held when its chain was last asked, with six decimals."""

    USDC = s.CharField(allow_null=True, help_text="Null where the chain has no such token, or was not asked yet.")
    USDT = s.CharField(allow_null=True)

    def to_representation(self, instance: Mapping[str, models.WatchedBalance]) -> dict[str, str | None]:
        """Return the balances of these tokens."""
        return {
            token: format_units(instance[token].units) if token in instance else None for token in self._declared_fields
        }


class History(Answer):
    """How much is known of a wallet's past."""

    progress = s.IntegerField(min_value=0, max_value=100, help_text="Per cent; 100 once all of it is read.")
    since = s.DateTimeField(help_text="From when on movements are known once progress is 100.")
    error = Text(
        source="history_error", allow_null=True, help_text="Why it does not go on, in words; it is tried again."
    )

    def get_progress(self, wallet: models.WatchedWallet) -> int:
        """Return the per cent that are read."""
        progress = history_progress(wallet)
        return _ALL if progress is None else progress

    def get_since(self, wallet: models.WatchedWallet) -> str:
        """Return from when on movements are known."""
        return iso(history_since(wallet))


class WatchedWallet(Answer):
    """An address whose movements are recorded. Nothing is ever credited because of it."""

    id = s.CharField(source="public_id", read_only=True)
    chain = Typed()
    address = Typed(body_help="Checked by the chain's own checksum, and answered in its canonical form.")
    label_ = Typed(required=False, allow_null=True, max_length=LABEL_LENGTH)
    tags = Tags(
        child=s.CharField(max_length=TAG_LENGTH),
        required=False,
        allow_null=True,
        max_length=MOST_TAGS,
        body_help="Two that differ in case only count as one.",
    )
    status = s.ChoiceField(WatchStatus.choices, read_only=True)
    balances = Balances(read_only=True)
    history = History(read_only=True)
    livemode = LiveMode()
    created_at = Moment()

    def get_history(self, wallet: models.WatchedWallet) -> dict[str, Any]:
        """Return how much is known."""
        return History.of(wallet)


class NewWatchedWallet(Body, WatchedWallet):
    """Body of `POST /wallets`."""


class WatchedWalletChanges(Body, WatchedWallet):
    """Body of `PATCH /wallets/{id}`: what is absent stays. Chain and address cannot be changed."""

    left_out = ("chain", "address")


def read_changes(wallet: models.WatchedWallet, body: Mapping[str, Any]) -> dict[str, Any]:
    """Read the body of `PATCH /wallets/{id}`: null clears a field, an absent one stays. Raises InvalidRequestError."""
    for name in WatchedWalletChanges.left_out:
        if body.get(name) not in (None, getattr(wallet, name)):
            raise refuse(name, f"{name} cannot be changed; watch another wallet.")
    return {name: value for name, value in WatchedWalletChanges.read(body).items() if name in body}


class Movement(Answer):
    """A token movement into or out of a watched wallet."""

    id = s.CharField(source="public_id")
    direction = s.ChoiceField(Direction.choices)
    chain = s.CharField()
    token = s.CharField()
    amount = s.CharField(help_text="Never negative; six decimals.")
    tx_hash = s.CharField()
    position = s.IntegerField()
    counterparty_address = s.CharField(source="counterparty", help_text="Where it came from, or where it went.")
    status = s.ChoiceField(TransferState.choices, source="state")
    block_time = Moment()
    confirmed_at = Moment(allow_null=True)

    def get_amount(self, movement: models.WatchedMovement) -> str:
        """Return the amount with all decimals of its token."""
        return format_units(movement.units, movement.decimals)


WatchedWalletList = paginated("WatchedWalletList", WatchedWallet)
MovementList = paginated("MovementList", Movement)


def csv_cells(movements: Iterable[models.WatchedMovement]) -> Iterator[tuple[object, ...]]:
    """Return the lines of a file; amounts are numbers there."""
    for movement in movements:
        line = Movement.of(movement) | {"amount": Decimal(format_units(movement.units, movement.decimals))}
        yield tuple(line[name] for name in CSV_HEADER)


def _short(text: str, name: str, what: str, most: int | None) -> str:
    if most is not None and len(text) > most:
        raise refuse(name, f"{what} must be at most {most} characters.", "parameter_too_long")
    return text
