"""Beat's Celery application: the timetable and the broker.

Beat sends tasks by name. So it imports neither models nor tasks, and takes a third of a worker's memory.
"""

from typing import Any

from celery import Celery
from celery.beat import PersistentScheduler

# Not current: a process that imports this beside `gateway.celery` goes on starting its tasks by the latter.
app = Celery("florin", fixups=(), set_as_current=False)
app.config_from_object("gateway.settings", namespace="CELERY")


class SteadyScheduler(PersistentScheduler):  # type: ignore[misc]  # Celery has no types
    """Goes on at once where the machine's clock was set back.

    Celery keeps when each task ran last by that clock, and would start none until the clock has come that far again.
    """

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Start what is due; return the seconds until something is."""
        now = self.app.now()
        ahead = [entry for entry in self.schedule.values() if entry.last_run_at > now]
        for entry in ahead:
            entry.last_run_at = now
        if ahead:
            # When each is due is counted anew.
            self._heap = None
        seconds: float = super().tick(*args, **kwargs)
        return seconds
