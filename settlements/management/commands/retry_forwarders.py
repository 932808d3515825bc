"""`manage.py retry_forwarders`: list forwarders that could not be emptied, and retry them."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from settlements.models import TroubledForwarder


class Command(BaseCommand):
    """Lists troubled forwarders, or lets them be tried again after a person found the cause: a block-listed wallet, for example."""

    help = (
        "List forwarders that could not be emptied. --retry clears the recorded failures, so that the next sweep tries "
        "again and pays gas for it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the switch that resets failures."""
        parser.add_argument("--retry", action="store_true")

    def handle(self, *args: Any, retry: bool, **options: Any) -> None:
        """List, and reset if asked."""
        rows = TroubledForwarder.objects.select_related("deposit").order_by("pk")
        for row in rows:
            self.stdout.write(
                f"{row.chain} {row.deposit} {row.token}: {row.failures} failures, the last at {row.failed_at:%Y-%m-%d %H:%M}"
            )
        if retry:
            forgotten, _ = rows.delete()
            self.stdout.write(f"{forgotten} will be tried again.")
