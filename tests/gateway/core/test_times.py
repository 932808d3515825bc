"""Times on the wire."""

from datetime import UTC, datetime, timedelta, timezone

from gateway.core.times import iso, iso_or_none


def test_times_are_written_in_utc_to_the_microsecond() -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    assert iso(datetime(2026, 11, 20, 11, tzinfo=east)) == "2026-11-20T05:30:00.000000Z"


def test_a_time_that_has_not_come_is_none() -> None:
    assert iso_or_none(None) is None
    assert iso_or_none(datetime(2026, 1, 1, tzinfo=UTC)) == "2026-01-01T00:00:00.000000Z"
