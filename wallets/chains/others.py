"""Where accounts are read one by one, their tokens that no checkout accepts are read after the payments.

They are asked about at intervals, each account from a place of its own, and may fail without the payments. On chains that are
read block by block they come in the payments' own answers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from math import inf
from typing import Final

import structlog

from wallets.chains.base import Account, AccountReading, ChainError, TokenTransfer
from wallets.chains.family import ChainSpec
from wallets.chains.rpc.pool import RpcPool

log = structlog.get_logger(__name__)

SECONDS: Final = 120.0
"""Between two looks at an account's other tokens."""

REACH_SECONDS: Final = 360
"""How far before an account's place its listing begins: what two looks told may be lost, as by a database that was away."""

# A local node counts no requests.
_LOCAL_SECONDS: Final = 2.0
# Payments wait for a look no longer than this.
_LOOK_SECONDS: Final = 5.0
# Every node keeps that much; what could not be read for longer is given up.
_LONGEST: Final = timedelta(days=1)
_MOST_ACCOUNTS: Final = 100_000
_MOST_AT_ONCE: Final = 1_000
# Two to this power is more than any pause.
_MOST_FAILURES: Final = 10

Read = Callable[[Sequence[Account]], Sequence[AccountReading]]


class OtherTokens:
    """Remembers when each account's other tokens are due, and how far they are known, by key.

    After a failure the next reading asks again from the same place, for half of the accounts; after several ones in a row
    there are pauses. It forgets at a restart: each account is due at its first reading.
    """

    def __init__(self, spec: ChainSpec, pool: RpcPool, *, clock: Callable[[], float]) -> None:
        self._spec = spec
        self._pool = pool
        self._clock = clock
        self._exist = len(spec.accepted_tokens) < len(spec.tokens)
        self._pause = _LOCAL_SECONDS if spec.is_local else SECONDS
        self.forget()

    def forget(self) -> None:
        """Forget every account, as for another chain."""
        self._due_at: dict[bytes, float] = {}
        self._through: dict[bytes, tuple[int, datetime]] = {}
        self._at_once = _MOST_AT_ONCE
        self._failures = 0
        self._rests_until = 0.0

    def beside(
        self, payments: Sequence[AccountReading], accounts: Sequence[Account], read: Read
    ) -> list[AccountReading]:
        """Return readings with the other tokens' transfers of accounts that are due.

        `read` reads them, each from where it is given less REACH_SECONDS.
        """
        due = self._due(accounts)
        found = {one.key: one for one in self._look(due, read)} if due else {}
        self._note(due, found, known={one.key: one.through.height for one in payments})
        return [
            replace(one, transfers=_joined(one.transfers, found[one.key].transfers)) if one.key in found else one
            for one in payments
        ]

    def _due(self, accounts: Sequence[Account]) -> list[Account]:
        now = self._clock()
        if not self._exist or now < self._rests_until:
            return []
        if len(self._through) > _MOST_ACCOUNTS:
            self.forget()
        due = sorted((self._due_at.get(one.key, -inf), place) for place, one in enumerate(accounts))
        return [self._from_where(accounts[place]) for when, place in due if when <= now][: self._at_once]

    def _from_where(self, account: Account) -> Account:
        """Return an account as known as its other tokens are."""
        height, time = self._through.setdefault(account.key, (account.height, account.time))
        height = max(
            min(height, account.height), account.height - int(_LONGEST.total_seconds() / self._spec.block_seconds)
        )
        time = max(min(time, account.time), account.time - _LONGEST)
        return replace(account, height=height, time=time)

    def _look(self, due: Sequence[Account], read: Read) -> Sequence[AccountReading]:
        try:
            with self._pool.within(_LOOK_SECONDS):
                readings = read(due)
        except ChainError as error:
            log.warning("other tokens not read", chain=self._spec.name, error=str(error))
        except Exception:
            # Nor may an unforeseen error about a token that pays nothing stop the payments.
            log.exception("reader of other tokens failed", chain=self._spec.name)
        else:
            self._failures = 0
            self._at_once = min(2 * self._at_once, _MOST_AT_ONCE)
            return readings
        self._put_off(due)
        return ()

    def _note(
        self, due: Sequence[Account], found: Mapping[bytes, AccountReading], *, known: Mapping[bytes, int]
    ) -> None:
        """Note how far accounts were read; one that was read in part, below where its payments are `known`, stays due."""
        for account in due:
            if (reading := found.get(account.key)) is None:
                continue
            through, before = reading.through, self._through[account.key][0]
            is_part = before < through.height < known[account.key]
            self._due_at[account.key] = self._clock() + (0.0 if is_part else self._pause)
            self._through[account.key] = (through.height, through.time)

    def _put_off(self, due: Sequence[Account]) -> None:
        now = self._clock()
        self._rests_until = now + min(2**self._failures - 1, self._pause)
        self._at_once = max(len(due) // 2, 1)
        if len(due) == 1 and self._failures:
            # One that cannot be read keeps the others no longer waiting.
            self._due_at[due[0].key] = now + self._pause
        self._failures = min(self._failures + 1, _MOST_FAILURES)


def _joined(payments: Sequence[TokenTransfer], others: Sequence[TokenTransfer]) -> list[TokenTransfer]:
    """Return both, each transfer once: a transaction that moved both kinds of tokens is told twice."""
    told = {_identity(one) for one in payments}
    return [*payments, *(one for one in others if _identity(one) not in told)]


def _identity(one: TokenTransfer) -> tuple[object, ...]:
    return one.tx_hash, one.position, one.token_address, one.recipient_key, one.sender_key
