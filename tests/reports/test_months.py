"""Months: where they begin in each zone, also on the days on which clocks change, and which are listed."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest

from reports.months import Month, month_of, months_until, parse_month


@pytest.mark.parametrize(
    ("zone", "month", "begins"),
    [
        ("UTC", "2026-11", "2026-11-01T00:00"),
        ("Europe/Berlin", "2026-11", "2026-10-31T23:00"),
        ("Europe/Berlin", "2026-07", "2026-06-30T22:00"),
        ("America/New_York", "2026-11", "2026-11-01T04:00"),
        ("Asia/Kathmandu", "2026-11", "2026-10-31T18:15"),
        ("Pacific/Kiritimati", "2026-11", "2026-10-31T10:00"),
        # Clocks skipped midnight, at 04:00 UTC.
        ("America/Asuncion", "2017-10", "2017-10-01T04:00"),
        # Midnight was twice: the month begins at the first one.
        ("America/Havana", "2026-11", "2026-11-01T04:00"),
    ],
)
def test_a_month_begins_at_midnight_of_its_zone(zone: str, month: str, begins: str) -> None:
    parsed = parse_month(month)
    assert parsed is not None
    assert f"{parsed.begins_in(ZoneInfo(zone)):%Y-%m-%dT%H:%M}" == begins


def test_months_of_a_zone_leave_no_moment_out_and_share_none() -> None:
    for name in sorted(available_timezones())[::29]:
        zone = ZoneInfo(name)
        month = Month(2025, 11)
        for _ in range(26):
            begins, ends = month.begins_in(zone), month.ends_in(zone)
            assert begins < ends == month.plus(1).begins_in(zone)
            assert (month_of(begins, zone), month_of(ends - timedelta(seconds=1), zone)) == (month, month)
            month = month.plus(1)


def test_days_and_lists_of_months() -> None:
    assert [Month(2024, 2).days, Month(2026, 2).days, Month(2026, 12).days] == [29, 28, 31]
    assert month_of(datetime(2026, 10, 31, 23, 30, tzinfo=UTC), ZoneInfo("Europe/Berlin")) == Month(2026, 11)
    listed = months_until(Month(2026, 2), Month(2025, 12), most=12)
    assert list(map(str, listed)) == ["2026-02", "2026-01", "2025-12"]
    assert len(months_until(Month(2026, 2), Month(2020, 1), most=12)) == 12
