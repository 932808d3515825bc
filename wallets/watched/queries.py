"""Parsers of API requests about watched wallets. Each function raises InvalidRequestError naming its parameter."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from accounts.states import Mode
from gateway.core.api.fields import missing, refuse
from gateway.core.api.pagination import parse_text
from wallets.models import WatchedWallet
from wallets.models.watched import TAG_LENGTH
from wallets.networks import accepted_tokens
from wallets.transfers.filters import Query, parse_chain, parse_direction, parse_span, parse_token
from wallets.transfers.movement_selectors import MovementFilter
from wallets.watched.lists import WalletFilter
from wallets.watched.service import LABEL_LENGTH

Body = Mapping[str, Any]


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


def parse_changes(wallet: WatchedWallet, body: Body) -> WatchChanges:
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
