"""Inputs of reports, and the parsers that make them from query strings."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from accounts.states import Mode
from gateway.core.api.errors import InvalidRequestError
from gateway.core.api.pagination import parse_text
from wallets.chains.base import AddressError
from wallets.models import WatchedWallet
from wallets.networks import address_on, chains
from wallets.states import Direction, WatchPurpose
from wallets.transfers.selectors import Query, parse_chain, parse_direction, parse_span, parse_token

USUAL_SPAN: Final = timedelta(days=30)
LONGEST_SPAN: Final = timedelta(days=366)
"""The longest range of a summary, which adds up every transfer of its days."""

_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ReportFilter:
    """The filters of a report: merchant, mode, and the time of blocks: `since` <= time < `until`.

    `wallet` is an address in its chain's canonical form. Empty texts exclude nothing.
    """

    merchant_id: int
    mode: Mode
    since: datetime | None = None
    until: datetime | None = None
    chain: str = ""
    token: str = ""
    direction: Direction | None = None
    tag: str = ""
    wallet: str = ""


def parse_filter(merchant_id: int, mode: Mode, query: Query) -> ReportFilter:
    """Parse the filters of both reports. Raises InvalidRequestError naming the parameter."""
    since, until = parse_span(query)
    return ReportFilter(
        merchant_id=merchant_id,
        mode=mode,
        since=since,
        until=until,
        chain=parse_chain(query),
        tag=parse_text(query, "tag") or "",
    )


def parse_transactions(merchant_id: int, mode: Mode, query: Query) -> ReportFilter:
    """Parse the filters of the list of transactions. Raises InvalidRequestError naming the parameter."""
    wanted = replace(
        parse_filter(merchant_id, mode, query),
        token=parse_token(query, known=known_tokens()),
        direction=parse_direction(query),
    )
    return _of_wallet(wanted, parse_text(query, "wallet") or "")


def parse_summary(merchant_id: int, mode: Mode, query: Query, *, now: datetime) -> ReportFilter:
    """Parse a summary's range: `to` defaults to now, `from` to thirty days before.

    Raises InvalidRequestError naming the parameter, also where that is more than 366 days.
    """
    wanted = parse_filter(merchant_id, mode, query)
    until = wanted.until or now
    since = wanted.since or _before(until)
    if since > until:
        raise InvalidRequestError("from must not be after now.", param="from")
    if until - since > LONGEST_SPAN:
        raise InvalidRequestError(f"A summary spans at most {LONGEST_SPAN.days} days.", param="from")
    return replace(wanted, since=since, until=until)


def known_tokens() -> list[str]:
    """Return the names of all tokens watched on any chain, including those only recorded."""
    return sorted({symbol for spec in chains().values() for symbol in spec.tokens})


def _before(until: datetime) -> datetime:
    return until - min(USUAL_SPAN, until - _BEGINNING)


def _of_wallet(wanted: ReportFilter, text: str) -> ReportFilter:
    """Filter a report by wallet: by a watched one's id, which is on one chain, or by an address."""
    if not text:
        return wanted
    # Removed ones too: their movements stay in reports.
    mine = WatchedWallet.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode, purpose=WatchPurpose.LIST)
    watched = mine.filter(public_id=text).first()
    if watched is None:
        return replace(wanted, wallet=_address(text))
    if wanted.chain not in ("", watched.chain):
        raise InvalidRequestError(f"wallet is on {watched.chain}.", param="wallet")
    return replace(wanted, wallet=watched.address, chain=watched.chain)


def _address(text: str) -> str:
    for spec in chains().values():
        try:
            return address_on(spec, text)
        except AddressError:
            continue
    raise InvalidRequestError(
        "wallet must be the id of a watched wallet, or an address of a supported chain.",
        param="wallet",
        code="address_invalid",
    )
