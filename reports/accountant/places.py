"""Where a month's lines are: every row that is one, oldest first, in constant memory.

A transfer or movement counts from when it was final, in the month of its block. If a reorg removes it after that, it is taken
back by a line of its own, in the month in which that happened: an earlier month stays as it was. One that was never final is no
line.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from enum import IntEnum
from heapq import merge
from typing import Any, Final

from django.db.models import Exists, Min, OuterRef, Q, QuerySet, Sum

from accounts.models import FeeEntry
from accounts.states import Mode
from checkouts.models import Payment
from gateway.core.api.pagination import CHUNK_ROWS
from payouts.models import Payout
from payouts.states import PayoutStatus
from reports.inputs import ReportFilter
from reports.selectors import all_movements, transfers_wanted, watched_wallets
from settlements.models import Settlement
from settlements.states import Sender, SettlementStatus
from wallets.models import Transfer, WatchedDay, WatchedMovement
from wallets.states import Direction, TransferState, WatchPurpose
from x402.models import X402Payment

TAKEN_BACK: Final = Q(state=TransferState.ORPHANED, confirmed_at__isnull=False, orphaned_at__isnull=False)
"""What was final before a reorg removed it."""

BOOKED: Final = Q(state=TransferState.CONFIRMED) | TAKEN_BACK
"""What is a line in the month of its block."""

_DAY: Final = timedelta(days=1)


class Table(IntEnum):
    """The kind of row that a line is made of."""

    TRANSFER = 0
    MOVEMENT = 1
    # Refunds and payouts that left a wallet which is not watched: known by what reached the recipient.
    ELSEWHERE = 2
    # Refunds that people noted before payouts existed.
    NOTED = 3
    SETTLEMENT = 4
    # Fees of payments that are lines of another month, and what is given back of them.
    FEE = 5


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line's place in time, and the row that it is made of; with `is_reversal` it takes that back."""

    moment: datetime
    table: Table
    key: int
    is_reversal: bool = False


def month_filter(merchant_id: int, mode: Mode, since: datetime | None, until: datetime) -> ReportFilter:
    """Return the filter of the lines from `since` on, or from the first one, until `until`, which is left out."""
    return ReportFilter(merchant_id, mode, since=since, until=until)


def places(wanted: ReportFilter) -> Iterator[Place]:
    """Yield the places of all lines, oldest first, in chunks by key: no transaction stays open."""
    settled = _by_time(_settled(wanted), "settled_at", Table.SETTLEMENT)
    return merge(moving_places(wanted), settled, _fees_apart(wanted))


def moving_places(wanted: ReportFilter) -> Iterator[Place]:
    """Yield the places of lines that change what is there, so no settlements and fees; of one network and token, if the filter has them."""
    return merge(
        _by_time(transfers_wanted(wanted).filter(BOOKED), "block_time", Table.TRANSFER),
        _by_time(_own_movements(wanted).filter(BOOKED), "block_time", Table.MOVEMENT),
        _by_time(elsewhere(wanted).filter(BOOKED), "block_time", Table.ELSEWHERE),
        _by_time(
            _within(removed_transfers(wanted), "orphaned_at", wanted), "orphaned_at", Table.TRANSFER, is_reversal=True
        ),
        _by_time(
            _within(removed_movements(wanted), "orphaned_at", wanted), "orphaned_at", Table.MOVEMENT, is_reversal=True
        ),
        _by_time(
            _within(elsewhere(_any_time(wanted)).filter(TAKEN_BACK), "orphaned_at", wanted),
            "orphaned_at",
            Table.ELSEWHERE,
            is_reversal=True,
        ),
        _by_time(noted_refunds(wanted), "paid_at", Table.NOTED),
    )


def _by_time(found: QuerySet[Any], column: str, table: Table, *, is_reversal: bool = False) -> Iterator[Place]:
    rest = found.order_by(column, "pk").values_list(column, "pk")
    chunk = list(rest[:CHUNK_ROWS])
    while chunk:
        yield from (Place(moment, table, key, is_reversal) for moment, key in chunk)
        if len(chunk) < CHUNK_ROWS:
            return
        last, key = chunk[-1]
        ahead = rest.filter(**{f"{column}__gte": last})
        chunk = list(ahead.exclude(**{column: last, "pk__lte": key})[:CHUNK_ROWS])


def _any_time(wanted: ReportFilter) -> ReportFilter:
    return replace(wanted, since=None, until=None)


def _own_movements(wanted: ReportFilter) -> QuerySet[WatchedMovement]:
    """Return the movements that are in no transfer already."""
    return all_movements(wanted).filter(is_payment=False)


def elsewhere(wanted: ReportFilter) -> QuerySet[WatchedMovement]:
    """Return the receipts of refunds and payouts whose paying wallet is not watched, so that no report has them as outflows."""
    paying = Payout.objects.of(wanted.merchant_id, wanted.mode).filter(movement__isnull=False).values("movement")
    found = WatchedMovement.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode, pk__in=paying)
    found = found.filter(wallet__purpose=WatchPurpose.PAYOUT, direction=Direction.IN)
    if wanted.since is not None:
        found = found.filter(block_time__gte=wanted.since)
    if wanted.until is not None:
        found = found.filter(block_time__lt=wanted.until)
    found = found.filter(**_money(wanted))
    same = {name: OuterRef(name) for name in ("chain", "tx_hash", "position", "token")}
    # The wallet may be watched since: then its outflow is a movement of its own.
    return found.exclude(Exists(_own_outflows(wanted).filter(**same)))


def _own_outflows(wanted: ReportFilter) -> QuerySet[WatchedMovement]:
    """Return the outflows of watched wallets that are lines, or will be. One that was taken back is two lines of its own."""
    listed = watched_wallets(_any_time(wanted))
    own = WatchedMovement.objects.filter(wallet__in=listed, direction=Direction.OUT)
    return own.filter(~Q(state=TransferState.ORPHANED) | TAKEN_BACK)


def noted_refunds(wanted: ReportFilter) -> QuerySet[Payout]:
    """Return the refunds that were noted by hand, other than those that left a watched wallet."""
    noted = Payout.objects.of(wanted.merchant_id, wanted.mode).filter(status=PayoutStatus.PAID, movement=None)
    found = _within(noted, "paid_at", wanted).filter(**_money(wanted))
    return found.exclude(Exists(_own_outflows(wanted).filter(chain=OuterRef("chain"), tx_hash=OuterRef("imported_tx"))))


def _money(wanted: ReportFilter) -> dict[str, str]:
    """Return the network and token of a filter that has them."""
    return {name: value for name, value in (("chain", wanted.chain), ("token", wanted.token)) if value}


def removed_transfers(wanted: ReportFilter) -> QuerySet[Transfer]:
    """Return the transfers of all times that a reorg took back after they were final."""
    return transfers_wanted(_any_time(wanted)).filter(TAKEN_BACK)


def removed_movements(wanted: ReportFilter) -> QuerySet[WatchedMovement]:
    """Return the same of watched wallets."""
    found = _own_movements(_any_time(wanted))
    # No index has a wallet's removed movements, which are rare; the daily totals know the days of which there are any.
    days = WatchedDay.objects.filter(wallet__in=watched_wallets(_any_time(wanted)), state=TransferState.ORPHANED)
    named = days.values("wallet", "day").annotate(rows=Sum("count")).filter(rows__gt=0)
    some = {(row["wallet"], row["day"]) for row in named.order_by()}
    if not some:
        return found.none()
    begin = datetime.combine(min(day for _, day in some), time.min, UTC)
    end = datetime.combine(max(day for _, day in some), time.min, UTC) + _DAY
    found = found.filter(
        TAKEN_BACK, wallet__in={wallet for wallet, _ in some}, block_time__gte=begin, block_time__lt=end
    )
    return found


def _within(found: QuerySet[Any], column: str, wanted: ReportFilter) -> QuerySet[Any]:
    if wanted.since is not None:
        found = found.filter(**{f"{column}__gte": wanted.since})
    return found.filter(**{f"{column}__lt": wanted.until})


def _settled(wanted: ReportFilter) -> QuerySet[Settlement]:
    found = Settlement.objects.filter(
        merchant=wanted.merchant_id, mode=wanted.mode, status=SettlementStatus.SETTLED
    ).exclude(sender=Sender.DIRECT)
    return _within(found, "settled_at", wanted)


def fees_within(wanted: ReportFilter) -> QuerySet[FeeEntry]:
    """Return the entries of fees of a filter's time; test mode has none."""
    if wanted.mode != Mode.LIVE:
        return FeeEntry.objects.none()
    return _within(FeeEntry.objects.filter(merchant=wanted.merchant_id), "charged_at", wanted)


def bearing_transfers(subjects: set[str]) -> dict[str, int]:
    """Return which transfer bears the fee of a checkout or machine's payment, by its public id: a checkout's first one."""
    paid = Payment.objects.filter(checkout__public_id__in=subjects).values_list("checkout__public_id")
    machines = X402Payment.objects.filter(public_id__in=subjects, transfer__isnull=False)
    bearing: dict[str, int] = dict(paid.annotate(first=Min("transfer")).order_by())
    return bearing | dict(machines.values_list("public_id", "transfer"))


def _fees_apart(wanted: ReportFilter) -> Iterator[Place]:
    """Yield the fees that no line of a payment in the same time bears."""
    rest = fees_within(wanted).order_by("charged_at", "pk").values_list("charged_at", "pk", "subject_id")
    chunk = list(rest[:CHUNK_ROWS])
    while chunk:
        bearing = bearing_transfers({subject for _, _, subject in chunk})
        here = set(transfers_wanted(wanted).filter(BOOKED, pk__in=list(bearing.values())).values_list("pk", flat=True))
        yield from (Place(at, Table.FEE, key) for at, key, subject in chunk if bearing.get(subject) not in here)
        if len(chunk) < CHUNK_ROWS:
            return
        last, key, _ = chunk[-1]
        chunk = list(rest.filter(charged_at__gte=last).exclude(charged_at=last, pk__lte=key)[:CHUNK_ROWS])
