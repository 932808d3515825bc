"""Reading the query string of a report."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from accounts.states import Mode
from gateway.core.errors import InvalidRequestError
from gateway.core.pagination import parse_text, parse_time
from reports.inputs import ReportFilter
from wallets.addresses import AddressError, canonical_address
from wallets.networks import chains
from wallets.states import Direction

FORMATS: Final = ("json", "csv")
USUAL_SPAN: Final = timedelta(days=30)
LONGEST_SPAN: Final = timedelta(days=366)
"""A summary adds up every transfer of its days, so that they have an end."""

_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)
Query = Mapping[str, str]


def parse_filter(merchant_id: int, mode: Mode, query: Query) -> ReportFilter:
    """Read what both reports narrow by. Raises InvalidRequestError naming the parameter."""
    since, until = parse_time(query, "from"), parse_time(query, "to")
    if since is not None and until is not None and since > until:
        raise InvalidRequestError("to must not be before from.", param="to")
    return ReportFilter(
        merchant_id=merchant_id,
        mode=mode,
        since=since,
        until=until,
        chain=_chain(query),
        tag=parse_text(query, "tag") or "",
    )


def parse_transactions(merchant_id: int, mode: Mode, query: Query) -> ReportFilter:
    """Read what the list of transactions narrows by. Raises InvalidRequestError naming the parameter."""
    return replace(
        parse_filter(merchant_id, mode, query),
        token=_token(query),
        direction=_direction(query),
        wallet=_wallet(query),
    )


def parse_summary(
    merchant_id: int, mode: Mode, query: Query, *, now: datetime
) -> ReportFilter:
    """Read what a summary is of: without `to` up to now, without `from` the thirty days before that.

    Raises InvalidRequestError naming the parameter, also where that is more than 366 days.
    """
    wanted = parse_filter(merchant_id, mode, query)
    until = wanted.until or now
    since = wanted.since or _before(until)
    if since > until:
        raise InvalidRequestError("from must not be after now.", param="from")
    if until - since > LONGEST_SPAN:
        raise InvalidRequestError(
            f"A summary spans at most {LONGEST_SPAN.days} days.", param="from"
        )
    return replace(wanted, since=since, until=until)


def parse_format(query: Query) -> str:
    """Read whether a list or a file is wanted. Raises InvalidRequestError."""
    wanted = parse_text(query, "format") or FORMATS[0]
    if wanted not in FORMATS:
        raise InvalidRequestError("format must be json or csv.", param="format")
    return wanted


def known_tokens() -> list[str]:
    """Return the names of all tokens that are watched on any chain, those included that are only recorded."""
    return sorted({symbol for spec in chains().values() for symbol in spec.tokens})


def _before(until: datetime) -> datetime:
    return until - min(USUAL_SPAN, until - _BEGINNING)


def _chain(query: Query) -> str:
    name = parse_text(query, "chain") or ""
    if name and name not in chains():
        known = ", ".join(chains())
        raise InvalidRequestError(
            f"chain must be one of {known}.", param="chain", code="chain_unsupported"
        )
    return name


def _token(query: Query) -> str:
    symbol = parse_text(query, "token") or ""
    if symbol and symbol not in known_tokens():
        known = ", ".join(known_tokens())
        raise InvalidRequestError(
            f"token must be one of {known}.", param="token", code="token_unsupported"
        )
    return symbol


def _direction(query: Query) -> Direction | None:
    name = parse_text(query, "direction")
    if name is None:
        return None
    if name not in Direction.values:
        raise InvalidRequestError("direction must be in or out.", param="direction")
    return Direction(name)


def _wallet(query: Query) -> str:
    text = parse_text(query, "wallet")
    if text is None:
        return ""
    for spec in chains().values():
        try:
            return canonical_address(
                text, family=spec.family, is_testnet=spec.network == "testnet"
            )
        except AddressError:
            continue
    raise InvalidRequestError(
        "wallet must be an address of a supported chain.",
        param="wallet",
        code="address_invalid",
    )
