"""Times on the wire."""

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo, available_timezones

import pytest

from gateway.core.times import iso, iso_or_none, midnight, parse_day, today_in


def test_times_are_written_in_utc_to_the_microsecond() -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    assert iso(datetime(2026, 11, 20, 11, tzinfo=east)) == "2026-11-20T05:30:00.000000Z"


def test_a_time_that_has_not_come_is_none() -> None:
    assert iso_or_none(None) is None
    assert iso_or_none(datetime(2026, 1, 1, tzinfo=UTC)) == "2026-01-01T00:00:00.000000Z"


@pytest.mark.parametrize(
    ("zone", "day", "begins"),
    [
        ("UTC", "2026-11-20", "2026-11-20T00:00"),
        ("Pacific/Auckland", "2026-11-20", "2026-11-19T11:00"),
        ("Pacific/Auckland", "2026-09-27", "2026-09-26T12:00"),
        ("Pacific/Auckland", "2026-09-28", "2026-09-27T11:00"),
        ("America/Los_Angeles", "2026-11-01", "2026-11-01T07:00"),
        ("America/Los_Angeles", "2026-11-02", "2026-11-02T08:00"),
        # Clocks skipped midnight, at 04:00 UTC.
        ("America/Asuncion", "2017-10-01", "2017-10-01T04:00"),
        # Midnight was twice: the day begins at the first one.
        ("America/Havana", "2026-11-01", "2026-11-01T04:00"),
    ],
)
def test_a_day_begins_at_its_first_moment_in_a_time_zone(zone: str, day: str, begins: str) -> None:
    assert f"{midnight(date.fromisoformat(day), ZoneInfo(zone)):%Y-%m-%dT%H:%M}" == begins


def test_every_moment_is_in_the_day_that_clocks_show() -> None:
    for name in sorted(available_timezones())[::17]:
        zone = ZoneInfo(name)
        for hours in range(0, 400 * 24, 37):
            now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hours)
            today = today_in(zone, now=now)
            assert midnight(today, zone) <= now < midnight(today + timedelta(days=1), zone)


def test_the_first_and_last_day_that_can_be_asked_for_have_a_midnight_everywhere() -> None:
    for name in available_timezones():
        for text in ("2000-01-01", "2999-12-31"):
            day = parse_day(text)
            assert day is not None
            assert midnight(day, ZoneInfo(name)) < midnight(day + timedelta(days=1), ZoneInfo(name))
