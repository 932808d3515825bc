"""Query-string filters for lists of transfers and movements. Each function raises InvalidRequestError naming its parameter."""

from collections.abc import Collection, Mapping
from datetime import datetime

from gateway.core.api.fields import refuse
from gateway.core.api.pagination import parse_text, parse_time
from wallets.networks import chains
from wallets.states import Direction

Query = Mapping[str, str]


def parse_chain(query: Query) -> str:
    """Read `chain`; empty for all of them."""
    name = parse_text(query, "chain") or ""
    if name and name not in chains():
        known = ", ".join(chains())
        raise refuse("chain", f"chain must be one of {known}.", "chain_unsupported")
    return name


def parse_token(query: Query, *, known: Collection[str]) -> str:
    """Read `token`, one of those in `known`; empty for all of them."""
    symbol = parse_text(query, "token") or ""
    if symbol and symbol not in known:
        names = ", ".join(known)
        raise refuse("token", f"token must be one of {names}.", "token_unsupported")
    return symbol


def parse_direction(query: Query) -> Direction | None:
    """Read `direction`; None for both."""
    name = parse_text(query, "direction")
    if name is None:
        return None
    if name not in Direction.values:
        raise refuse("direction", "direction must be in or out.")
    return Direction(name)


def parse_span(query: Query) -> tuple[datetime | None, datetime | None]:
    """Read `from` (inclusive) and `to` (exclusive); None for no bound."""
    since, until = parse_time(query, "from"), parse_time(query, "to")
    if since is not None and until is not None and since > until:
        raise refuse("to", "to must not be before from.")
    return since, until
