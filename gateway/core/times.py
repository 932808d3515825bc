"""Times in the API's format (ISO 8601, UTC, `Z`), and the days of a time zone."""

import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final

Clock = Callable[[], datetime]
"""Returns the time. For work that waits for nodes, so that one time is not enough."""

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
