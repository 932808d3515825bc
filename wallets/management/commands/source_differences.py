"""`manage.py source_differences`: list or close differences between a chain's sources."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from wallets.reconciliation.comparison import close_differences, open_differences


class Command(BaseCommand):
    """Lists open differences, or closes those that a person has checked in an explorer."""

    help = (
        "List transfers that one source of a chain knows and another does not. `missed` ones were recorded when they "
        "were found; `unknown` ones stay recorded. Closing one ends its alert and changes nothing else."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the argument: the numbers of the differences to close; without any, they are listed."""
        parser.add_argument("--close", type=int, nargs="+", metavar="NUMBER")

    def handle(self, *args: Any, close: list[int] | None, **options: Any) -> None:
        """List or close. Raises CommandError for a number that is not open."""
        if close is not None:
            self._close(close)
            return
        found = open_differences()
        for one in found:
            self.stdout.write(
                f"{one.pk}  {one.chain}  {one.kind}  {one.units} units of {one.token} to {one.recipient}"
                f" in {one.tx_hash}, block {one.block_height}; {one.source}, {one.found_at:%Y-%m-%d %H:%M} UTC"
            )
        if not found:
            self.stdout.write("All sources agree with what was recorded.")

    def _close(self, numbers: list[int]) -> None:
        unknown = set(numbers) - {one.pk for one in open_differences()}
        if unknown:
            told = ", ".join(map(str, sorted(unknown)))
            raise CommandError(f"Not open: {told}. Nothing was closed.")
        self.stdout.write(f"Closed: {close_differences(numbers, now=timezone.now())}.")
