"""`manage.py after_restore`: run after restoring the database from a backup, before the first process starts."""

from argparse import ArgumentParser
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from accounts.models import Merchant
from gateway.restores.service import access_lines, note_restore, payout_lines, recover_addresses, rescan_chains


class Command(BaseCommand):
    """Records a restore and rescans the chains. Running it again with the same time repeats only the rescan."""

    help = (
        "Tell the gateway that its database was restored and everything from --lost-from on may be missing. Gas waits until "
        "nodes agree on nonces, no exact amount is given twice, chains are read again, merchants get a mail and an event. "
        "Lists every API key, person and receiving wallet, because a revocation may be lost. With --merchant and "
        "--checkouts, finds the deposit addresses of lost checkouts again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the arguments: the time from which rows may be missing, and the ids of lost checkouts."""
        parser.add_argument(
            "--lost-from",
            required=True,
            metavar="TIME",
            help="the moment that the backup holds, with its offset: 2026-11-23T14:05:00+00:00",
        )
        parser.add_argument("--merchant", metavar="ID", help="whose checkouts: mer_…")
        parser.add_argument("--checkouts", type=Path, metavar="FILE", help="the ids of lost checkouts, one a line")

    def handle(self, *args: Any, lost_from: str, merchant: str | None, checkouts: Path | None, **options: Any) -> None:
        """Record the restore and rescan. Raises CommandError for invalid arguments, and if a chain could not be rescanned."""
        now = timezone.now()
        since = _moment(lost_from, now)
        if (merchant is None) != (checkouts is None):
            raise CommandError("--merchant and --checkouts go together.")
        if note_restore(since, now=now):
            self.stdout.write("Recorded. Merchants get an e-mail and an event.")
        else:
            self.stdout.write("This restore was recorded before.")
        if merchant is not None and checkouts is not None:
            self._recover(merchant, checkouts, now)
        failures = rescan_chains(since, now=now, say=self.stdout.write)
        self._list(since)
        if failures:
            told = "\n".join(failures)
            raise CommandError(f"Not read again. Repeat this command:\n{told}")

    def _recover(self, merchant_id: str, file: Path, now: datetime) -> None:
        merchant = Merchant.objects.filter(public_id=merchant_id).first()
        if merchant is None:
            raise CommandError(f"No merchant has the id {merchant_id}.")
        try:
            ids = file.read_text().split()
            count = recover_addresses(merchant, ids, now=now)
        except (OSError, ValueError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{count} deposit addresses are watched again.")

    def _list(self, since: datetime) -> None:
        self.stdout.write(
            "\nThese have access now. Confirm each: what was revoked, removed or replaced in the lost time is back."
        )
        for line in access_lines(since):
            self.stdout.write(line)
        if payouts := list(payout_lines(since)):
            self.stdout.write(
                "\nPayouts in flight. Once the watchers have read the lost time, repeat this command to see what was paid:"
            )
            for line in payouts:
                self.stdout.write(line)


def _moment(text: str, now: datetime) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandError(f"--lost-from is not a time: {error}") from error
    if moment.tzinfo is None:
        raise CommandError("--lost-from needs an offset, such as +00:00.")
    if moment > now:
        raise CommandError("--lost-from is in the future.")
    return moment
