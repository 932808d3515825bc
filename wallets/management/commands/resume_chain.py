"""`manage.py resume_chain CHAIN HEIGHT`: resume a stopped chain."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.audit.service import record
from wallets.models import ChainCursor
from wallets.watchers.ingest import resume


class Command(BaseCommand):
    """Resumes reading from the height of the fork, after a watcher stopped at a reorg deeper than finality."""

    help = (
        "Read a chain anew after HEIGHT, the last block that is surely in it. Transfers above it count as orphaned "
        "until they are seen again; completed checkouts stay completed and are marked reversed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the arguments: the chain and the height."""
        parser.add_argument("chain", help="a chain's name, such as base")
        parser.add_argument("height", type=int, help="the last valid block")

    def handle(self, *args: Any, chain: str, height: int, **options: Any) -> None:
        """Resume. Raises CommandError for a chain that was never read."""
        if height < 0:
            raise CommandError("The height must not be negative.")
        now = timezone.now()
        try:
            with transaction.atomic():
                lost = resume(chain, height=height, now=now)
                after = {"height": height, "transfers": lost}
                record(
                    None, action="chain.resumed", actor=Actor(label="manage.py"), object_id=chain, after=after, now=now
                )
        except ChainCursor.DoesNotExist:
            raise CommandError(f"No watcher has read a chain called {chain!r}.") from None
        self.stdout.write(
            f"{chain} continues after block {height}. {lost} transfers count as orphaned until they are seen again."
        )
