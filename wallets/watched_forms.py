"""Reading what API clients say about watched wallets, by hand. Each function raises InvalidRequestError naming its parameter."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from accounts.states import Mode
from gateway.core.errors import InvalidRequestError
from gateway.core.pagination import parse_text, parse_time
from wallets.models import WatchedWallet
from wallets.models.watched import TAG_LENGTH
from wallets.movement_selectors import MovementFilter
from wallets.networks import chains
from wallets.services.watched import LABEL_LENGTH
from wallets.states import Direction
from wallets.watched_lists import WalletFilter

Body = Mapping[str, Any]
Query = Mapping[str, str]


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
    """Read which address is to be watched."""
    return NewWatch(
        chain=_required(body, "chain"),
        address=_required(body, "address"),
        label=_label(body),
        tags=_tags(body),
    )


def parse_changes(wallet: WatchedWallet, body: Body) -> WatchChanges:
    """Read what is to be changed: null empties a label or the tags, what is absent stays."""
    for name, present in (("chain", wallet.chain), ("address", wallet.address)):
        if body.get(name) not in (None, present):
            raise _refuse(name, f"{name} cannot be changed; watch another wallet.")
    return WatchChanges(
        label=_label(body) if "label" in body else None,
        tags=_tags(body) if "tags" in body else None,
    )


def parse_wallet_filter(merchant_id: int, mode: Mode, query: Query) -> WalletFilter:
    """Read what a list of wallets is narrowed by."""
    tag = parse_text(query, "tag") or ""
    return WalletFilter(merchant_id, mode, chain=_chain(query), tag=tag)


def parse_movement_filter(query: Query) -> MovementFilter:
    """Read what a list of movements is narrowed by."""
    since, until = parse_time(query, "from"), parse_time(query, "to")
    if since is not None and until is not None and since > until:
        raise _refuse("to", "to must not be before from.")
    return MovementFilter(
        token=_token(query), direction=_direction(query), since=since, until=until
    )


def known_tokens() -> list[str]:
    """Return the names of the tokens whose movements are recorded on any chain."""
    found = (token for spec in chains().values() for token in spec.accepted_tokens)
    return sorted({token.symbol for token in found})


def _refuse(
    param: str, message: str, code: str = "parameter_invalid"
) -> InvalidRequestError:
    return InvalidRequestError(message, param=param, code=code)


def _required(body: Body, name: str) -> str:
    value = body.get(name)
    if value is None:
        raise _refuse(name, f"{name} is required.", "parameter_missing")
    if not isinstance(value, str):
        raise _refuse(name, f"{name} must be a string.")
    return value


def _label(body: Body) -> str:
    label = body.get("label")
    if label is None:
        return ""
    if not isinstance(label, str):
        raise _refuse("label", "label must be a string.")
    return _short("label", label, LABEL_LENGTH)


def _tags(body: Body) -> tuple[str, ...]:
    tags = body.get("tags")
    if tags is None:
        return ()
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise _refuse("tags", "tags must be a list of strings.")
    if any("," in tag for tag in tags):
        # People type them with commas between, and would cut such a one in two.
        raise _refuse("tags", "No tag may have a comma in it.")
    return tuple(_short("tags", tag, TAG_LENGTH) for tag in tags)


def _short(name: str, text: str, most: int) -> str:
    if len(text) > most:
        what = "Each of tags" if name == "tags" else name
        message = f"{what} must be at most {most} characters."
        raise _refuse(name, message, "parameter_too_long")
    return text


def _chain(query: Query) -> str:
    name = parse_text(query, "chain") or ""
    if name and name not in chains():
        known = ", ".join(chains())
        raise _refuse("chain", f"chain must be one of {known}.", "chain_unsupported")
    return name


def _token(query: Query) -> str:
    symbol = parse_text(query, "token") or ""
    if symbol and symbol not in known_tokens():
        known = ", ".join(known_tokens())
        raise _refuse("token", f"token must be one of {known}.", "token_unsupported")
    return symbol


def _direction(query: Query) -> Direction | None:
    name = parse_text(query, "direction")
    if name is None:
        return None
    if name not in Direction.values:
        raise _refuse("direction", "direction must be in or out.")
    return Direction(name)
