"""`manage.py verify_audit`: verify the audit log."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.audit.chain import AuditHead, missing_heads, verify_audit_log


class Command(BaseCommand):
    """Compares every audit entry with its seal."""

    help = "Compare every audit entry with its seal. Fails if an entry was changed or is missing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the arguments: whether to print the heads, and a file of heads to compare with."""
        parser.add_argument(
            "--heads",
            action="store_true",
            help="show each chain's newest seal, to be noted down elsewhere: what it sealed cannot change without it",
        )
        parser.add_argument(
            "--noted",
            type=Path,
            metavar="FILE",
            help="a file of what --heads showed earlier; fails where one of those seals is another now, or gone",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Verify the log and report every problem, or that there is none."""
        report = verify_audit_log()
        faults = report.faults
        if options["noted"]:
            faults += missing_heads(_read_heads(options["noted"]))
        if options["heads"]:
            for head in report.heads:
                self.stdout.write(f"{head.chain} {head.number} {head.digest}")
        if faults:
            raise CommandError("\n".join(faults))
        self.stdout.write(f"{report.entries} entries in {len(report.heads)} chains are whole.")


def _read_heads(file: Path) -> list[AuditHead]:
    """Read the lines that --heads writes; its last line, the number of entries, may be included."""
    try:
        lines = [line.split() for line in file.read_text().splitlines()]
        heads = [AuditHead(int(line[0]), int(line[1]), line[2]) for line in lines if line and line[1] != "entries"]
    except (OSError, ValueError, IndexError) as error:
        raise CommandError(f"{file} holds no heads: {error}") from error
    if not heads:
        raise CommandError(f"{file} holds no heads.")
    return heads
