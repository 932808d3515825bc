"""A report about each chain and its nodes, for the operator: the watchers' records, and the nodes' current answers."""

import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from wallets.chains.base import ChainAdapter, ChainError, ChainMismatchError
from wallets.chains.family import ChainSpec
from wallets.models import ChainCursor, SourceDifference
from wallets.networks import reads_accounts
from wallets.reconciliation.sources import account_nodes, block_nodes
from wallets.selectors import chain_statuses
from wallets.states import ChainStatus
from wallets.watchers.demand import AccountAges, account_ages, is_expected

PATIENCE_SECONDS: Final = 5.0
"""How long all nodes together may take to answer."""


@dataclass(frozen=True, slots=True)
class NodeReport:
    """One node's answer. `is_ours` is whether it serves the chain that is read; None if unknown."""

    label: str
    is_ours: bool | None
    height: int | None
    milliseconds: int
    error: str


@dataclass(frozen=True, slots=True)
class ChainReport:
    """One chain.

    `behind_seconds` is since when payments are unknown; `oldest_account_seconds` the same for the least known of the accounts
    with expected payments, on chains read by account.
    """

    chain: str
    network: str
    status: ChainStatus
    head: int | None
    height: int | None
    behind_blocks: int | None
    behind_seconds: int | None
    accounts: int
    broken_accounts: int
    oldest_account_seconds: int | None
    pace: str
    requests_minute: int
    requests_allowed: int | None
    open_differences: int
    trouble: str
    nodes: Sequence[NodeReport]


def report_chains(specs: Sequence[ChainSpec], *, now: datetime) -> list[ChainReport]:
    """Return the reports of these chains. Every node is asked, within seconds."""
    cursors = {cursor.chain: cursor for cursor in ChainCursor.objects.all()}
    nodes = _ask_nodes(specs, cursors)
    statuses, ages = chain_statuses(now=now), account_ages(now=now)
    return [
        _report(
            spec,
            cursors.get(spec.name) or ChainCursor(chain=spec.name),
            status=statuses[spec.name],
            ages=ages.get(spec.name, AccountAges()),
            nodes=nodes[spec.name],
            now=now,
        )
        for spec in specs
    ]


def _report(
    spec: ChainSpec,
    cursor: ChainCursor,
    *,
    status: ChainStatus,
    ages: AccountAges,
    nodes: Sequence[NodeReport],
    now: datetime,
) -> ChainReport:
    differences = SourceDifference.objects.filter(chain=spec.name, closed_at=None)
    is_read = cursor.head is not None and cursor.height is not None
    return ChainReport(
        chain=spec.name,
        network=spec.network,
        status=status,
        head=cursor.head,
        height=cursor.height,
        behind_blocks=(cursor.head or 0) - (cursor.height or 0) if is_read else None,
        behind_seconds=_age(cursor.read_through_at, now),
        accounts=ages.accounts,
        broken_accounts=ages.broken,
        oldest_account_seconds=_age(ages.oldest, now),
        pace="full" if is_expected(spec, now=now) else "idle",
        requests_minute=cursor.requests_minute,
        # Only chains read by account have an unbounded number of requests.
        requests_allowed=spec.requests_per_minute if reads_accounts(spec) else None,
        open_differences=differences.count(),
        trouble=cursor.halted_reason or cursor.last_error,
        nodes=nodes,
    )


def _age(moment: datetime | None, now: datetime) -> int | None:
    return None if moment is None else max(int((now - moment).total_seconds()), 0)


class _NodeCheck(threading.Thread):
    """Asks one node. A daemon, so that a hanging node cannot keep the process from ending."""

    def __init__(self, label: str, adapter: ChainAdapter, genesis_hash: str) -> None:
        super().__init__(daemon=True)
        self._label = label
        self._adapter = adapter
        self._genesis_hash = genesis_hash
        self._begun = time.monotonic()
        self._answer: NodeReport | None = None
        self.start()

    def answer(self, *, until: float) -> NodeReport:
        """Return its answer by then, on the monotonic clock."""
        self.join(max(until - time.monotonic(), 0.0))
        return self._answer or self._told(error="does not answer in time")

    def run(self) -> None:
        """Ask for the head and for the first block."""
        with closing(self._adapter):
            try:
                head = self._adapter.head()
                took = self._milliseconds()
                genesis_hash = self._adapter.genesis()
            except ChainMismatchError as error:
                self._answer = self._told(is_ours=False, error=str(error))
            except ChainError as error:
                self._answer = self._told(error=str(error))
            else:
                is_ours = self._genesis_hash in {"", genesis_hash}
                self._answer = NodeReport(
                    self._label, is_ours, head.block.height, took, "" if is_ours else "has another first block"
                )

    def _told(self, *, is_ours: bool | None = None, error: str) -> NodeReport:
        return NodeReport(self._label, is_ours, None, self._milliseconds(), error)

    def _milliseconds(self) -> int:
        return round((time.monotonic() - self._begun) * 1000)


def _ask_nodes(specs: Sequence[ChainSpec], cursors: dict[str, ChainCursor]) -> dict[str, list[NodeReport]]:
    questions = {
        spec.name: [
            _NodeCheck(node.label, node.adapter, _genesis_hash(cursors.get(spec.name)))
            for node in (account_nodes(spec) if reads_accounts(spec) else block_nodes(spec))
        ]
        for spec in specs
    }
    until = time.monotonic() + PATIENCE_SECONDS
    return {chain: [question.answer(until=until) for question in asked] for chain, asked in questions.items()}


def _genesis_hash(cursor: ChainCursor | None) -> str:
    return cursor.genesis_hash if cursor else ""
