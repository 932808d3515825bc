"""What a merchant owes for a month: the fees of its payments, and what it took back and charged again of this and earlier ones.

Months are those of UTC. Everything is read from entries that are written once, at the moment they count for: neither what a
plan costs today nor what a network does later changes the statement of a month that is over.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import reduce
from typing import Any, Final

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Mod, TruncMonth
from django.db.models.lookups import Exact

from accounts.models import FeeEntry
from accounts.states import FeeKind
from gateway.core.api.keyset import CHUNK_ROWS
from gateway.core.money import EXACT, round_to_cent

_MONTH: Final = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])", re.ASCII)
_LAST_MONTH: Final = 12
_GROUP: Final = ("kind", "chain", "token", "rate")
_SUMS: Final = {
    "payments": Count("pk"),
    "money": Sum("received"),
    "fees": Sum("amount"),
}
_CHARGED: Final = Q(number=0)
_TOTALS: Final = {
    "payments": Count("pk", filter=_CHARGED),
    "money": Sum("received", filter=_CHARGED),
    "total": Sum("amount"),
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

    Fees are to a millionth. Money and fees are negative where they are taken back. `charged_in` is the month that charged them first.
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
    """A month: what was charged in it, what it took back, and what it charged again, whichever month had charged that first."""

    month: Month
    charged: Sequence[Line]
    taken_back: Sequence[Line]
    charged_again: Sequence[Line]

    @property
    def total(self) -> Decimal:
        """What is owed for the month, to a cent; less than nothing where it took back more than it charged."""
        lines = (*self.charged, *self.taken_back, *self.charged_again)
        return round_to_cent(
            reduce(EXACT.add, (line.fees for line in lines), Decimal(0))
        )


@dataclass(frozen=True, slots=True)
class MonthTotal:
    """A month in a list: the payments it charged, their money, and what is owed for the month, in USD."""

    month: Month
    payments: int
    money: Decimal
    total: Decimal


def statement_of(merchant_id: int, month: Month) -> Statement:
    """Add up a merchant's month."""
    charged = _within(merchant_id, month).filter(_CHARGED)
    corrected = list(_corrected(_corrections(merchant_id, month)))
    return Statement(
        month,
        [Line(**row, charged_in=month) for row in _grouped(charged, *_GROUP)],
        [line for line, is_taken_back in corrected if is_taken_back],
        [line for line, is_taken_back in corrected if not is_taken_back],
    )


def month_totals(merchant_id: int, months: Sequence[Month]) -> list[MonthTotal]:
    """Return the totals of months.

    One at a time: asked for several, the database expects a month to be as rare as a moment, and sorts them all on disk.
    """
    return [_total_of(merchant_id, month) for month in months]


def bookings(merchant_id: int, month: Month) -> Iterator[FeeEntry]:
    """Walk a month: what it charged, oldest first, then what it corrected. Any number in the same memory."""
    yield from _in_turns(_within(merchant_id, month).filter(_CHARGED))
    yield from _in_turns(_corrections(merchant_id, month).select_related("corrects"))


def _within(merchant_id: int, month: Month) -> QuerySet[FeeEntry]:
    return FeeEntry.objects.filter(
        merchant=merchant_id,
        charged_at__gte=month.begins,
        charged_at__lt=month.ends,
    )


def _corrections(merchant_id: int, month: Month) -> QuerySet[FeeEntry]:
    return _within(merchant_id, month).filter(number__gt=0)


def _grouped(found: QuerySet[FeeEntry], *group: str) -> Iterator[dict[str, Any]]:
    yield from found.values(*group).annotate(**_SUMS).order_by(*group)


def _corrected(found: QuerySet[FeeEntry]) -> Iterator[tuple[Line, bool]]:
    """Yield lines, and whether they are taken back."""
    named = found.annotate(
        is_taken_back=Exact(Mod("number", 2), 1),
        month=TruncMonth("corrects__charged_at", tzinfo=UTC),
    )
    for row in _grouped(named, "is_taken_back", "month", *_GROUP):
        is_taken_back = row.pop("is_taken_back")
        charged_in = month_of(row.pop("month"))
        yield Line(**row, charged_in=charged_in), is_taken_back


def _total_of(merchant_id: int, month: Month) -> MonthTotal:
    sums = _within(merchant_id, month).aggregate(**_TOTALS)
    return MonthTotal(
        month,
        payments=sums["payments"],
        money=sums["money"] or Decimal(0),
        total=round_to_cent(sums["total"] or Decimal(0)),
    )


def _in_turns(found: QuerySet[FeeEntry]) -> Iterator[FeeEntry]:
    """Read by the key, some at a time: a cursor would have the database keep all of them meanwhile."""
    rest = found.order_by("charged_at", "pk")
    chunk = list(rest[:CHUNK_ROWS])
    while chunk:
        yield from chunk
        last = chunk[-1]
        ahead = rest.filter(charged_at__gte=last.charged_at)
        past = ahead.exclude(charged_at=last.charged_at, pk__lte=last.pk)
        chunk = list(past[:CHUNK_ROWS])
