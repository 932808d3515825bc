"""Reads many accounts in groups, within a budget, so that an unreadable one does not block the others."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Final

import structlog

from wallets.chains.base import (
    Account,
    AccountAdapter,
    AccountReading,
    ChainError,
    ChainUnavailableError,
    Head,
    MalformedAnswerError,
)
from wallets.watchers.budget import Budget

log = structlog.get_logger(__name__)

# If the budget does not suffice for all, every fourth group is of accounts without expected payments. Every fourth of those
# is of watched-only accounts; the rest of them are read with the remaining budget.
_EVERY: Final = 4
_ROUND: Final = _EVERY**2
# Finding the one bad account among fifty takes fewer failures in a row; a failing node fails them all.
_MOST_FAILURES_IN_A_ROW: Final = 6
# Well within the longest lease: a pass that outlasts it is wasted.
_LONGEST_PASS_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class _Group:
    """Accounts that are read together; either all or none of them are watched-only."""

    accounts: Sequence[Account]
    is_watched: bool = False

    def halves(self) -> list["_Group"]:
        """Split it in two; a single account gives none."""
        half = len(self.accounts) // 2
        parts = (self.accounts[:half], self.accounts[half:]) if half else ()
        return [replace(self, accounts=part) for part in parts]


@dataclass(slots=True)
class AccountReads:
    """The result of reading accounts.

    `broken` are those that failed alone, and why; without a reason where it may be the nodes' fault. `error` is the last
    failure there was, `has_given_up` whether there were too many.

    A watched-only account may be too busy to read, which is not the nodes' fault. Such failures are counted separately: if
    there are too many, only the watched-only accounts wait for another pass.
    """

    readings: list[AccountReading] = field(default_factory=list)
    broken: dict[bytes, str] = field(default_factory=dict)
    error: ChainError | None = None
    watched_error: ChainError | None = None
    # How many groups failed in a row, of either kind.
    failures: int = 0
    watched_failures: int = 0
    groups: int = 0
    # How many requests that took.
    spent: int = 0
    # The budget that the next pass should have before it begins.
    wanted: float = 0.0
    is_complete: bool = True
    has_given_up: bool = False

    @property
    def group_cost(self) -> float:
        """Return how many requests a group took."""
        return self.spent / self.groups if self.groups else 0.0

    @property
    def is_failure(self) -> bool:
        """Whether the nodes failed, not just single accounts."""
        return self.has_given_up or (self.error is not None and not self.readings)

    @property
    def leaves_watched(self) -> bool:
        """Whether too many watched-only accounts failed."""
        return self.watched_failures >= _MOST_FAILURES_IN_A_ROW

    def note_success(self, group: _Group, readings: Sequence[AccountReading]) -> None:
        """Store a group's readings."""
        self.readings += readings
        if group.is_watched:
            self.watched_failures = 0
        else:
            self.failures = 0

    def note_failure(self, group: _Group, error: ChainError) -> None:
        """Store why a group failed. If a node asks for a pause, the pass ends."""
        must_wait = _asks_to_wait(error)
        if group.is_watched:
            self.watched_error = error
            self.watched_failures += 1
        else:
            self.failures += 1
        if must_wait or not group.is_watched:
            self.error = error
        if len(group.accounts) == 1:
            self.broken[group.accounts[0].key] = str(error)
        self.has_given_up = must_wait or self.failures >= _MOST_FAILURES_IN_A_ROW


class AccountReader:
    """Reads accounts through an adapter. Learned group sizes and turns are kept between passes."""

    def __init__(self, adapter: AccountAdapter, budget: Budget, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._adapter = adapter
        self._budget = budget
        self._clock = clock
        self._at_once = self._watched_at_once = adapter.accounts_at_once
        self._turn = 0

    @property
    def most_at_once(self) -> int:
        """Return the maximum of accounts that the budget allows in one pass."""
        return self._adapter.accounts_at_once * (int(self._budget.capacity) + 1)

    @property
    def most_for_one(self) -> int:
        """Return the limit of requests for a watched-only account per turn: any busy wallet may be watched."""
        return max(int(self._budget.capacity / 2), 2)

    def read(
        self,
        expected: Sequence[Account],
        others: Sequence[Account],
        watched: Sequence[Account] = (),
        *,
        paying: Sequence[Account] = (),
        head: Head,
    ) -> AccountReads:
        """Read as many as the budget and some seconds allow, at least one group: expected ones first.

        `watched` are watched-only accounts, whose requests are taken from the others' budget. `paying` accounts come first among
        the others, and are worth another pass as soon as the expected ones are.
        """
        reads, before = AccountReads(), self._adapter.requests
        waiting, spare = self._groups(expected, [*paying, *others], watched)
        until = self._clock() + _LONGEST_PASS_SECONDS
        while queue := waiting or (spare if not reads.leaves_watched else None):
            saved = self._saved(expected, reads) if queue is spare else 0.0
            is_over = self._budget.level() <= saved or self._clock() >= until
            if reads.groups and is_over:
                break
            self._read_group(queue, spare, reads, head)
            reads.spent = self._adapter.requests - before
            if reads.leaves_watched:
                _move_watched(waiting, spare)
            if reads.has_given_up:
                break
        if reads.is_failure:
            reads.broken = dict.fromkeys(reads.broken, "")
        elif reads.leaves_watched:
            reads.broken |= dict.fromkeys(reads.broken.keys() & {one.key for one in watched}, "")
        # Reads from the remaining budget do not bring the next pass forward while payments are expected.
        reads.is_complete = not waiting and not (spare and not expected)
        if not reads.is_complete:
            reads.wanted = self._wanted(len(expected) + len(paying), reads.group_cost)
        self._turn = (self._turn + reads.groups) % _ROUND
        self._learn(reads)
        return reads

    def _saved(self, expected: Sequence[Account], reads: AccountReads) -> float:
        """Return the budget to keep so that watched accounts delay no others: for the next pass and this group, or more.

        Half of the savings is for accounts that are read once a minute, all at the same time.
        """
        if not expected:
            return 0.0
        groups = ceil(len(expected) / self._at_once) + 1
        return max(1 + groups * reads.group_cost, self._budget.capacity / 2)

    def _wanted(self, expected: int, group_cost: float) -> float:
        """Return the cost of the expected accounts and the others' share.

        With less, a pass would spend most on asking for the head; with more, the expected ones would wait for the others.
        """
        if not expected:
            return self._budget.capacity
        groups = ceil(expected / self._at_once) * _EVERY / (_EVERY - 1)
        return min(1 + groups * group_cost, self._budget.capacity)

    def _read_group(self, queue: deque[_Group], spare: deque[_Group], reads: AccountReads, head: Head) -> None:
        """Read the next group; a failing one is split in two, to be read last."""
        group = queue.popleft()
        reads.groups += 1
        try:
            readings = self._ask(group.accounts, head)
        except ChainError as error:
            reads.note_failure(group, error)
            (spare if group.is_watched else queue).extend(group.halves())
        else:
            reads.note_success(group, readings)

    def _ask(self, group: Sequence[Account], head: Head) -> list[AccountReading]:
        try:
            readings = self._adapter.read_accounts(group, head=head)
        except ChainError:
            raise
        except Exception as error:
            # An unforeseen error in one account's data must not stop the others.
            log.exception("account reader failed")
            raise MalformedAnswerError(f"unforeseen {type(error).__name__}") from error
        if [reading.key for reading in readings] != [account.key for account in group]:
            raise MalformedAnswerError("other accounts were read than asked for")
        return readings

    def _groups(
        self, expected: Sequence[Account], others: Sequence[Account], watched: Sequence[Account]
    ) -> tuple[deque[_Group], deque[_Group]]:
        """Return the groups of this pass, and those for the remaining budget."""
        found: deque[_Group] = deque()
        first, second = (deque(self._cut(accounts)) for accounts in (expected, others))
        spare = deque(self._cut(watched, is_watched=True))
        turn = self._turn
        while first or second:
            turn += 1
            of_others = turn // _EVERY if first else turn
            if first and turn % _EVERY:
                queue = first
            elif spare and of_others % _EVERY == 0:
                queue = spare
            else:
                queue = second or first
            found.append(queue.popleft())
        return found, spare

    def _cut(self, accounts: Sequence[Account], *, is_watched: bool = False) -> Iterator[_Group]:
        size = self._watched_at_once if is_watched else self._at_once
        for start in range(0, len(accounts), size):
            yield _Group(accounts[start : start + size], is_watched)

    def _learn(self, reads: AccountReads) -> None:
        """Use smaller groups after a failure: the budget may not suffice to find its cause in one pass."""
        self._at_once = self._next_size(self._at_once, reads.error)
        self._watched_at_once = self._next_size(self._watched_at_once, reads.watched_error)

    def _next_size(self, size: int, error: ChainError | None) -> int:
        if error is not None:
            return max(size // 2, 1)
        return min(size * 2, self._adapter.accounts_at_once)


def _move_watched(waiting: deque[_Group], spare: deque[_Group]) -> None:
    """Move the waiting watched accounts to those read with the remaining budget."""
    groups = list(waiting)
    waiting.clear()
    for group in groups:
        (spare if group.is_watched else waiting).append(group)


def _asks_to_wait(error: ChainError | None) -> bool:
    return isinstance(error, ChainUnavailableError) and error.retry_after is not None
