"""Times in the API's format (ISO 8601, UTC, `Z`), and the days of a time zone."""

import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as time_of_day
from typing import Final, NamedTuple

Clock = Callable[[], datetime]
"""Returns the time. For work that waits for nodes, so that one time is not enough."""

Times = tuple[datetime, datetime]
"""`since <= time < until`."""

_DAY: Final = timedelta(days=1)
# The calendar's first and last days have no midnight in some time zones.
_YEARS: Final = range(2000, 3000)


def clock_from(now: datetime) -> Clock:
    """Return a clock that shows `now`, and goes on from there."""
    begun = time.monotonic()
    return lambda: now + timedelta(seconds=time.monotonic() - begun)


def iso(moment: datetime) -> str:
    """Write an aware datetime as `2026-11-20T05:30:00.123456Z`."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def iso_or_none(moment: datetime | None) -> str | None:
    """Write a time, or return None."""
    return None if moment is None else iso(moment)


def parse_day(text: str) -> date | None:
    """Parse a day such as `2026-11-20` of the years 2000 to 2999; None for anything else."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if day.year in _YEARS else None


def today_in(zone: tzinfo, *, now: datetime) -> date:
    """Return the date in a time zone."""
    return now.astimezone(zone).date()


def midnight(day: date, zone: tzinfo = UTC) -> datetime:
    """Return a day's first moment in a time zone, as a time of UTC.

    Where clocks skip midnight that day, it is the moment at which they skip; where they show it twice, the first one.
    """
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


def local_day(day: date, zone: tzinfo) -> date:
    """Return the day in a time zone that has the most of a day of UTC: the one of its noon."""
    return datetime.combine(day, time_of_day(12), UTC).astimezone(zone).date()


def strays(since: datetime, until: datetime, zone: tzinfo) -> tuple[list[Times], list[Times]]:
    """Return the times of a range that belong to the day before the `local_day` of their day of UTC, and to the day after."""
    if zone is UTC:
        return [], []
    before, after = [], []
    for day in _days(since.astimezone(UTC), until.astimezone(UTC)):
        local = local_day(day, zone)
        before.append((max(since, midnight(day)), min(until, midnight(local, zone))))
        after.append((max(since, midnight(local + _DAY, zone)), min(until, midnight(day + _DAY))))
    return _not_empty(before), _not_empty(after)


def _days(since: datetime, until: datetime) -> list[date]:
    last = (until - timedelta.resolution).date()
    return [since.date() + number * _DAY for number in range((last - since.date()).days + 1)]


def _not_empty(times: list[Times]) -> list[Times]:
    return [(start, stop) for start, stop in times if start < stop]


def utc_days(since: date, until: date, zone: tzinfo) -> tuple[date, date]:
    """Return the first and the last day of UTC that some days of a time zone touch; both ends are included."""
    return midnight(since, zone).date(), (midnight(until + _DAY, zone) - timedelta.resolution).date()


class Stray(NamedTuple):
    """The times `since <= time < until` of one day of UTC that belong to another day of a time zone than its noon: `day`, not `noon`."""

    since: datetime
    until: datetime
    noon: date
    day: date


def stray_times(since: date, until: date, zone: tzinfo) -> list[Stray]:
    """Return the strays of the days of a time zone from `since` to `until`, both included; none in UTC.

    They turn sums by days of UTC into those of the zone's days: a day of UTC counts as its `local_day`, and strays are moved. Those of
    the first and last day of UTC reach to the days beside the range.
    """
    first, last = utc_days(since, until, zone)
    before, after = strays(midnight(first), midnight(last + _DAY), zone)
    steps = [*((times, -_DAY) for times in before), *((times, _DAY) for times in after)]
    return [
        Stray(start, stop, noon, noon + step)
        for (start, stop), step in steps
        for noon in [local_day(start.astimezone(UTC).date(), zone)]
    ]
