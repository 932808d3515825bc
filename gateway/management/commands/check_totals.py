"""`manage.py check_totals`: compare the daily totals of checkouts, transfers, watched movements and fees with their rows."""

from argparse import ArgumentParser
from datetime import UTC, date, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from gateway.core import daily_totals
from gateway.core.daily_totals import Days

_DAY = timedelta(days=1)


class Command(BaseCommand):
    """Compares the daily totals with the rows; with an option, repairs differences that the nightly check reported."""

    help = (
        "Recompute daily totals and report every difference from the stored totals, to the cent and the base unit. Without dates, "
        "what the nightly check compares: yesterday's checkouts, and transfers, watched movements and fees of all days. "
        "--repair writes the new sums, and should be needed only after rows were changed by hand."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the arguments: the first and the last day, both included."""
        parser.add_argument("--since", type=date.fromisoformat, metavar="DAY")
        parser.add_argument("--until", type=date.fromisoformat, metavar="DAY")
        parser.add_argument("--repair", action="store_true")

    def handle(self, *args: Any, since: date | None, until: date | None, repair: bool, **options: Any) -> None:
        """Compare, and repair if asked. Raises CommandError if differences remain."""
        today = timezone.now().astimezone(UTC).date()
        days = daily_totals.nightly_days(today)
        if first := since or until:
            days = dict.fromkeys(days, Days(first, (until or max(first, today - _DAY)) + _DAY))
        found = daily_totals.compare(days)
        for difference in found:
            self.stdout.write(str(difference))
        if found and not repair:
            raise CommandError(f"{len(found)} totals differ from their rows.")
        if found:
            daily_totals.rebuild(days)
        self.stdout.write("Repaired." if found else "All totals agree with their rows.")
