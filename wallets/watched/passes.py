"""Reads histories and balances of one chain's watched wallets, step by step, with a small share of the request budget."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final, Protocol, cast

import structlog
from django.db import connection, transaction

from wallets.chains.base import (
    AccountAdapter,
    BlockAdapter,
    ChainAdapter,
    ChainError,
    ChainMismatchError,
    ChainUnavailableError,
    Holdings,
    HoldingsReader,
)
from wallets.chains.family import ChainSpec
from wallets.chains.registry import open_pool
from wallets.chains.rpc.pool import RpcPool
from wallets.models import ChainCursor, WatchedWallet
from wallets.networks import reads_accounts
from wallets.watched.history import AccountHistory, BlockHistory, Openings, check_lease, note_failure
from wallets.watchers.budget import Budget
from wallets.watchers.leases import is_held

log = structlog.get_logger(__name__)

AT_LEAST_EVERY: Final = timedelta(days=1)
# An older movement is already in the balance, so it need not be read again.
_RECENT: Final = timedelta(hours=1)

SHARE: Final = 0.2
"""The share of a chain's request budget that watched wallets may use besides the watcher."""

_LOOK_SECONDS: Final = 5.0
_IDENTITY_SECONDS: Final = 60.0
_LONGEST_REST: Final = 60.0


@dataclass(frozen=True, slots=True)
class DueBalance:
    """A watched wallet whose balance is due."""

    wallet_id: int
    key: bytes
    address: str


class BalanceReader:
    """Reads balances on one chain: never read ones first, then the oldest."""

    def __init__(self, spec: ChainSpec, holdings: HoldingsReader, *, owner: str) -> None:
        self._spec = spec
        self._holdings = holdings
        self._owner = owner

    def due(self, *, now: datetime) -> list[DueBalance]:
        """Return the due wallets, as many as fit one request."""
        parameters: dict[str, Any] = {
            "chain": self._spec.name,
            "since": now - AT_LEAST_EVERY,
            "blocks": int(_RECENT.total_seconds() / self._spec.block_seconds),
            "most": self._holdings.at_once,
        }
        with connection.cursor() as cursor:
            cursor.execute(_DUE_BALANCES, parameters)
            return [DueBalance(pk, bytes(key), name) for pk, key, name in cursor]

    def read(self, due: Sequence[DueBalance], *, genesis: str, now: datetime) -> None:
        """Read and write these balances. Raises ChainError, LeaseLostError."""
        held = self._holdings.read({one.key: one.address for one in due})
        with transaction.atomic():
            check_lease(self._spec.name, self._owner, genesis=genesis)
            _write_balances(due, held, is_local=self._spec.is_local, now=now)


_DUE_BALANCES = """
    WITH moved AS (
        SELECT DISTINCT m.wallet_id FROM wallets_watchedmovement m
        JOIN wallets_watchedbalance b ON b.wallet_id = m.wallet_id AND b.token = m.token AND b.height < m.block_height
        WHERE m.chain = %(chain)s AND m.mode = 'live' AND m.block_height > (
            SELECT height - %(blocks)s FROM wallets_chaincursor WHERE chain = %(chain)s))
    SELECT w.id, w.key, w.address
    FROM wallets_watchedwallet w
    CROSS JOIN LATERAL (
        SELECT min(b.read_at) AS read_at FROM wallets_watchedbalance b WHERE b.wallet_id = w.id) held
    WHERE w.chain = %(chain)s AND w.mode = 'live' AND w.removed_at IS NULL AND w.purpose = 'list'
      AND (held.read_at IS NULL OR held.read_at <= %(since)s OR w.id IN (SELECT wallet_id FROM moved))
    ORDER BY held.read_at NULLS FIRST, w.id LIMIT %(most)s
"""
# A lagging node must not overwrite a newer balance; a local chain may have been reset.
_WRITE_BALANCES = """
    INSERT INTO wallets_watchedbalance AS known (wallet_id, token, units, height, read_at)
    SELECT n.wallet_id, n.token, n.units, %(height)s, %(now)s::timestamptz
    FROM unnest(%(wallets)s::bigint[], %(tokens)s::text[], %(units)s::numeric[]) AS n(wallet_id, token, units)
    ON CONFLICT (wallet_id, token) DO UPDATE
    SET units = EXCLUDED.units, height = EXCLUDED.height, read_at = EXCLUDED.read_at
    WHERE EXCLUDED.height >= known.height OR %(is_local)s
"""


def _write_balances(due: Sequence[DueBalance], held: Holdings, *, is_local: bool, now: datetime) -> None:
    rows = [(one.wallet_id, token, Decimal(units)) for one in due for token, units in held.units[one.key].items()]
    wallets, tokens, amounts = (list(column) for column in zip(*rows, strict=True))
    parameters: dict[str, Any] = {
        "wallets": wallets,
        "tokens": tokens,
        "units": amounts,
        "height": held.height,
        "is_local": is_local,
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_WRITE_BALANCES, parameters)


class HistoryReader(Protocol):
    """Reads movements from before wallets were watched."""

    def first_block(self, until: int, now: datetime, /) -> int:
        """Return the first block of the history of a wallet that is watched from the block `until` on. Raises ChainError."""

    def next_group(self) -> list[WatchedWallet]:
        """Return the wallets whose turn it is."""

    def read(self, wallets: Sequence[WatchedWallet], *, genesis: str, now: datetime) -> bool:
        """Read further and write it; return whether one advanced. Raises ChainError, LeaseLostError."""


class WatchedWallets:
    """Reads histories and balances on one chain, while `owner` has its lease, over its own connections."""

    def __init__(self, spec: ChainSpec, *, owner: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._spec = spec
        self._owner = owner
        self._clock = clock
        pool = open_pool(spec)
        self._adapter: ChainAdapter = spec.family.open_adapter(spec, pool)
        self._history = _open_history(spec, self._adapter, pool, owner)
        self._openings = Openings(spec, self._history.first_block)
        self._balances = BalanceReader(spec, spec.family.open_holdings(spec, pool), owner=owner)
        self._budget = Budget(int(spec.requests_per_minute * SHARE), spent=lambda: pool.requests, clock=clock)
        self._genesis, self._identity_due = "", 0.0
        self._due, self._failures = 0.0, 0
        self._is_balances_turn = False

    def tick(self, *, now: datetime) -> None:
        """Do one step, if it is due and within budget. Raises ChainError, LeaseLostError."""
        if self._clock() < self._due or self._budget.level() <= 0:
            return
        if not self._is_reader():
            self._due = self._clock() + _LOOK_SECONDS
            return
        try:
            self._step(now)
        except ChainError as error:
            self._rest_after(error)
            raise
        self._failures = 0

    def close(self) -> None:
        """Close the connections to the nodes."""
        self._adapter.close()

    def _is_reader(self) -> bool:
        """Whether we hold the chain's lease, and know its first block."""
        begun = ChainCursor.objects.filter(chain=self._spec.name).exclude(genesis_hash="")
        with transaction.atomic():
            return is_held(self._spec.name, self._owner) and begun.exists()

    def _step(self, now: datetime) -> None:
        """Read balances and histories in turn; if one has nothing due, the other gets its turn."""
        self._openings.tick(now=now)
        self._is_balances_turn = not self._is_balances_turn
        first, second = self._read_balances, self._read_history
        if not self._is_balances_turn:
            first, second = second, first
        if not first(now) and not second(now):
            self._due = self._clock() + _LOOK_SECONDS

    def _read_balances(self, now: datetime) -> bool:
        due = self._balances.due(now=now)
        if due:
            self._balances.read(due, genesis=self._identified(), now=now)
        return bool(due)

    def _read_history(self, now: datetime) -> bool:
        wallets = self._history.next_group()
        if not wallets:
            return False
        try:
            return self._history.read(wallets, genesis=self._identified(), now=now)
        except ChainError as error:
            note_failure(self._spec.name, wallets, error, owner=self._owner, now=now)
            raise

    def _identified(self) -> str:
        """Return the chain's first block, which the nodes have to confirm from time to time."""
        known = ChainCursor.objects.get(chain=self._spec.name).genesis_hash
        if known != self._genesis or self._clock() >= self._identity_due:
            if self._adapter.genesis() != known:
                raise ChainMismatchError("the nodes serve another chain than was read")
            self._genesis = known
            # A local chain may be reset at any time, and asking it costs nothing.
            trust = 0.0 if self._spec.is_local else _IDENTITY_SECONDS
            self._identity_due = self._clock() + trust
        return self._genesis

    def _rest_after(self, error: ChainError) -> None:
        self._identity_due = 0.0
        self._failures += 1
        rest = float(min(2**self._failures, _LONGEST_REST))
        if isinstance(error, ChainUnavailableError) and error.retry_after:
            rest = max(rest, error.retry_after)
        self._due = self._clock() + min(rest, _LONGEST_REST)


def _open_history(spec: ChainSpec, adapter: ChainAdapter, pool: RpcPool, owner: str) -> HistoryReader:
    if not reads_accounts(spec):
        return BlockHistory(spec, cast("BlockAdapter", adapter), owner=owner)
    times = spec.family.open_times(spec, pool)
    return AccountHistory(spec, cast("AccountAdapter", adapter), times, owner=owner)
