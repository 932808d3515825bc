"""Watches a chain that is read by account, in both directions and within a budget.

Each receiving wallet has a cursor, moved in the transaction that writes its transfers. Wallets with expected payments are read in
every pass, others in turn. A newest block that is in the future, or too far above the last one, is rejected: it would move every
cursor.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Final

import structlog

from wallets.chains.base import (
    Account,
    AccountAdapter,
    BlockRef,
    ChainUnavailableError,
    Head,
    HeadCheck,
    MalformedAnswerError,
    any_head,
)
from wallets.chains.family import ChainSpec
from wallets.chains.rpc.client import Call
from wallets.chains.rpc.notices import MOST
from wallets.watchers.account_forks import AccountForks
from wallets.watchers.account_ingest import commit_accounts, lacks_accounts, lacks_watched, note_turns, open_accounts
from wallets.watchers.account_reads import AccountReader, AccountReads
from wallets.watchers.budget import Budget
from wallets.watchers.demand import DueAccount, Turn, due_accounts, is_expected, pause_seconds
from wallets.watchers.ingest import Pulse
from wallets.watchers.leases import Lease, fenced
from wallets.watchers.passes import ChainWatcher, PassOutcome

log = structlog.get_logger(__name__)

_MOST_AHEAD: Final = timedelta(minutes=10)
"""How far a block's time may be ahead of our clock, which may be wrong too."""

_MOST_PACE: Final = 10
"""How much faster than usual a chain may make blocks."""
# Blocks' times are whole seconds.
_SLACK: Final = timedelta(seconds=5)
# About as much as is listed again below an account's cursor.
_MOST_BEHIND: Final = timedelta(minutes=1)

# A reset local chain is soon as long as the old one.
_LOCAL_IDENTITY_SECONDS: Final = 5.0
_WATCHED_SECONDS: Final = 5.0


def head_check(spec: ChainSpec, lease: Lease, *, now: datetime) -> HeadCheck:
    """Return the check of a chain's newest block against our clock, and against the last head that was read.

    It allows any pause, and anything on a local chain, which mines at once.
    """
    if spec.is_local:
        return any_head

    def check(block: BlockRef) -> None:
        if block.time - now > _MOST_AHEAD:
            raise MalformedAnswerError("a node's newest block is of the future")
        if lease.head is None or lease.head_time is None:
            return
        passed = max(block.time - lease.head_time, timedelta()) + _SLACK
        if block.height - lease.head > _blocks_in(passed, spec) * _MOST_PACE:
            raise MalformedAnswerError(f"a node's newest block {block.height} is too far above {lease.head}")

    return check


def check_not_far_behind(spec: ChainSpec, lease: Lease, block: BlockRef) -> None:
    """Raise ChainUnavailableError if the newest block is far below the cursor: then nothing would be read."""
    behind = (lease.height or 0) - block.height
    if behind > _blocks_in(_MOST_BEHIND, spec):
        raise ChainUnavailableError(f"the nodes' newest block {block.height} is {behind} below the last one read")


def _blocks_in(time: timedelta, spec: ChainSpec) -> int:
    return time // timedelta(seconds=spec.block_seconds)


class AccountWatcher(ChainWatcher):
    """Reads one chain's accounts under the lease, as many per pass as the request budget allows."""

    def __init__(
        self, spec: ChainSpec, adapter: AccountAdapter, *, owner: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(spec, adapter, owner=owner, clock=clock)
        self._adapter = adapter
        self._budget = Budget(spec.requests_per_minute, spent=lambda: adapter.requests, clock=clock)
        self._reader = AccountReader(adapter, self._budget, clock=clock)
        self._forks = AccountForks(spec, adapter, clock=clock)
        # How much budget the next pass needs.
        self._wanted = 0.0
        self._expected_since: dict[bytes, datetime] = {}
        self._has_paying = False
        self._identity_due = 0.0
        self._watched_due = 0.0
        self._has_new_watched = False
        self._expected: list[Account] = []
        self._last_height = -1

    def subscriptions(self) -> Sequence[Call]:
        """Return the calls for the accounts to which somebody was expected to pay in the last pass."""
        return self._adapter.subscriptions(self._expected)

    def _may_rest(self, lease: Lease, now: datetime) -> bool:
        level = self._budget.level()
        if level < self._wanted and not (level >= 0 and self._has_come(now)):
            return True
        return super()._may_rest(lease, now) and not self._has_new_accounts()

    def _has_new_accounts(self) -> bool:
        """Whether a wallet is not read yet; watched-only ones are found within seconds."""
        if self._clock() >= self._watched_due:
            self._watched_due = self._clock() + _WATCHED_SECONDS
            self._has_new_watched = lacks_watched(self.spec.name)
        return self._has_new_watched or lacks_accounts(self.spec.name)

    def _has_come(self, now: datetime) -> bool:
        """Return whether something is expected now but was not in the last pass: then no budget is saved for other accounts."""
        return not (self._expected_since or self._has_paying) and is_expected(self.spec, now=now)

    def _pass(self, lease: Lease, now: datetime) -> PassOutcome:
        head = self._adapter.head(check=head_check(self.spec, lease, now=now))
        self._doubt_local_chain()
        if not self._is_identified(lease, now):
            return PassOutcome.AHEAD
        if lease.height is not None and head.block.height < lease.height:
            return self._fell_behind(lease, head, now)
        if self._has_new_accounts():
            open_accounts(lease, self.spec, self._pulse(head, now=now, pause=0.0))
            self._has_new_watched = False
        due = due_accounts(self.spec, now=now, most_others=self._reader.most_at_once)
        expected = [one.account for one in due if one.turn is Turn.EXPECTED]
        self._has_paying = any(one.turn is Turn.PAYING for one in due)
        # In a fixed order: which ones are read first changes with each pass.
        self._expected = sorted(expected, key=attrgetter("key"))[:MOST]
        reads = self._read(due, head)
        if reads.readings or reads.error is None:
            self._commit(lease, due, reads, head, now)
        else:
            self._pass_on(lease, reads, now)
        if reads.error is not None and reads.is_failure:
            raise reads.error
        return PassOutcome.IDLE

    def _began_anew(self) -> None:
        self._forks.forget()
        self._expected_since.clear()
        self._has_paying = False
        self._watched_due = 0.0
        self._last_height = -1

    def _doubt_local_chain(self) -> None:
        if self.spec.is_local and self._clock() >= self._identity_due:
            self._identity_due = self._clock() + _LOCAL_IDENTITY_SECONDS
            self._identified_fence = None

    def _fell_behind(self, lease: Lease, head: Head, now: datetime) -> PassOutcome:
        """Handle a head below the cursor: wait for a lagging node, or detect a reset local chain.

        Raises ChainUnavailableError if it is far below.
        """
        if self.spec.is_local and not self._is_same_chain(lease, now):
            return PassOutcome.AHEAD
        check_not_far_behind(self.spec, lease, head.block)
        return PassOutcome.IDLE

    def _read(self, due: Sequence[DueAccount], head: Head) -> AccountReads:
        # Another node may have reported a newer block before.
        ready = [one for one in due if one.account.height <= head.block.height]
        expected, paying, others, watched = (
            [self._forks.from_where(one.account) for one in ready if one.turn is turn] for turn in Turn
        )
        # Any busy wallet may be watched or pay. A paying one is read before the other accounts that nobody pays to, in each
        # pass, but delays no payment to us.
        most = self._reader.most_for_one
        paying, watched = ([replace(account, most=most) for account in some] for some in (paying, watched))
        return self._reader.read(expected, others, watched, paying=paying, head=head)

    def _commit(self, lease: Lease, due: Sequence[DueAccount], reads: AccountReads, head: Head, now: datetime) -> None:
        missing = self._forks.look(reads.readings, head=head, now=now)
        pulse = self._next_pulse(reads, head, now)
        final_height = self._adapter.final_height(head, read_height=head.block.height)
        new = commit_accounts(
            lease,
            self.spec,
            readings=reads.readings,
            broken=reads.broken,
            missing=missing,
            final_height=final_height,
            accounts_read_at=self._read_through(due, reads, now),
            pulse=pulse,
        )
        self._meter.wrote(pulse.usage)
        self._to_final = self._seconds_to_final(due, reads, head, final_height)
        for key, error in reads.broken.items():
            log.error("account not read", chain=self.spec.name, key=key.hex(), error=error)
        if lost := (*missing.lost, *missing.lost_moved):
            log.warning("reorganisation", chain=self.spec.name, transfers=len(lost))
        if new:
            log.info("transfers found", chain=self.spec.name, count=new)

    def _seconds_to_final(self, due: Sequence[DueAccount], reads: AccountReads, head: Head, final_height: int) -> float:
        """Return how long the next expected payment of these takes to be final; infinite without one.

        Also infinite if the chain has not grown since the last pass, and no sooner than the budget allows: otherwise a chain
        that stands still would be asked without a pause.
        """
        has_grown = head.block.height > self._last_height
        self._last_height = head.block.height
        expected = {one.account.key for one in due if one.turn is Turn.EXPECTED}
        missing = [
            one.block_height - final_height
            for reading in reads.readings
            if has_grown and reading.key in expected
            for one in reading.transfers
            if one.recipient_key == reading.key and one.block_height > final_height
        ]
        if not missing:
            return math.inf
        pause = min(missing) * self.spec.block_seconds
        return max(pause, self._budget.seconds_until(0))

    def _pass_on(self, lease: Lease, reads: AccountReads, now: datetime) -> None:
        """Read the other accounts first next time, even if the nodes may be at fault."""
        with fenced(lease):
            note_turns(self.spec.name, reads.broken, now=now)

    def _next_pulse(self, reads: AccountReads, head: Head, now: datetime) -> Pulse:
        """Return when the next pass is due: once the budget allows if this one was incomplete."""
        self._wanted = reads.wanted
        pause = pause_seconds(self.spec, now=now) if reads.is_complete else 0.0
        pause = max(pause, self._budget.seconds_until(self._wanted))
        return self._pulse(head, now=now, pause=pause, reads=len(reads.readings))

    def _read_through(self, due: Sequence[DueAccount], reads: AccountReads, now: datetime) -> datetime:
        """Return up to when every expected account is read; a newly expected one counts from now on."""
        done = {reading.key for reading in reads.readings}
        done |= {key for key, reason in reads.broken.items() if reason}
        expected = [one for one in due if one.turn is Turn.EXPECTED]
        since = {one.account.key: self._expected_since.get(one.account.key, now) for one in expected}
        self._expected_since = since
        waiting = [
            max(one.known_through or since[one.account.key], since[one.account.key])
            for one in expected
            if one.account.key not in done
        ]
        return min(waiting, default=now)
