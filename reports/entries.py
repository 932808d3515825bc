"""The list of transfers and watched movements, newest first: by page and in full."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, NamedTuple

from django.db.models import Min, QuerySet, Sum, Value

from accounts.models import FeeEntry
from accounts.states import Mode
from checkouts.models import Payment
from gateway.core.api.errors import InvalidRequestError
from gateway.core.api.pagination import CHUNK_ROWS, Page, chunks_by_key
from payouts.models import Payout, PayoutSource
from payouts.states import PayoutKind
from reports.inputs import ReportFilter
from reports.selectors import movements_wanted, transfers_wanted
from reports.totals import ReportTotals
from reports.worths import refund_worths, transfer_worths
from wallets.models import Transfer, WatchedMovement
from wallets.networks import is_accepted, is_of_dollars
from wallets.states import Direction
from wallets.transfers.selectors import NEWEST_FIRST, older_than

# The table of a row.
_TRANSFER: Final = 0
_MOVEMENT: Final = 1
_TABLES: Final = (_TRANSFER, _MOVEMENT)


class RowKind(StrEnum):
    """What a row of a report is."""

    CHECKOUT = "checkout"
    X402 = "x402"
    # It reached an address of the merchant's, and paid for nothing.
    UNCREDITED = "uncredited"
    # The same, of a token that no checkout accepts.
    OTHER_TOKEN = "other_token"  # noqa: S105 - a kind of money
    WATCHED = "watched"
    # What left a watched wallet and pays one of these.
    REFUND = "refund"
    PAYOUT = "payout"


class ReportRow(NamedTuple):
    """A transfer, or a movement of a watched wallet, as reports show it.

    `checkout` and `order_ref` are None if it paid no checkout, `wallet` is the watched wallet's public id. `machine` is the
    x402 payment's public id and `resource` what it paid for. `fee` is what was charged for its payment, less refunds, in
    USD; None where a payment has none. `payout` is the public id of the refund or payout that a movement pays, `checkout` then what it
    gives back, if it is one. `returned` is what refunds gave back of a transfer, in base units; None for a movement.
    """

    id: str
    direction: str
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
    checkout: str | None = None
    order_ref: str | None = None
    wallet: str | None = None
    machine: str | None = None
    resource: str | None = None
    fee: Decimal | None = None
    is_live: bool = True
    payout: str | None = None
    payout_kind: str | None = None
    returned: Decimal | None = None
    # Of a checkout whose price was converted: what the merchant said.
    price: Decimal | None = None
    currency: str | None = None
    # Of euros that paid a checkout, or that a refund of it gave back: what they were worth there, in millionths of a USD.
    worth: int | None = None

    @property
    def kind(self) -> str:
        """Return what it is: the kind of payment, or why it is none."""
        if self.payout_kind is not None:
            return RowKind(self.payout_kind)
        if self.wallet is not None:
            return RowKind.WATCHED
        if self.checkout is not None:
            return RowKind.CHECKOUT
        if self.machine is not None:
            return RowKind.X402
        if not is_accepted(self.chain, self.token):
            return RowKind.OTHER_TOKEN
        return RowKind.UNCREDITED


@dataclass(frozen=True, slots=True, order=True)
class _EntryPosition:
    """A position in the list, in descending order."""

    moment: datetime
    key: int
    table: int


def report_page(totals: ReportTotals, page: Page) -> list[ReportRow]:
    """Return a page of a report, newest first. Raises InvalidRequestError for an unknown starting_after."""
    wanted = totals.wanted
    if page.starting_after is None:
        rest, offset = totals.pass_over_days(page.offset)
        return _told(_places(rest, None, offset, page.limit))
    after = _named(wanted, page.starting_after)
    return _told(_places(wanted, after, 0, page.limit))


def report_rows(wanted: ReportFilter) -> Iterator[ReportRow]:
    """Yield a whole report, newest first, in chunks by key: constant memory, no transaction stays open."""
    places = _places(wanted, None, 0, CHUNK_ROWS)
    while places:
        yield from _told(places)
        if len(places) < CHUNK_ROWS:
            return
        places = _places(wanted, places[-1], 0, CHUNK_ROWS)


def transfer_rows(found: QuerySet[Transfer]) -> Iterator[ReportRow]:
    """Yield transfers as rows, the newest recorded first, in chunks by key."""
    for chunk in chunks_by_key(found):
        rows = _with_fees(transfers_by_key([one.pk for one in chunk]))
        yield from (rows[one.pk] for one in chunk if one.pk in rows)


def _places(wanted: ReportFilter, after: _EntryPosition | None, offset: int, limit: int) -> list[_EntryPosition]:
    """Return the positions of a page's rows: from each table's index, without reading rows that are not shown."""
    most = offset + limit + 1
    # Each limited separately: only then does the database walk both indexes, and read no more of them than needed.
    transfers = _behind(transfers_wanted(wanted), _TRANSFER, after)[:most]
    movements = _behind(movements_wanted(wanted), _MOVEMENT, after)[:most]
    # In this order: there may be no transfers at all.
    ordered = movements.union(transfers, all=True).order_by("-block_time", "-pk")
    # Not ordered by table, which no index has. At most two rows share moment and key: one more row at each end includes
    # both for sorting.
    begin = max(offset - 1, 0)
    found = ordered[begin:most]
    places = sorted((_EntryPosition(*values) for values in found), reverse=True)
    return places[offset - begin : offset - begin + limit]


def _behind(found: QuerySet[Any], table: int, after: _EntryPosition | None) -> QuerySet[Any, Any]:
    if after is not None:
        # With equal keys, the greater table's row comes first.
        bound = after.key if table >= after.table else after.key + 1
        found = older_than(found, after.moment, bound)
    named: QuerySet[Any] = found.annotate(table=Value(table))
    return named.values_list("block_time", "pk", "table").order_by(*NEWEST_FIRST)


def _told(places: Sequence[_EntryPosition]) -> list[ReportRow]:
    keys = {table: [place.key for place in places if place.table == table] for table in _TABLES}
    found = {_TRANSFER: _with_fees(transfers_by_key(keys[_TRANSFER])), _MOVEMENT: movements_by_key(keys[_MOVEMENT])}
    return [
        found[place.table][place.key]
        for place in places
        # Deleted since its position was read.
        if place.key in found[place.table]
    ]


# The common fields of both tables; a movement's addresses are corrected below.
_COLUMNS: Final = ReportRow._fields[2:13]
_MOVEMENT_NAMES: Final = {"sender": "counterparty", "recipient": "wallet__address"}


def transfers_by_key(keys: Sequence[int]) -> dict[int, ReportRow]:
    """Return transfers as rows, by primary key, without what their payments were charged."""
    if not keys:
        return {}
    paid = ("payment__checkout__public_id", "payment__checkout__order_ref")
    priced = ("payment__checkout__price", "payment__checkout__currency")
    machine = ("x402_payment__public_id", "x402_payment__resource")
    columns = ("pk", "mode", "sent_back__returned", "public_id", *machine, *priced, *_COLUMNS, *paid)
    rows = Transfer.objects.filter(pk__in=keys).values_list(*columns)
    found = {}
    for key, mode, returned, public_id, payment, resource, price, currency, *told in rows:
        row = ReportRow(public_id, Direction.IN.value, *told)
        is_live, returned = mode == Mode.LIVE, returned or Decimal(0)
        row = row._replace(machine=payment, resource=resource, is_live=is_live, returned=returned)
        found[key] = row if price is None else row._replace(price=price, currency=currency)
    euros = [key for key, row in found.items() if row.checkout is not None and not is_of_dollars(row.token)]
    return found | {key: found[key]._replace(worth=worth) for key, worth in transfer_worths(euros).items()}


def _with_fees(found: dict[int, ReportRow]) -> dict[int, ReportRow]:
    """Add what payments were charged. One fee is for all transfers of a checkout: the first of them has it."""
    if not found:
        return found
    subjects = {row.checkout or row.machine for row in found.values()} - {None}
    entries = FeeEntry.objects.filter(subject_id__in=subjects)
    fees = dict(entries.values_list("subject_id").annotate(fee=Sum("amount")))
    paid = Payment.objects.filter(checkout__public_id__in=fees)
    first = paid.values_list("checkout").annotate(first=Min("transfer"))
    bearing = {transfer for _, transfer in first}
    return {
        key: row._replace(fee=fees.get(row.checkout or row.machine) or None) if row.machine or key in bearing else row
        for key, row in found.items()
    }


def movements_by_key(keys: Sequence[int]) -> dict[int, ReportRow]:
    """Return movements of watched wallets as rows, by primary key, with the refunds and payouts that they pay."""
    if not keys:
        return {}
    columns = [_MOVEMENT_NAMES.get(name, name) for name in _COLUMNS]
    rows = WatchedMovement.objects.filter(pk__in=keys)
    found = {}
    for key, public_id, direction, wallet, mode, *told in rows.values_list(
        "pk", "public_id", "direction", "wallet__public_id", "mode", *columns
    ):
        row = ReportRow(public_id, direction, *told)
        row = row._replace(wallet=wallet, is_live=mode == Mode.LIVE)
        if direction == Direction.OUT:
            row = row._replace(sender=row.recipient, recipient=row.sender)
        found[key] = row
    return _with_payouts(found)


def _with_payouts(found: dict[int, ReportRow]) -> dict[int, ReportRow]:
    """Add the refunds and payouts that movements pay, and the checkouts that these refunds give back."""
    paying = Payout.objects.filter(movement__in=list(found))
    for key, payout, kind in paying.values_list("movement", "public_id", "kind"):
        found[key] = found[key]._replace(payout=payout, payout_kind=kind)
    of_checkouts = PayoutSource.objects.filter(payout__in=paying.values("pk"), transfer__payment__isnull=False)
    checkout = "transfer__payment__checkout"
    told = ("public_id", "order_ref", "price", "currency")
    named = of_checkouts.values_list("payout__movement", *(f"{checkout}__{name}" for name in told))
    for key, public_id, order_ref, price, currency in named.order_by("transfer"):
        row = found[key]._replace(checkout=public_id, order_ref=order_ref)
        found[key] = row if price is None else row._replace(price=price, currency=currency)
    euros = {
        row.payout: key
        for key, row in found.items()
        if row.payout is not None and row.payout_kind == PayoutKind.REFUND and not is_of_dollars(row.token)
    }
    for payout, worth in refund_worths(euros).items():
        found[euros[payout]] = found[euros[payout]]._replace(worth=worth)
    return found


def _named(wanted: ReportFilter, public_id: str) -> _EntryPosition:
    mine = {"public_id": public_id, "merchant": wanted.merchant_id, "mode": wanted.mode}
    rows: dict[int, QuerySet[Any]] = {
        _TRANSFER: Transfer.objects.filter(**mine),
        _MOVEMENT: WatchedMovement.objects.filter(**mine),
    }
    for table, found in rows.items():
        if row := found.only("block_time").first():
            return _EntryPosition(row.block_time, row.pk, table)
    raise InvalidRequestError("starting_after names no transaction of yours.", param="starting_after")
