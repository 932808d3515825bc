"""Spans of time, taken apart into whole days and the rest."""

from datetime import UTC, date, datetime, timedelta, timezone

from reports.spans import midnight, span_of

DAY = date(2026, 11, 20)


def test_whole_days_have_no_rest() -> None:
    span = span_of(midnight(DAY), midnight(DAY + timedelta(days=2)))
    assert (span.first, span.end, span.rest) == (DAY, DAY + timedelta(days=2), ())
    assert span.has_days


def test_what_is_no_whole_day_is_left_at_both_ends() -> None:
    since, until = (
        datetime(2026, 11, 19, 6, tzinfo=UTC),
        datetime(2026, 11, 22, 7, tzinfo=UTC),
    )
    span = span_of(since, until)
    assert (span.first, span.end) == (DAY, date(2026, 11, 22))
    assert span.rest == ((since, midnight(DAY)), (midnight(date(2026, 11, 22)), until))


def test_some_hours_of_a_day_are_no_day() -> None:
    since = datetime(2026, 11, 20, 6, tzinfo=UTC)
    span = span_of(since, since + timedelta(hours=2))
    assert not span.has_days
    assert span.rest == ((since, since + timedelta(hours=2)),)


def test_days_are_those_of_utc() -> None:
    east = timezone(timedelta(hours=9))
    assert span_of(datetime(2026, 11, 20, 9, tzinfo=east), None).first == DAY


def test_without_bounds_all_days_are_in_it() -> None:
    span = span_of(None, None)
    assert (span.first, span.end) == (date.min, date.max)
    assert span.rest == ()
