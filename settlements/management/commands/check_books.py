"""`manage.py check_books`: compare forwarders' balances with the books."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from settlements.books.check import check_chain
from settlements.sweeps.plan import forwarder_chains


class Command(BaseCommand):
    """Compares at once, as the nightly check does."""

    help = (
        "Compare each forwarder's recorded balance with its transfers and with the chain at a final block. Reports every "
        "difference in base units and repairs nothing."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Compare every chain that has nodes. Raises CommandError if something differs."""
        found = 0
        for spec in forwarder_chains():
            checked = check_chain(spec, now=timezone.now(), pause=time.sleep)
            for difference in checked.differences:
                self.stdout.write(f"{spec.name}: {difference}")
            where = (
                "the chain was not read"
                if checked.height is None
                else f"{checked.asked} balances read, the last at block {checked.height}"
            )
            self.stdout.write(f"{spec.name}: {where}.")
            found += len(checked.differences)
        if found:
            raise CommandError(f"{found} differences.")
        self.stdout.write("All balances agree.")
