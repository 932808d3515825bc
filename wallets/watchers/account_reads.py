"""Reading many accounts in groups, within a budget, so that one that cannot be read does not hold up the others."""

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

# Where the budget does not suffice for all, every fourth group is of accounts that nobody is expected to pay to. Every
# fourth of those is of accounts that are only watched; the others of them are read with what is left over.
_EVERY: Final = 4
_ROUND: Final = _EVERY**2
# Finding the one bad account among fifty takes fewer failures in a row; a node that fails takes them all.
_MOST_FAILURES_IN_A_ROW: Final = 6
# Well within the longest lease: a pass that outlasts it is for nothing.
_LONGEST_PASS_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class _Group:
    """Accounts that are asked for together, all of them watched by somebody and no more, or none."""

    accounts: Sequence[Account]
    is_watched: bool = False

    def halves(self) -> list["_Group"]:
        """Cut it in two; a single account is none."""
        half = len(self.accounts) // 2
        parts = (self.accounts[:half], self.accounts[half:]) if half else ()
        return [replace(self, accounts=part) for part in parts]


@dataclass(slots=True)
class AccountReads:
    """What came of reading accounts.

    `broken` are those that failed alone, and why; without a reason where it may be the nodes' fault. `error` is the last
    failure there was, `has_given_up` whether there were too many.

    In an account that is only watched may be more than can be followed, which says nothing of the nodes: it has failures of
    its own, and where they are too many the other watched ones wait for another pass, and nobody else.
    """

    readings: list[AccountReading] = field(default_factory=list)
    broken: dict[bytes, str] = field(default_factory=dict)
    error: ChainError | None = None
    watched_error: ChainError | None = None
    # How many groups failed one after the other, of both sorts.
    failures: int = 0
    watched_failures: int = 0
    groups: int = 0
    # How many requests that took.
    spent: int = 0
    # What the next pass should be able to spend before it begins.
    wanted: float = 0.0
    is_complete: bool = True
    has_given_up: bool = False

    @property
    def group_cost(self) -> float:
        """How many requests a group took."""
        return self.spent / self.groups if self.groups else 0.0

    @property
    def is_failure(self) -> bool:
        """Whether the nodes failed, and not just single accounts."""
        return self.has_given_up or (self.error is not None and not self.readings)

    @property
    def leaves_watched(self) -> bool:
        """Whether too many accounts failed that are only watched."""
        return self.watched_failures >= _MOST_FAILURES_IN_A_ROW

    def note_success(self, group: _Group, readings: Sequence[AccountReading]) -> None:
        """Keep what was read."""
        self.readings += readings
        if group.is_watched:
            self.watched_failures = 0
        else:
            self.failures = 0

    def note_failure(self, group: _Group, error: ChainError) -> None:
        """Keep why a group could not be read. A node that asks to be left alone is meant by everybody."""
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
    """Reads accounts through an adapter. What it learns of group sizes and turns is kept from pass to pass."""

    def __init__(
        self,
        adapter: AccountAdapter,
        budget: Budget,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._adapter = adapter
        self._budget = budget
        self._clock = clock
        self._at_once = self._watched_at_once = adapter.accounts_at_once
        self._turn = 0

    @property
    def most_at_once(self) -> int:
        """How many accounts the budget may suffice for in one pass, at the very best."""
        return self._adapter.accounts_at_once * (int(self._budget.capacity) + 1)

    @property
    def most_for_one(self) -> int:
        """How many requests an account is worth at a time that nobody pays us at: anybody's busy wallet may be watched."""
        return max(int(self._budget.capacity / 2), 2)

    def read(
        self,
        expected: Sequence[Account],
        others: Sequence[Account],
        watched: Sequence[Account] = (),
        *,
        head: Head,
    ) -> AccountReads:
        """Read as many as the budget and some seconds allow, one group at least: the expected ones first.

        `watched` are accounts that nobody pays us at: what they take, others might have.
        """
        reads, before = AccountReads(), self._adapter.requests
        waiting, spare = self._groups(expected, others, watched)
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
            reads.broken |= dict.fromkeys(
                reads.broken.keys() & {one.key for one in watched}, ""
            )
        # What is read with what is left over waits for no sooner pass while somebody is expected.
        reads.is_complete = not waiting and not (spare and not expected)
        if not reads.is_complete:
            reads.wanted = self._wanted(len(expected), reads.group_cost)
        self._turn = (self._turn + reads.groups) % _ROUND
        self._learn(reads)
        return reads

    def _saved(self, expected: Sequence[Account], reads: AccountReads) -> float:
        """Return what must be left so that watched accounts delay nobody: the next pass's needs and this group's, or more.

        Half of what can be saved is for those that are read once a minute, all of them at the same time.
        """
        if not expected:
            return 0.0
        groups = ceil(len(expected) / self._at_once) + 1
        return max(1 + groups * reads.group_cost, self._budget.capacity / 2)

    def _wanted(self, expected: int, group_cost: float) -> float:
        """Return what the expected accounts cost and the share of the others with them.

        With less, a pass would spend most on asking for the head; with more, the expected ones would wait for the others.
        """
        if not expected:
            return self._budget.capacity
        groups = ceil(expected / self._at_once) * _EVERY / (_EVERY - 1)
        return min(1 + groups * group_cost, self._budget.capacity)

    def _read_group(
        self,
        queue: deque[_Group],
        spare: deque[_Group],
        reads: AccountReads,
        head: Head,
    ) -> None:
        """Read the next group; one that fails is cut in two, to be read last."""
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
            # What an adapter did not foresee in one account's data must not stop the others from being read.
            log.exception("account reader failed")
            raise MalformedAnswerError(f"unforeseen {type(error).__name__}") from error
        if [reading.key for reading in readings] != [account.key for account in group]:
            raise MalformedAnswerError("other accounts were read than asked for")
        return readings

    def _groups(
        self,
        expected: Sequence[Account],
        others: Sequence[Account],
        watched: Sequence[Account],
    ) -> tuple[deque[_Group], deque[_Group]]:
        """Return the groups to be read in this pass, and those to be read with what is left over."""
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

    def _cut(
        self, accounts: Sequence[Account], *, is_watched: bool = False
    ) -> Iterator[_Group]:
        size = self._watched_at_once if is_watched else self._at_once
        for start in range(0, len(accounts), size):
            yield _Group(accounts[start : start + size], is_watched)

    def _learn(self, reads: AccountReads) -> None:
        """Ask for fewer at once after a failure: the budget may not suffice to find its cause in one pass."""
        self._at_once = self._next_size(self._at_once, reads.error)
        self._watched_at_once = self._next_size(
            self._watched_at_once, reads.watched_error
        )

    def _next_size(self, size: int, error: ChainError | None) -> int:
        if error is not None:
            return max(size // 2, 1)
        return min(size * 2, self._adapter.accounts_at_once)


def _move_watched(waiting: deque[_Group], spare: deque[_Group]) -> None:
    """Leave the watched accounts among those that wait to what is read with what is left over."""
    groups = list(waiting)
    waiting.clear()
    for group in groups:
        (spare if group.is_watched else waiting).append(group)


def _asks_to_wait(error: ChainError | None) -> bool:
    return isinstance(error, ChainUnavailableError) and error.retry_after is not None
