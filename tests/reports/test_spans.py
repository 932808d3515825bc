"""Spans of time, taken apart into whole days and the rest."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from reports.spans import Part, cover_of, midnight, span_of

DAY = date(2026, 11, 20)


def test_whole_days_have_no_rest() -> None:
    span = span_of(midnight(DAY), midnight(DAY + timedelta(days=2)))
    assert (span.first, span.end, span.rest) == (DAY, DAY + timedelta(days=2), ())
    assert span.has_days


def test_what_is_no_whole_day_is_left_at_both_ends() -> None:
    since, until = (datetime(2026, 11, 19, 6, tzinfo=UTC), datetime(2026, 11, 22, 7, tzinfo=UTC))
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


NEXT = DAY + timedelta(days=1)


def at(hour: int, *, day: date = DAY) -> datetime:
    return midnight(day) + timedelta(hours=hour)


def covered(since: datetime, until: datetime, *, now: datetime) -> tuple[object, ...]:
    cover = cover_of(since, until, now=now)
    return cover.first, cover.end, cover.parts


def test_less_than_half_a_day_is_read_row_by_row() -> None:
    since, until = at(20, day=DAY - timedelta(days=1)), at(4, day=NEXT)
    parts = (Part(since, midnight(DAY)), Part(midnight(NEXT), until))
    told = covered(since, until, now=until + timedelta(days=9))
    assert told == (DAY, NEXT, parts)


def test_of_more_than_half_a_day_the_rest_is_taken_off() -> None:
    before = DAY - timedelta(days=1)
    since, until = at(4, day=before), at(20, day=NEXT)
    parts = (
        Part(midnight(before), since, is_left_out=True),
        Part(until, midnight(NEXT + timedelta(days=1)), is_left_out=True),
    )
    told = covered(since, until, now=until + timedelta(days=9))
    assert told == (before, NEXT + timedelta(days=1), parts)


def test_what_is_after_now_costs_nothing() -> None:
    until = at(1)
    told = covered(midnight(DAY - timedelta(days=2)), until, now=until)
    left_out = Part(until, midnight(NEXT), is_left_out=True)
    assert told == (DAY - timedelta(days=2), NEXT, (left_out,))


@pytest.mark.parametrize(("first", "last", "is_left_out"), [(3, 9, False), (3, 22, True)])
def test_some_hours_of_one_day(first: int, last: int, is_left_out: bool) -> None:
    since, until = at(first), at(last)
    told = covered(since, until, now=at(0, day=NEXT))
    if not is_left_out:
        assert told == (DAY, DAY, (Part(since, until),))
        return
    around = [(midnight(DAY), since), (until, midnight(NEXT))]
    parts = tuple(Part(*times, is_left_out=True) for times in around)
    assert told == (DAY, NEXT, parts)


def test_the_last_of_all_days_has_no_day_after_it() -> None:
    since = at(1, day=date.max)
    until = since + timedelta(minutes=1)
    [part] = cover_of(since, until, now=at(0)).parts
    assert (part.until, part.is_left_out) == (until, False)
