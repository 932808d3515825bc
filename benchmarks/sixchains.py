"""All six local chains, engines and the processes that read and credit, as the demo runs them, for benchmarks to pay on."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.stack import HOME, free_port
from demo.chains import LocalChains
from demo.nodes.base import LocalChain
from gateway.core.embedded.processes import ChildCommand
from gateway.processes.stack import CELERY, MANAGE, ROOT, Stack

_DEVELOPMENT = {"FLORIN_ENV": "development", "CHAIN_NETWORK": "local"}


@dataclass(frozen=True)
class SixChains:
    """The running nodes by chain, with functions that start more processes."""

    stack: Stack
    nodes: LocalChains
    chains: Mapping[str, LocalChain]

    def start_readers(self, *, roles: str = "watch,tasks") -> None:
        """Run a worker with these roles. The usual ones read the chains, and credit what they find."""
        alone = ("--without-gossip", "--without-mingle", "--concurrency", "2")
        schedule = ("--schedule", str(self.stack.var / "run" / "beat"), "--pidfile=")
        quiet, make = ("--loglevel", "WARNING"), self.stack.command
        self.stack.keep(
            [
                make("worker", *CELERY, "gateway.celery", "worker", *alone, "--roles", roles, *quiet),
                make("beat", *CELERY, "gateway.beat", "beat", *schedule, *quiet),
            ]
        )


@contextmanager
def six_chains(**extra: str) -> Iterator[SixChains]:
    """Run the nodes and fresh engines, and bind this process's Django to them. `extra` are settings."""
    shutil.rmtree(HOME, ignore_errors=True)
    with Stack(var=HOME, port=free_port(), say=_say_nothing, environment=_DEVELOPMENT) as stack:
        nodes = LocalChains(HOME / "chains", port=lambda _number: free_port())
        stack.keep([*nodes.commands(stack.command), _miner(stack, nodes)])
        stack.start_engines()
        chains = {chain.name: chain for chain in nodes.prepare()}
        stack.environment.update(_chain_settings(chains) | extra)
        os.environ |= stack.environment
        _open_django(stack)
        yield SixChains(stack, nodes, chains)


def _say_nothing(_line: str) -> None:
    """Do nothing: benchmarks print figures only."""


def _miner(stack: Stack, nodes: LocalChains) -> ChildCommand:
    return stack.command("miner", sys.executable, "-m", "demo.nodes.miner", *nodes.mined_urls())


def _chain_settings(chains: Mapping[str, LocalChain]) -> dict[str, str]:
    from demo.management.commands.demo import chain_environment

    return chain_environment(list(chains.values()))


def _open_django(stack: Stack) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "gateway.settings"
    subprocess.run([*MANAGE, "migrate", "-v", "0"], cwd=ROOT, env=stack.environment, check=True)
    import django

    django.setup()
