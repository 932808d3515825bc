"""The watcher process: one thread per chain, each with its own database connection, until stopped."""

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import cast

import structlog
from django.db import Error as DatabaseError
from django.db import connection
from django.utils import timezone

from wallets.chains.base import AccountAdapter, BlockAdapter, ChainError, ChainUnavailableError
from wallets.chains.family import ChainSpec
from wallets.chains.registry import open_pool
from wallets.chains.rpc.client import Call
from wallets.chains.rpc.notices import Notices
from wallets.chains.rpc.pool import RpcPool
from wallets.networks import poll_seconds, reads_accounts
from wallets.reconciliation.passes import audit_chain
from wallets.watchers.accounts import AccountWatcher
from wallets.watchers.blocks import Watcher
from wallets.watchers.leases import LeaseLostError
from wallets.watchers.passes import ChainWatcher, PassOutcome

log = structlog.get_logger(__name__)

_LONGEST_PAUSE = 30.0
_HALTED_PAUSE = 5.0
# Between the starts of two passes, however many blocks a node announces.
_SHORTEST_PAUSE = 0.1
# Containers get ten seconds before they are killed.
_STOP_SECONDS = 8.0


class WatchedChain:
    """A chain to watch, its nodes, and the notices that a node pushes, if one does."""

    def __init__(self, spec: ChainSpec) -> None:
        self.spec = spec
        self.pool: RpcPool = open_pool(spec)
        self.notices = Notices(spec.ws_url) if spec.ws_url else None

    def refusal(self) -> str | None:
        """Return why this chain cannot be watched: none of its nodes is of this chain. None if one is."""
        mismatches = self.pool.mismatches()
        for mismatch in mismatches:
            log.error("node of another chain", chain=self.spec.name, error=mismatch)
        if len(mismatches) < len(self.spec.rpc_urls):
            return None
        return "; ".join(mismatches)


def watch(chains: Sequence[WatchedChain], *, until: Callable[[], object]) -> None:
    """Watch until `until()` returns; then release the leases.

    A chain that is still being read after 8 seconds keeps its lease until that runs out.
    """
    owner = f"{socket.gethostname()[:40]}:{os.getpid()}:{secrets.token_hex(4)}"
    stop = threading.Event()
    threads = [
        threading.Thread(
            target=work,
            args=(chain, owner, stop),
            name=f"{verb} {chain.spec.name}",
            # A hanging node must not delay the end. Stopping is safe, because a pass is written completely or not at all.
            daemon=True,
        )
        for verb, work in (("watch", _watch_chain), ("audit", _audit_chain))
        for chain in chains
    ]
    threads += [
        threading.Thread(target=chain.notices.listen, name=f"notices {chain.spec.name}", daemon=True)
        for chain in chains
        if chain.notices
    ]
    for thread in threads:
        thread.start()
    until()
    stop.set()
    for chain in chains:
        if chain.notices:
            chain.notices.close()
    deadline = time.monotonic() + _STOP_SECONDS
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0.0))
    if late := [thread.name for thread in threads if thread.is_alive()]:
        log.warning("cut off while reading", threads=late)


def _audit_chain(chain: WatchedChain, owner: str, stop: threading.Event) -> None:
    audit_chain(chain.spec, owner=owner, stop=stop)


def _watch_chain(chain: WatchedChain, owner: str, stop: threading.Event) -> None:
    watcher = open_watcher(chain.spec, chain.pool, owner=owner)
    pace = _Pace(poll_seconds(chain.spec))
    try:
        while not stop.is_set():
            started = time.monotonic()
            outcome = _one_pass(watcher)
            pause = pace.after(outcome)
            if outcome is PassOutcome.IDLE:
                pause = watcher.longest_pause(pause)
            # After a failure a notice changes nothing: the node needs its pause.
            if chain.notices and not isinstance(outcome, Exception) and pause:
                chain.notices.subscribe(_subscriptions(watcher, outcome))
                stop.wait(_left(_SHORTEST_PAUSE, started))
                chain.notices.wait(_left(pause, started))
            else:
                stop.wait(_left(pause, started))
        _let_go(watcher)
    finally:
        chain.pool.close()
        connection.close()


def _left(pause: float, started: float) -> float:
    """Return the rest of a pause in seconds, counted from the start of a pass."""
    return max(pause - (time.monotonic() - started), 0.0)


def open_watcher(spec: ChainSpec, pool: RpcPool, *, owner: str) -> ChainWatcher:
    """Return the chain's watcher, by blocks or by account, over a pool of its nodes."""
    adapter = spec.family.open_adapter(spec, pool)
    if reads_accounts(spec):
        return AccountWatcher(spec, cast("AccountAdapter", adapter), owner=owner)
    return Watcher(spec, cast("BlockAdapter", adapter), rpc=pool, owner=owner)


def _one_pass(watcher: ChainWatcher) -> PassOutcome | Exception:
    try:
        return watcher.tick(now=timezone.now())
    except LeaseLostError:
        return PassOutcome.STANDBY
    except ChainError as error:
        log.warning("chain not read", chain=watcher.spec.name, error=str(error))
        return error
    except DatabaseError as error:
        # The server may have restarted: the next pass opens another connection.
        connection.close()
        log.warning("database failed", chain=watcher.spec.name, error=type(error).__name__)
        return error
    except Exception as error:
        # Any error is caught: otherwise the chain would silently stop being watched.
        log.exception("watcher failed", chain=watcher.spec.name)
        connection.close()
        return error


def _subscriptions(watcher: ChainWatcher, outcome: PassOutcome) -> Sequence[Call]:
    """Return what to subscribe to: nothing while another watcher reads the chain, and nothing after an error."""
    if outcome not in {PassOutcome.IDLE, PassOutcome.NOT_DUE}:
        return []
    try:
        return watcher.subscriptions()
    except Exception:
        # Any error is caught: polling must go on.
        log.exception("no subscriptions", chain=watcher.spec.name)
        return []


def _let_go(watcher: ChainWatcher) -> None:
    try:
        watcher.stop()
    except DatabaseError:
        log.info("lease left to run out", chain=watcher.spec.name)


class _Pace:
    """The pause between the starts of two passes, in seconds."""

    def __init__(self, poll: float) -> None:
        self._poll = poll
        self._failures = 0

    def after(self, outcome: PassOutcome | Exception) -> float:
        if isinstance(outcome, Exception):
            return self._after_failure(outcome)
        self._failures = 0
        if outcome is PassOutcome.AHEAD:
            return 0.0
        return max(self._poll, _HALTED_PAUSE) if outcome is PassOutcome.HALTED else self._poll

    def _after_failure(self, error: Exception) -> float:
        self._failures += 1
        wanted = error.retry_after if isinstance(error, ChainUnavailableError) else None
        pause: float = max(self._poll * 2.0 ** min(self._failures - 1, 10), wanted or 0.0)
        return min(pause, _LONGEST_PAUSE)
