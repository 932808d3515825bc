"""The accountant's files of months add up to the ledger, to the unit, whatever happened and wherever months begin."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest

from accounts.models import FeeEntry, Merchant
from accounts.states import Mode
from gateway.core.daily_totals import fold_all
from gateway.core.exports import csv_pieces
from gateway.core.money import from_units, round_to_cent
from reports.accountant import lines, places
from reports.accountant.files import COLUMNS, in_cents, own_cells
from reports.accountant.lines import Line, month_lines
from reports.accountant.places import month_filter
from reports.accountant.sums import month_sums, moved_within
from reports.inputs import ReportFilter
from reports.months import Month
from reports.summaries import fees_of, summary_of
from tests.exhaustive import EXHAUSTIVE, sample
from tests.reports.accountant.books import FIRST, RandomBooks
from wallets.models import Transfer, WatchedMovement
from wallets.networks import is_accepted

pytestmark = pytest.mark.django_db

NOW: Final = datetime(2026, 12, 10, tzinfo=UTC)
MONTHS: Final = [Month(2026, number) for number in (8, 9, 10, 11, 12)]
DEEDS: Final = 60 if EXHAUSTIVE else 16
ZONES: Final = ("UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Kiritimati", "Pacific/Pago_Pago")


def of_month(merchant: Merchant, month: Month, zone: ZoneInfo) -> ReportFilter:
    """The filter of a month's lines."""
    return month_filter(merchant.pk, Mode.LIVE, month.begins_in(zone), month.ends_in(zone))


def file_of(found: Iterable[Line], zone: ZoneInfo) -> list[dict[str, str]]:
    """The accountant's file of lines, read as a program reads it."""
    text = "".join(csv_pieces(COLUMNS, own_cells(found, zone), for_people=False))
    return list(csv.DictReader(io.StringIO(text)))


def total(rows: Iterable[dict[str, str]], column: str) -> Decimal:
    """The exact sum of a column."""
    return sum((Decimal(row[column]) for row in rows if row[column]), Decimal(0))


def by_place(rows: Iterable[dict[str, str]]) -> dict[tuple[str, str], list[dict[str, str]]]:
    """The rows of accepted tokens by network and token."""
    found: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        if is_accepted(row["chain"], row["token"]):
            found[row["chain"], row["token"]].append(row)
    return found


@pytest.mark.parametrize("seed", sample(range(40), 2))
def test_the_files_of_months_add_up_to_the_ledger(
    seed: int, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that files are made of several chunks.
    monkeypatch.setattr(places, "CHUNK_ROWS", 7)
    monkeypatch.setattr(lines, "CHUNK_ROWS", 7)
    RandomBooks(merchant, seed).fill(DEEDS)
    zone = ZoneInfo(ZONES[seed % len(ZONES)])
    closing: dict[tuple[str, str], Decimal] = {}
    everything: list[Line] = []
    for month in MONTHS:
        wanted = of_month(merchant, month, zone)
        found = list(month_lines(wanted))
        everything += found
        assert [line.moment for line in found] == sorted(line.moment for line in found)
        rows = file_of(found, zone)
        assert {row["date"][:7] for row in rows} <= {str(month)}
        assert len({row["id"] for row in rows}) == len(rows)
        told = by_place(rows)
        sums = month_sums(merchant.pk, Mode.LIVE, since=month.begins_in(zone), until=month.ends_in(zone), now=NOW)
        for one in sums:
            own = told.pop((one.chain, one.token), [])
            assert one.opening == closing.get((one.chain, one.token), 0)
            assert (one.received, one.refunded, one.sent) == (
                total(own, "gross"),
                total(own, "refund"),
                total(own, "sent"),
            )
            assert one.closing - one.opening == total(own, "net") == total(own, "usd_value")
            closing[one.chain, one.token] = one.closing
        # Only what changes no sum is left.
        assert all(total(own, "net") == 0 for own in told.values())
        assert round_to_cent(total(rows, "fee")) == fees_of(wanted)
    check_against_reports(merchant, everything)


def check_against_reports(merchant: Merchant, everything: list[Line]) -> None:
    """All lines together are what the reports say, and all fees that were ever charged."""
    wanted = ReportFilter(merchant.pk, Mode.LIVE, since=FIRST - timedelta(days=60), until=NOW)
    report = summary_of(wanted, now=NOW)
    reported: dict[tuple[str, str], int] = defaultdict(int)
    for line in everything:
        if line.is_in_report and line.usd is not None:
            reported[line.chain, line.token] += int(line.net.scaleb(6))
    assert {place: net for place, net in reported.items() if net} == {
        place: sums.net for place, sums in report.by_token.items() if sums.net
    }
    charged = sum(FeeEntry.objects.values_list("amount", flat=True), Decimal(0))
    assert sum((line.fee for line in everything if line.fee is not None), Decimal(0)) == charged
    assert len({line.id for line in everything}) == len(everything)


@pytest.mark.parametrize("seed", sample(range(100, 140), 1))
def test_a_month_is_the_reports_but_for_what_reports_leave_out(seed: int, merchant: Merchant) -> None:
    RandomBooks(merchant, seed).fill(DEEDS)
    fold_all()
    zone = ZoneInfo("Asia/Kathmandu")
    for month in MONTHS:
        wanted = of_month(merchant, month, zone)
        report = summary_of(wanted, now=NOW)
        moved = moved_within(wanted, now=NOW)
        found = list(month_lines(wanted))
        apart: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
        for line in found:
            # What the report leaves out of a month: what was taken back at any time, and what no watched wallet sent.
            if line.is_reversal or not line.is_in_report or is_taken_back(line):
                apart[line.chain, line.token] += line.net
        for place, sums in report.by_token.items():
            assert from_units(moved[place].net if place in moved else 0) == from_units(sums.net) + apart[place]


def is_taken_back(line: Line) -> bool:
    """Whether a line's money was taken back later."""
    models: tuple[Any, ...] = (Transfer, WatchedMovement)
    return any(model.objects.filter(public_id=line.id, state="orphaned").exists() for model in models)


def test_cents_add_up_to_the_exact_sum_rounded_once(merchant: Merchant) -> None:
    RandomBooks(merchant, 7).fill(DEEDS)
    wanted = month_filter(merchant.pk, Mode.LIVE, FIRST, NOW)
    found = list(month_lines(wanted))
    shown = [cents for _, cents in in_cents(found)]
    exact = sum((line.usd for line in found if line.usd is not None), Decimal(0))
    assert sum(shown) == round_to_cent(exact)
    assert all(cents and cents == round_to_cent(cents) for cents in shown)
