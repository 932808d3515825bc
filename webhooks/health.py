"""The retry schedule, how answers are judged, and what they say about an endpoint's health."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus

# Seconds before each attempt: at once, then over about 76 hours.
DELAYS = (0, 5, 30, 120, 600, 1800, 7200, 18000, 36000, 50400, 72000, 86400)
MAX_TRIES = len(DELAYS)
JITTER = 0.2
LONGEST_RETRY_AFTER = timedelta(hours=24)

# After this many failures in a row, only one delivery at a time is tried, on the oldest event's schedule.
PROBATION_AFTER = 5
DISABLED_AFTER = timedelta(days=5)

GONE = "The endpoint answered 410 Gone."
FAILED_TOO_LONG = "Five days of nothing but failures."
SWITCHED_OFF = frozenset({GONE, FAILED_TOO_LONG})
"""Why we stop sending to an endpoint. A person's own reason is none of these."""
UNTOLD = "untold"
"""In place of an error, where nothing was sent because the endpoint's format has no words for the event."""


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """An attempt's result: a status, or an error class if there was none."""

    status_code: int | None
    error: str = ""
    retry_after: timedelta | None = None

    @property
    def succeeded(self) -> bool:
        """Whether the receiver accepted it.

        A redirect is a failure: the merchant named one URL, and only that one is called.
        """
        return self.status_code is not None and 200 <= self.status_code < 300

    @property
    def untold(self) -> bool:
        """Whether nothing was sent, so that it says nothing about the receiver."""
        return self.error == UNTOLD

    @property
    def gone(self) -> bool:
        """Whether the receiver asks never to be called again (410)."""
        return self.status_code == HTTPStatus.GONE


def next_try_at(
    tries: int, *, now: datetime, spread: float, retry_after: timedelta | None = None, most: int = MAX_TRIES
) -> datetime | None:
    """Return the time of the next attempt after `tries` failures (1 or more); None after the last of `most` tries.

    `spread` in -1..1 places the wait within its 20 % of jitter. A longer Retry-After is honoured up to a day.
    """
    if tries >= most:
        return None
    wait = timedelta(seconds=DELAYS[tries] * (1 + JITTER * spread))
    if retry_after is not None:
        wait = max(wait, min(retry_after, LONGEST_RETRY_AFTER))
    return now + wait


def parse_retry_after(value: str | None, *, now: datetime) -> timedelta | None:
    """Read a Retry-After header (RFC 9110 section 10.2.3: seconds or a date); None for anything else."""
    text = (value or "").strip()
    if not text or not text.isascii():
        return None
    if text.isdigit():
        return min(timedelta(seconds=int(text[:9])), LONGEST_RETRY_AFTER)
    try:
        moment = parsedate_to_datetime(text)
        return max(moment.replace(tzinfo=moment.tzinfo or UTC) - now, timedelta())
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True, slots=True)
class Health:
    """An endpoint's failures in a row and when they began."""

    consecutive_failures: int = 0
    failing_since: datetime | None = None

    @property
    def on_probation(self) -> bool:
        """Whether only single probes are sent."""
        return self.consecutive_failures >= PROBATION_AFTER

    def after(self, answer: AttemptResult, *, at: datetime) -> "Health":
        """Return the health after another attempt that ended at `at`."""
        if answer.succeeded:
            return Health()
        return Health(self.consecutive_failures + 1, self.failing_since or at)

    def reason_to_disable(self, answer: AttemptResult, *, at: datetime) -> str:
        """Return why the endpoint must be disabled after `answer`; empty if not."""
        if answer.gone:
            return GONE
        if self.failing_since is not None and at - self.failing_since >= DISABLED_AFTER:
            return FAILED_TOO_LONG
        return ""
