"""`manage.py chains`: show how every chain is read, or read a range again."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from wallets.chains.base import ChainError
from wallets.networks import chains, watched_chains
from wallets.reconciliation.report import ChainReport, NodeReport, report_chains
from wallets.reconciliation.rescan import RescanError, Rescanned, rescan

HEADINGS: Final = (
    "chain",
    "network",
    "status",
    "head",
    "read to",
    "blocks behind",
    "seconds behind",
    "oldest account",
    "pace",
    "requests/min",
    "differences",
)


class Command(BaseCommand):
    """Shows the chains. With --rescan, reads a range again: safe at any time, also while watchers run."""

    help = (
        "Show how far each chain is read and how its nodes answer, or read a range of final blocks again: "
        "missed transfers are recorded, and nothing is removed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the arguments: the output format, or the range to read again."""
        parser.add_argument("--json", action="store_true", help="print JSON")
        parser.add_argument("--rescan", metavar="NAME", help="the chain to read again")
        parser.add_argument("--from", type=int, dest="first", metavar="HEIGHT")
        parser.add_argument("--to", type=int, dest="last", metavar="HEIGHT")

    def handle(self, *args: Any, rescan: str | None, first: int | None, last: int | None, **options: Any) -> None:
        """Show or read again. Raises CommandError for a range that cannot be read, and if nodes fail."""
        if rescan is not None:
            self._rescan(rescan, first, last)
            return
        if first is not None or last is not None:
            raise CommandError("--from and --to need --rescan.")
        reports = report_chains(watched_chains(), now=timezone.now())
        if options["json"]:
            self.stdout.write(json.dumps([asdict(one) for one in reports], indent=2))
            return
        self._show(reports)

    def _show(self, reports: Sequence[ChainReport]) -> None:
        if not reports:
            self.stdout.write("No chain has a node. Set CHAIN_<NAME>_RPC_URLS.")
            return
        for line in _table([HEADINGS, *(_row(one) for one in reports)]):
            self.stdout.write(line)
        for one in reports:
            self.stdout.write(f"\n{one.chain}")
            for node in one.nodes:
                self.stdout.write(f"  {_node_line(node)}")
            if one.trouble:
                self.stdout.write(f"  problem: {one.trouble}")
            if one.broken_accounts:
                told = f"{one.broken_accounts} of {one.accounts}"
                self.stdout.write(f"  accounts that cannot be read: {told}")

    def _rescan(self, name: str, first: int | None, last: int | None) -> None:
        spec = chains().get(name)
        if spec is None or not spec.rpc_urls:
            raise CommandError(f"No node is configured for a chain {name!r}.")
        if first is None or first < 0:
            raise CommandError("--from must name the first block to read.")
        if last is not None and last < first:
            raise CommandError("--to must not be below --from.")
        try:
            found = rescan(spec, first=first, last=last, now=timezone.now(), say=self._say)
        except (RescanError, ChainError) as error:
            raise CommandError(f"{spec.title}: {error}") from error
        self._tell(name, first, found)

    def _say(self, message: str) -> None:
        self.stderr.write(message)

    def _tell(self, name: str, first: int, found: Rescanned) -> None:
        for one in found.new:
            self.stdout.write(
                f"new: {one.units} units of {one.token} to {one.recipient} in {one.tx_hash}, block {one.block_height}"
            )
        self.stdout.write(
            f"{name}: {found.seen} transfers in blocks {first} to {found.last}, {len(found.new)} of them new."
        )
        for failure in found.failures:
            self.stderr.write(f"not read: {failure}")
        if found.failures:
            raise CommandError("Not every account could be read.")


def _row(one: ChainReport) -> tuple[str, ...]:
    asked = str(one.requests_minute)
    allowed = "" if one.requests_allowed is None else f" of {one.requests_allowed}"
    return (
        one.chain,
        one.network,
        str(one.status),
        _shown(one.head),
        _shown(one.height),
        _shown(one.behind_blocks),
        _shown(one.behind_seconds),
        _shown(one.oldest_account_seconds),
        one.pace,
        asked + allowed,
        str(one.open_differences),
    )


def _shown(number: int | None) -> str:
    return "-" if number is None else str(number)


def _node_line(node: NodeReport) -> str:
    if node.error:
        return f"{node.label}  {node.milliseconds} ms  {node.error}"
    return f"{node.label}  {node.milliseconds} ms  head {node.height}"


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
