"""`manage.py check_totals`: whether the days' kept sums are what checkouts, transfers, watched movements and fees add up to."""

from argparse import ArgumentParser
from datetime import date, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from checkouts.lifecycle.counts import day_of
from checkouts.lifecycle.totals import (
    Difference,
    differences,
    rebuild,
)
from wallets.transfers.totals import (
    day_differences,
    rebuild_days,
)

_DAY = timedelta(days=1)


class Command(BaseCommand):
    """For a person who wants to know, or was told by the nightly check."""

    help = (
        "Sum days up anew and report every difference from what is kept, to the cent and the base unit. Without dates, "
        "what the nightly check compares: yesterday's checkouts, and transfers, watched movements and fees of all days. "
        "--repair writes the new sums, and should be needed only after rows were changed by hand."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the first and the last day, both counted whole."""
        parser.add_argument("--since", type=date.fromisoformat, metavar="DAY")
        parser.add_argument("--until", type=date.fromisoformat, metavar="DAY")
        parser.add_argument("--repair", action="store_true")

    def handle(
        self,
        *args: Any,
        since: date | None,
        until: date | None,
        repair: bool,
        **options: Any,
    ) -> None:
        """Compare, and repair if asked to. Raises CommandError where something differs and is left so."""
        yesterday = day_of(timezone.now()) - _DAY
        first = since or until or yesterday
        days = {"since": first, "until": (until or max(first, yesterday)) + _DAY}
        moved = days if since or until else {}
        found = [_words(one) for one in differences(**days)]
        found += [str(one) for one in day_differences(**moved)]
        for words in found:
            self.stdout.write(words)
        if found and not repair:
            raise CommandError(f"{len(found)} sums are not what they should be.")
        if found:
            rebuild(**days)
            rebuild_days(**moved)
        self.stdout.write("Repaired." if found else "All sums agree.")


def _words(one: Difference) -> str:
    return (
        f"{one.day} merchant {one.merchant_id} {one.mode} {one.chain or '-'} {one.token or '-'}: kept less raw "
        f"created {one.created:+d} completed {one.completed:+d} expired {one.expired:+d} volume {one.volume:+}"
    )
