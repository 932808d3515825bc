"""Reading what merchants received: a page, all of it in chunks, how much there is."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Final, NamedTuple

from django.db.models import Q, QuerySet

from gateway.core.errors import InvalidRequestError
from gateway.core.keyset import CHUNK_ROWS
from gateway.core.pagination import Page
from reports.inputs import ReportFilter
from wallets.addresses import AddressError, evm_key
from wallets.models import Transfer
from wallets.states import Direction

ID_PREFIX: Final = "trf_"
NEWEST_FIRST: Final = ("-block_time", "-pk")
# As many as fit a bigint.
_KEY_DIGITS: Final = 18


class ReportRow(NamedTuple):
    """A transfer as reports tell it; `checkout` and `order_ref` are None where it is not credited."""

    id: int
    chain: str
    token: str
    units: Decimal
    tx_hash: str
    position: int
    sender: str
    recipient: str
    state: str
    block_time: datetime
    detected_at: datetime
    confirmed_at: datetime | None
    checkout: str | None
    order_ref: str | None


_FIELDS: Final = (
    *ReportRow._fields[:-2],
    "payment__checkout__public_id",
    "payment__checkout__order_ref",
)


def transfers_wanted(wanted: ReportFilter) -> QuerySet[Transfer]:
    """Return the transfers of a filter.

    All of them came in, and to wallets that have no tags: whoever asks for others finds nothing.
    """
    found = Transfer.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode)
    if wanted.direction == Direction.OUT or wanted.tag:
        return found.none()
    if wanted.since is not None:
        found = found.filter(block_time__gte=wanted.since)
    if wanted.until is not None:
        found = found.filter(block_time__lt=wanted.until)
    if wanted.chain:
        found = found.filter(chain=wanted.chain)
    if wanted.token:
        found = found.filter(token=wanted.token)
    return found.filter(_to_wallet(wanted.wallet)) if wanted.wallet else found


def _to_wallet(address: str) -> Q:
    """What was sent to an address itself, or to a deposit address that pays it."""
    try:
        return Q(recipient=address) | Q(deposit__destination=evm_key(address))
    except AddressError:
        return Q(recipient=address)


def report_total(wanted: ReportFilter) -> int:
    """Count what a filter leaves."""
    return transfers_wanted(wanted).count()


def report_page(wanted: ReportFilter, page: Page) -> list[ReportRow]:
    """Return a page of a report, newest first. Raises InvalidRequestError for an unknown starting_after."""
    found, offset = transfers_wanted(wanted), page.offset
    if page.starting_after is not None:
        last = _named(wanted, page.starting_after)
        found, offset = older_than(found, last.block_time, last.pk), 0
    return _rows(found, offset, page.limit)


def report_rows(wanted: ReportFilter) -> Iterator[ReportRow]:
    """Walk a whole report, newest first, in chunks by key: any number in the same memory, no transaction stays open."""
    found = rest = transfers_wanted(wanted)
    while chunk := _rows(rest, 0, CHUNK_ROWS):
        yield from chunk
        if len(chunk) < CHUNK_ROWS:
            return
        rest = older_than(found, chunk[-1].block_time, chunk[-1].id)


def _rows(found: QuerySet[Transfer], offset: int, limit: int) -> list[ReportRow]:
    wanted = found.order_by(*NEWEST_FIRST)[offset : offset + limit]
    return [ReportRow._make(values) for values in wanted.values_list(*_FIELDS)]


def older_than(
    found: QuerySet[Transfer], moment: datetime, key: int
) -> QuerySet[Transfer]:
    """Leave what stands behind a transfer in the order of reports.

    Written so that an index by block time begins at the transfer, and only those of its own moment are passed over.
    """
    behind = found.filter(block_time__lte=moment)
    return behind.exclude(block_time=moment, pk__gte=key)


def newer_than(
    found: QuerySet[Transfer], moment: datetime, key: int
) -> QuerySet[Transfer]:
    """Leave what stands before a transfer in the order of reports."""
    ahead = found.filter(block_time__gte=moment)
    return ahead.exclude(block_time=moment, pk__lte=key)


def _named(wanted: ReportFilter, public_id: str) -> Transfer:
    digits = public_id.removeprefix(ID_PREFIX)
    is_key = digits != public_id and digits.isascii() and digits.isdigit()
    mine = Transfer.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode)
    found = None
    if is_key and len(digits) <= _KEY_DIGITS:
        found = mine.filter(pk=int(digits)).first()
    if found is None:
        raise InvalidRequestError(
            "starting_after names no transaction of yours.", param="starting_after"
        )
    return found
