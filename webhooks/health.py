"""An endpoint's health, and its consequences."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from webhooks.schedule import Answer

# After this many failures in a row, only one delivery at a time is tried, on the oldest event's schedule.
PROBATION_AFTER = 5
DISABLED_AFTER = timedelta(days=5)

GONE = "The endpoint answered 410 Gone."
FAILED_TOO_LONG = "Five days of nothing but failures."


@dataclass(frozen=True, slots=True)
class Health:
    """An endpoint's failures in a row and when they began."""

    consecutive_failures: int = 0
    failing_since: datetime | None = None

    @property
    def on_probation(self) -> bool:
        """Whether only single probes are sent."""
        return self.consecutive_failures >= PROBATION_AFTER

    def after(self, answer: Answer, *, at: datetime) -> "Health":
        """Return the health after another attempt that ended at `at`."""
        if answer.succeeded:
            return Health()
        return Health(self.consecutive_failures + 1, self.failing_since or at)

    def reason_to_disable(self, answer: Answer, *, at: datetime) -> str:
        """Return why the endpoint must be disabled after `answer`; empty if not."""
        if answer.gone:
            return GONE
        if self.failing_since is not None and at - self.failing_since >= DISABLED_AFTER:
            return FAILED_TOO_LONG
        return ""
