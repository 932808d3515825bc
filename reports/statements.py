"""What a merchant owes for a month: the fees of its payments, without those of payments that were taken back in it.

Months are those of UTC. Everything is read from the entries that were written when payments completed: what a plan costs
today changes no statement.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import reduce
from typing import Any, Final

from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import TruncMonth

from accounts.models import FeeEntry
from accounts.states import FeeKind
from gateway.core.keyset import CHUNK_ROWS
from gateway.core.money import EXACT

_MONTH: Final = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])", re.ASCII)
_LAST_MONTH: Final = 12
_GROUP: Final = ("kind", "chain", "token", "rate")
_SUMS: Final = {
    "payments": Count("pk"),
    "money": Sum("received"),
    "fees": Sum("amount"),
}


@dataclass(frozen=True, slots=True, order=True)
class Month:
    """A calendar month."""

    year: int
    number: int

    def __str__(self) -> str:
        return f"{self.year:04}-{self.number:02}"

    @property
    def begins(self) -> datetime:
        """Its first moment."""
        return datetime(self.year, self.number, 1, tzinfo=UTC)

    @property
    def ends(self) -> datetime:
        """The first moment after it."""
        return self.plus(1).begins

    def plus(self, months: int) -> "Month":
        """Return the month so many later, or earlier."""
        years, index = divmod(self.number - 1 + months, _LAST_MONTH)
        return Month(self.year + years, index + 1)


def month_of(moment: datetime) -> Month:
    """Return the month of a moment."""
    moment = moment.astimezone(UTC)
    return Month(moment.year, moment.month)


def parse_month(text: str) -> Month | None:
    """Read `2026-10`; None for anything else."""
    match = _MONTH.fullmatch(text)
    return Month(int(match[1]), int(match[2])) if match else None


@dataclass(frozen=True, slots=True)
class Line:
    """Payments of one kind, network, token and rate, added up: their number, their money and their fees, both in USD.

    `charged_in` is the month that charged them.
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
    """A month: what was charged in it, and what of it and of earlier months was taken back in it."""

    month: Month
    charged: Sequence[Line]
    taken_back: Sequence[Line]

    @property
    def total(self) -> Decimal:
        """What is owed for the month; less than nothing where it took back more than it charged."""
        charged, taken = _sum(self.charged), _sum(self.taken_back)
        return EXACT.subtract(charged, taken)


@dataclass(frozen=True, slots=True)
class MonthTotal:
    """A month in a list: the payments it charged, their money, and what is owed for the month, in USD."""

    month: Month
    payments: int
    money: Decimal
    total: Decimal


def statement_of(merchant_id: int, month: Month) -> Statement:
    """Add up a merchant's month."""
    charged = _within(merchant_id, "charged_at", month)
    taken_back = _within(merchant_id, "voided_at", month)
    by_month = taken_back.annotate(month=TruncMonth("charged_at", tzinfo=UTC))
    return Statement(
        month,
        [Line(**row, charged_in=month) for row in _grouped(charged, *_GROUP)],
        [_taken_back(row) for row in _grouped(by_month, "month", *_GROUP)],
    )


def month_totals(merchant_id: int, months: Sequence[Month]) -> list[MonthTotal]:
    """Return the totals of months.

    One at a time: asked for several, the database expects a month to be as rare as a moment, and sorts them all on disk.
    """
    return [_total_of(merchant_id, month) for month in months]


@dataclass(frozen=True, slots=True)
class Booking:
    """One fee as a month's books have it; `is_taken_back` where the month gives it back."""

    entry: FeeEntry
    is_taken_back: bool


def bookings(merchant_id: int, month: Month) -> Iterator[Booking]:
    """Walk a month: what it charged, oldest first, then what it took back. Any number in the same memory."""
    for moment, is_taken_back in (("charged_at", False), ("voided_at", True)):
        found = _within(merchant_id, moment, month)
        for entry in _in_turns(found, moment):
            yield Booking(entry, is_taken_back)


def _within(merchant_id: int, moment: str, month: Month) -> QuerySet[FeeEntry]:
    bounds = {f"{moment}__gte": month.begins, f"{moment}__lt": month.ends}
    return FeeEntry.objects.filter(merchant=merchant_id, **bounds)


def _grouped(found: QuerySet[FeeEntry], *group: str) -> Iterator[dict[str, Any]]:
    yield from found.values(*group).annotate(**_SUMS).order_by(*group)


def _total_of(merchant_id: int, month: Month) -> MonthTotal:
    charged = _within(merchant_id, "charged_at", month).aggregate(**_SUMS)
    taken_back = _within(merchant_id, "voided_at", month).aggregate(fees=Sum("amount"))
    fees, given_back = charged["fees"] or Decimal(0), taken_back["fees"] or Decimal(0)
    return MonthTotal(
        month,
        payments=charged["payments"],
        money=charged["money"] or Decimal(0),
        total=EXACT.subtract(fees, given_back),
    )


def _taken_back(row: dict[str, Any]) -> Line:
    charged_in = month_of(row.pop("month"))
    return Line(**row, charged_in=charged_in)


def _sum(lines: Sequence[Line]) -> Decimal:
    return reduce(EXACT.add, (line.fees for line in lines), Decimal(0))


def _in_turns(found: QuerySet[FeeEntry], moment: str) -> Iterator[FeeEntry]:
    """Read by the key, some at a time: a cursor would have the database keep all of them meanwhile."""
    rest = found.order_by(moment, "pk")
    chunk = list(rest[:CHUNK_ROWS])
    while chunk:
        yield from chunk
        last = chunk[-1]
        since = getattr(last, moment)
        ahead = rest.filter(**{f"{moment}__gte": since})
        chunk = list(ahead.exclude(**{moment: since, "pk__lte": last.pk})[:CHUNK_ROWS])
