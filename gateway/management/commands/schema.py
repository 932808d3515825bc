"""`manage.py schema`: changes the database in the two stages of an upgrade without downtime."""

from argparse import ArgumentParser
from contextlib import nullcontext
from time import sleep
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.core.management.sql import emit_post_migrate_signal
from django.db import OperationalError, connection, transaction
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from psycopg.errors import LockNotAvailable

from checkouts.models import Checkout
from gateway.releases.stages import expand_plan, missing_for, version

_PAUSE_SECONDS: Final = 1.0
_KNOWS_PRICES: Final = (0, 26, 0)
_MISREAD: Final = (
    "{release} knows prices in USD alone: for 23.00 EUR that are 25.03 USD it would tell the shop 25.03 EUR."
    " {count} such checkouts are open. Take PRICE_CURRENCIES out, restart, and cancel them or wait until they ended."
)
_MISCOUNTED: Final = (
    "{release} would count tokens that are not one USD, such as EURC, as dollars. {count} checkouts that offer them are open. Take"
    " CHAIN_BASE_CHECKOUT_TOKENS out, restart, and cancel them or wait until they ended."
)


class Command(BaseCommand):
    """Applies what old processes can stand, and says whether a release runs on the database."""

    help = (
        "expand: apply every migration that the processes of the release before can stand; `migrate` applies the rest, "
        "once they are gone. fits RELEASE: exit code 1 if the database lacks what that release uses, or has what it misreads."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take what to do."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        expand = verbs.add_parser("expand")
        # How long a change may wait for a table: all later queries of the table wait behind it.
        expand.add_argument("--lock-seconds", type=int, default=2)
        expand.add_argument("--tries", type=int, default=20)
        verbs.add_parser("fits").add_argument("release")

    def handle(self, *args: Any, verb: str, **options: Any) -> None:
        """Do it. Raises CommandError."""
        if verb == "expand":
            self._expand(options["lock_seconds"], options["tries"])
        else:
            self._fits(options["release"])

    def _expand(self, lock_seconds: int, tries: int) -> None:
        for migration in expand_plan(MigrationExecutor(connection)):
            self._apply(migration, lock_seconds, tries)
            self.stdout.write(f"Applied {migration}.")
        emit_post_migrate_signal(verbosity=0, interactive=False, db=connection.alias)

    def _apply(self, migration: Migration, lock_seconds: int, tries: int) -> None:
        """Apply one, and try again while others hold its table. Raises CommandError."""
        for left in reversed(range(tries)):
            try:
                with transaction.atomic() if migration.atomic else nullcontext():
                    # A concurrent index waits without keeping others out, and is left half made if it is interrupted.
                    if migration.atomic:
                        _limit_waiting(lock_seconds)
                    MigrationExecutor(connection).migrate(None, [(migration, False)])
                return
            except OperationalError as error:
                if not isinstance(error.__cause__, LockNotAvailable):
                    raise
                if not left:
                    raise CommandError(
                        f"{migration} did not get its lock. End the session that holds the table, and try again."
                    ) from error
            sleep(_PAUSE_SECONDS)

    def _fits(self, release: str) -> None:
        try:
            missing = missing_for(release, MigrationExecutor(connection))
        except ValueError as error:
            raise CommandError(f"{release} is not a known release.") from error
        if missing:
            raise CommandError(
                f"{release} uses what these removed: {', '.join(missing)}. Restore a backup to return to it."
            )
        if version(release) < _KNOWS_PRICES:
            self._refuse_open_prices(release)
        self.stdout.write(f"{release} runs on this database.")

    def _refuse_open_prices(self, release: str) -> None:
        if count := Checkout.objects.live().filter(price__isnull=False).count():
            raise CommandError(_MISREAD.format(release=release, count=count))
        if count := Checkout.objects.live().filter(dues__isnull=False).count():
            raise CommandError(_MISCOUNTED.format(release=release, count=count))


def _limit_waiting(seconds: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{seconds}s"])
