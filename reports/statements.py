"""Monthly statements of fees: charges, refunds, and repeated charges of this and earlier months.

Months are those of UTC. All entries are written once, for the moment they count for: neither a new plan nor a later reorg
changes the statement of a past month.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from decimal import Decimal
from functools import reduce
from typing import Any, Final

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Mod, TruncMonth
from django.db.models.lookups import Exact

from accounts.models import FeeEntry
from accounts.states import FeeKind
from gateway.core.api.pagination import CHUNK_ROWS
from gateway.core.money import EXACT, round_to_cent
from reports.months import Month, month_of

_GROUP: Final = ("kind", "chain", "token", "rate")
_SUMS: Final = {"payments": Count("pk"), "money": Sum("received"), "fees": Sum("amount")}
_CHARGED: Final = Q(number=0)
_TOTALS: Final = {
    "payments": Count("pk", filter=_CHARGED),
    "money": Sum("received", filter=_CHARGED),
    "total": Sum("amount"),
}


@dataclass(frozen=True, slots=True)
class StatementLine:
    """The total of payments of one kind, network, token and rate: their number, amount and fees, both in USD.

    Fees are to a millionth. Both are negative for refunds. `charged_in` is the month that charged them first.
    """

    kind: FeeKind
    chain: str
    token: str
    rate: Decimal
    payments: int
    money: Decimal
    fees: Decimal
    charged_in: Month


@dataclass(frozen=True, slots=True)
class Statement:
    """A month's statement: its charges, refunds and repeated charges, whichever month charged first."""

    month: Month
    charged: Sequence[StatementLine]
    taken_back: Sequence[StatementLine]
    charged_again: Sequence[StatementLine]

    @property
    def total(self) -> Decimal:
        """Return what is owed for the month, to a cent; negative if refunds exceed charges."""
        lines = (*self.charged, *self.taken_back, *self.charged_again)
        return round_to_cent(reduce(EXACT.add, (line.fees for line in lines), Decimal(0)))


@dataclass(frozen=True, slots=True)
class MonthTotal:
    """A month in a list: number and amount of its payments, and what is owed, in USD."""

    month: Month
    payments: int
    money: Decimal
    total: Decimal


def statement_of(merchant_id: int, month: Month) -> Statement:
    """Return a merchant's statement of a month."""
    charged = _within(merchant_id, month).filter(_CHARGED)
    corrected = list(_corrected(_corrections(merchant_id, month)))
    return Statement(
        month,
        [StatementLine(**row, charged_in=month) for row in _grouped(charged, *_GROUP)],
        [line for line, is_taken_back in corrected if is_taken_back],
        [line for line, is_taken_back in corrected if not is_taken_back],
    )


def month_totals(merchant_id: int, months: Sequence[Month]) -> list[MonthTotal]:
    """Return the totals of months.

    One at a time: for several, the database plans a month as rarely as a moment, and sorts them all on disk.
    """
    return [_total_of(merchant_id, month) for month in months]


def bookings(merchant_id: int, month: Month) -> Iterator[FeeEntry]:
    """Yield a month's entries: charges, oldest first, then corrections. Constant memory."""
    yield from _in_turns(_within(merchant_id, month).filter(_CHARGED))
    yield from _in_turns(_corrections(merchant_id, month).select_related("corrects"))


def _within(merchant_id: int, month: Month) -> QuerySet[FeeEntry]:
    return FeeEntry.objects.filter(merchant=merchant_id, charged_at__gte=month.begins, charged_at__lt=month.ends)


def _corrections(merchant_id: int, month: Month) -> QuerySet[FeeEntry]:
    return _within(merchant_id, month).filter(number__gt=0)


def _grouped(found: QuerySet[FeeEntry], *group: str) -> Iterator[dict[str, Any]]:
    yield from found.values(*group).annotate(**_SUMS).order_by(*group)


def _corrected(found: QuerySet[FeeEntry]) -> Iterator[tuple[StatementLine, bool]]:
    """Yield lines, and whether they are refunds."""
    named = found.annotate(
        is_taken_back=Exact(Mod("number", 2), 1), month=TruncMonth("corrects__charged_at", tzinfo=UTC)
    )
    for row in _grouped(named, "is_taken_back", "month", *_GROUP):
        is_taken_back = row.pop("is_taken_back")
        charged_in = month_of(row.pop("month"))
        yield StatementLine(**row, charged_in=charged_in), is_taken_back


def _total_of(merchant_id: int, month: Month) -> MonthTotal:
    sums = _within(merchant_id, month).aggregate(**_TOTALS)
    return MonthTotal(
        month,
        payments=sums["payments"],
        money=sums["money"] or Decimal(0),
        total=round_to_cent(sums["total"] or Decimal(0)),
    )


def _in_turns(found: QuerySet[FeeEntry]) -> Iterator[FeeEntry]:
    """Yield rows by key, in chunks: a cursor would make the database keep all of them meanwhile."""
    rest = found.order_by("charged_at", "pk")
    chunk = list(rest[:CHUNK_ROWS])
    while chunk:
        yield from chunk
        last = chunk[-1]
        ahead = rest.filter(charged_at__gte=last.charged_at)
        past = ahead.exclude(charged_at=last.charged_at, pk__lte=last.pk)
        chunk = list(past[:CHUNK_ROWS])
