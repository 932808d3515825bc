"""`manage.py retry_forwarders`: what our gas failed to empty, and trying it again."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from settlements.models import TroubledForwarder


class Command(BaseCommand):
    """For a person who has looked at why a token would not pay: a wallet on its block list, say."""

    help = (
        "List forwarders that transactions of ours did not empty although they were to. --retry forgets those failures, so "
        "that the next sweep tries them again, and pays gas for it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the switch."""
        parser.add_argument("--retry", action="store_true")

    def handle(self, *args: Any, retry: bool, **options: Any) -> None:
        """List, and forget if asked to."""
        rows = TroubledForwarder.objects.select_related("deposit").order_by("pk")
        for row in rows:
            self.stdout.write(
                f"{row.chain} {row.deposit} {row.token}: {row.failures} failures, the last at {row.failed_at:%Y-%m-%d %H:%M}"
            )
        if retry:
            forgotten, _ = rows.delete()
            self.stdout.write(f"{forgotten} will be tried again.")
