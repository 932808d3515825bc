"""Reconciles a chain in small steps, beside its watcher: it never blocks the watcher and never takes the nodes from it."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

import structlog
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection, transaction
from django.db.models import Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from wallets.chains.base import ChainAdapter, ChainError, ChainMismatchError, ChainUnavailableError
from wallets.chains.family import ChainSpec
from wallets.models import ChainCursor, ReceivingWallet
from wallets.networks import reads_accounts
from wallets.reconciliation.comparison import (
    SPAN,
    Compared,
    SourceDisagreesError,
    check_identity,
    compare_accounts,
    compare_ledger,
    compare_node,
)
from wallets.reconciliation.confirmation import LargeAmounts
from wallets.reconciliation.missed import MissedTransfers
from wallets.reconciliation.sources import (
    AccountNode,
    BlockNode,
    Ledger,
    account_nodes,
    block_nodes,
    ledgers,
    source_count,
)
from wallets.watched.passes import WatchedWallets
from wallets.watchers.leases import LeaseLostError, is_held

log = structlog.get_logger(__name__)

BUDGET_SHARE: Final = 0.2
"""The share of a chain's request budget that reconciliation may use, on chains read by account."""

_REQUESTS_AN_ACCOUNT: Final = 3
_KEYS_OF_A_LEDGER_AT_ONCE: Final = 10

BEAT_SECONDS = 1.0


class Turns:
    """Turns of one chain's wallets: most places for those with expected payments, some for the others."""

    def __init__(self, chain: str) -> None:
        self._chain = chain
        self._round = 0
        # By wallet: the round of its last turn.
        self._served: dict[bytes, int] = {}

    def take(self, places: int, *, expected_since: datetime) -> list[bytes]:
        """Return the keys of up to `places` wallets, those with the oldest last turn first."""
        self._round += 1
        rows = ReceivingWallet.objects.filter(chain=self._chain)
        expected, quiet = set[bytes](), set[bytes]()
        for key, until in rows.values_list("key", "expected_until"):
            is_expected = until is not None and until >= expected_since
            (expected if is_expected else quiet).add(bytes(key))
        kept_free = min(len(quiet - expected), -(-places // 4))
        chosen = self._longest_ago(expected, places - kept_free)
        chosen += self._longest_ago(quiet - expected, places - len(chosen))
        self._served |= dict.fromkeys(chosen, self._round)
        return chosen

    def _longest_ago(self, keys: set[bytes], places: int) -> list[bytes]:
        in_turn = sorted(keys, key=lambda key: (self._served.get(key, 0), key))
        return in_turn[: max(places, 0)]


@dataclass(frozen=True, slots=True)
class _SourceRequest:
    """One request to one source; about some accounts, if the chain is read by account."""

    source: str
    ask: Callable[[Sequence[bytes], datetime], Compared | None]
    keys: Sequence[bytes] | None = None

    def parts(self) -> list["_SourceRequest"]:
        """Return the same request for one account at a time."""
        if self.keys is None or len(self.keys) < 2:
            return []
        return [replace(self, keys=[key]) for key in self.keys]


class Reconciler:
    """Compares one chain with each of its sources in turn, periodically, while `owner` has its lease.

    A watcher's current source changes with every failure. So each source is asked for the whole hour: one reports what
    another left out. A pass is whole when two sources or more answered to the end.
    """

    def __init__(
        self, spec: ChainSpec, *, owner: str, every: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Run a pass every so many seconds, counted from the last one of any process; 0 means never."""
        self._spec = spec
        self._owner = owner
        self._every = max(every, 0.0) if source_count(spec) > 1 else 0.0
        self._clock = clock
        self._reads_accounts = reads_accounts(spec)
        self._account_nodes = account_nodes(spec) if self._reads_accounts else []
        self._block_nodes = [] if self._reads_accounts else block_nodes(spec)
        self._ledgers = ledgers(spec)
        self._turns = Turns(spec.name)
        # By node: when each account was last compared with it.
        self._account_turns: dict[str, dict[bytes, datetime]] = {}
        self._read_through: dict[str, int | None] = {}
        self._started = clock()
        self._due: float | None = None
        self._resting_until = 0.0
        self._begun = 0.0
        self._steps: deque[_SourceRequest] = deque()
        self._failed: set[str] = set()
        # Sources that did not answer all requests.
        self._incomplete: set[str] = set()
        self._disagrees = False

    def tick(self, *, now: datetime) -> None:
        """Do at most one due step, which asks one source. A source's errors are logged."""
        if not self._every or self._clock() < self._resting_until:
            return
        if not self._steps and self._clock() < self._due_at(now):
            return
        if not self._is_reader():
            self._steps.clear()
            return
        if not self._steps:
            self._begin(now)
        self._take_step(self._steps.popleft(), now)
        while self._steps and self._steps[0].source in self._failed:
            self._steps.popleft()
        if not self._steps:
            self._finish(now)

    def _due_at(self, now: datetime) -> float:
        if self._due is None:
            cursor = ChainCursor.objects.filter(chain=self._spec.name).first()
            last = cursor.reconciled_at if cursor else None
            age = (now - last).total_seconds() if last else 0.0
            self._due = self._started + min(max(self._every - age, 0.0), self._every)
        return self._due

    def close(self) -> None:
        """Close the connections to the sources."""
        for adapter in self._adapters():
            adapter.close()
        for ledger in self._ledgers:
            ledger.close()

    def _adapters(self) -> Iterator[ChainAdapter]:
        yield from (node.adapter for node in self._block_nodes)
        yield from (node.adapter for node in self._account_nodes)

    def _is_reader(self) -> bool:
        with transaction.atomic():
            return is_held(self._spec.name, self._owner)

    def _begin(self, now: datetime) -> None:
        self._due = self._clock() + self._every
        self._failed.clear()
        self._incomplete.clear()
        self._disagrees = False
        steps = self._account_steps(now) if self._reads_accounts else self._block_steps(now)
        self._steps.extend(steps)

    def _take_step(self, step: _SourceRequest, now: datetime) -> None:
        begun, before = self._clock(), self._requests()
        try:
            found = step.ask(step.keys or (), now)
        except (SourceDisagreesError, ChainMismatchError) as error:
            self._disagrees = True
            self._failed.add(step.source)
            log.error("source disagrees", **self._about(step), error=str(error))
        except ChainError as error:
            self._go_round(step, error)
        except Exception:
            self._failed.add(step.source)
            raise
        else:
            if found is not None and found != Compared():
                log.warning("source compared", **self._about(step), missed=found.missed, unknown=found.unknown)
        if step.keys is not None:
            cost = (self._requests() - before) * 60 / self._spec.requests_per_minute
            self._resting_until = begun + cost / BUDGET_SHARE

    def _go_round(self, step: _SourceRequest, error: ChainError) -> None:
        """Handle an unusable answer: an account with endless or malformed payments must not hide others."""
        log.warning("source not compared", **self._about(step), error=str(error))
        if step.keys is None or isinstance(error, ChainUnavailableError):
            self._failed.add(step.source)
        elif parts := step.parts():
            self._steps.extendleft(reversed(parts))
        else:
            self._incomplete.add(step.source)

    def _about(self, step: _SourceRequest) -> dict[str, str]:
        return {"chain": self._spec.name, "source": step.source}

    def _requests(self) -> int:
        of_nodes = sum(adapter.requests for adapter in self._adapters())
        return of_nodes + sum(ledger.requests for ledger in self._ledgers)

    def _finish(self, now: datetime) -> None:
        rows = ChainCursor.objects.filter(chain=self._spec.name)
        if self._disagrees:
            since = Coalesce("disagreeing_since", Value(now))
            rows.update(disagreeing_since=since)
            return
        if source_count(self._spec) - len(self._failed | self._incomplete) >= 2:
            rows.update(reconciled_at=now, disagreeing_since=None)

    def _block_steps(self, now: datetime) -> Iterator[_SourceRequest]:
        for node in self._block_nodes:
            yield self._identity_step(node)
            yield _SourceRequest(node.label, partial(self._ask_node, node))
        for ledger in self._ledgers:
            keys = self._turns.take(self._places(1), expected_since=now - SPAN)
            for part in _parts(keys, _KEYS_OF_A_LEDGER_AT_ONCE):
                yield _SourceRequest(ledger.label, partial(self._ask_ledger, ledger), part)

    def _account_steps(self, now: datetime) -> Iterator[_SourceRequest]:
        places = self._places(len(self._account_nodes))
        keys = self._turns.take(places, expected_since=now - SPAN)
        for node in self._account_nodes:
            yield self._identity_step(node)
            for part in _parts(keys, node.adapter.accounts_at_once):
                yield _SourceRequest(node.label, partial(self._ask_accounts, node), part)

    def _places(self, sources: int) -> int:
        """Return how many accounts fit into a pass, each asked of this many sources."""
        requests = self._every / 60 * self._spec.requests_per_minute * BUDGET_SHARE
        return max(int(requests / _REQUESTS_AN_ACCOUNT / sources), 1)

    def _identity_step(self, node: BlockNode | AccountNode) -> _SourceRequest:
        return _SourceRequest(node.label, lambda _keys, _now: check_identity(self._spec, node.adapter))

    def _ask_node(self, node: BlockNode, _keys: Sequence[bytes], now: datetime) -> Compared:
        found, through = compare_node(
            self._spec, node, owner=self._owner, read_through=self._read_through.get(node.label), now=now
        )
        self._read_through[node.label] = through
        return found

    def _ask_ledger(self, ledger: Ledger, keys: Sequence[bytes], now: datetime) -> Compared:
        sound = [n for n in self._block_nodes if n.label not in self._failed]
        return compare_ledger(
            self._spec, ledger, (sound or self._block_nodes)[0], keys=keys, owner=self._owner, now=now
        )

    def _ask_accounts(self, node: AccountNode, keys: Sequence[bytes], now: datetime) -> Compared:
        turns = self._account_turns.setdefault(node.label, {})
        found = compare_accounts(self._spec, node, keys=keys, last_turns=turns, owner=self._owner, now=now)
        turns |= dict.fromkeys(keys, now)
        return found


def _parts(keys: list[bytes], size: int) -> Iterator[list[bytes]]:
    for start in range(0, len(keys), size):
        yield keys[start : start + size]


def audit_chain(spec: ChainSpec, *, owner: str, stop: threading.Event) -> None:
    """Run until `stop` is set, in the process of the watcher `owner` and under its lease. Survives any error."""
    large = LargeAmounts(spec, owner=owner)
    every = settings.RECONCILE_SECONDS
    reconciler = Reconciler(spec, owner=owner, every=every)
    missed = MissedTransfers(spec, owner=owner)
    watched = WatchedWallets(spec, owner=owner)
    try:
        while not stop.wait(BEAT_SECONDS):
            _beat(spec, large.tick, reconciler.tick, missed.tick, watched.tick)
    finally:
        for looker in (large, reconciler, missed, watched):
            looker.close()
        connection.close()


def _beat(spec: ChainSpec, *looks: Callable[..., object]) -> None:
    for look in looks:
        try:
            look(now=timezone.now())
        except LeaseLostError:
            continue
        except ChainError as error:
            log.warning("no second look", chain=spec.name, error=str(error))
        except DatabaseError as error:
            # The server may have restarted: the next heartbeat opens another connection.
            connection.close()
            log.warning("database failed", chain=spec.name, error=type(error).__name__)
        except Exception:
            log.exception("second look failed", chain=spec.name)
            connection.close()
