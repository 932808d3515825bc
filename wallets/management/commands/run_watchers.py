"""`manage.py run_watchers`: run the chain watchers."""

import signal
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from wallets.chains.family import ChainSpec
from wallets.networks import watched_chains
from wallets.watcher_process import WatchedChain, watch

_ENDING = {signal.SIGTERM, signal.SIGINT}


class Command(BaseCommand):
    """Runs until SIGTERM or Ctrl-C. Any number may run in parallel: leases let one read a chain at a time."""

    # The worker that starts this command has run the checks, which import every page.
    requires_system_checks: list[str] = []
    help = "Read the configured chains and record transfers to receiving addresses."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the argument: the chains to read; by default all that have a node."""
        parser.add_argument("--chain", action="append", dest="names", metavar="NAME")

    def handle(self, *args: Any, names: list[str] | None, **options: Any) -> None:
        """Watch. Raises CommandError for a chain that has no node, and if no node is of its chain."""
        specs = _chosen(names)
        chains = [chain for spec in specs if (chain := self._accepted(WatchedChain(spec)))]
        if specs and not chains:
            raise CommandError("No chain can be watched.")
        watching = ", ".join(chain.spec.name for chain in chains) or "no chain has a node"
        # Blocked, not handled: a handler that wakes a waiting thread can run while that thread holds the lock it needs.
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        self.stdout.write(f"Watching: {watching}.")
        self.stdout.flush()
        # Also waits if there is no chain: otherwise its supervisor would restart it in a loop.
        watch(chains, until=lambda: signal.sigwait(_ENDING))

    def _accepted(self, chain: WatchedChain) -> WatchedChain | None:
        refusal = chain.refusal()
        if refusal is None:
            return chain
        self.stderr.write(f"{chain.spec.name} is not watched: {refusal}.")
        chain.pool.close()
        return None


def _chosen(names: list[str] | None) -> list[ChainSpec]:
    specs = {spec.name: spec for spec in watched_chains()}
    if names is None:
        return list(specs.values())
    unknown = sorted(set(names) - specs.keys())
    if unknown:
        raise CommandError(f"No node is configured for: {', '.join(unknown)}.")
    return [specs[name] for name in dict.fromkeys(names)]
