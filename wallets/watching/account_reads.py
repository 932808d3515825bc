"""Reading many accounts in groups, within a budget, so that one that cannot be read does not hold up the others."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
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
from wallets.watching.budget import Budget

log = structlog.get_logger(__name__)

# Where the budget does not suffice for all, every fourth group is of accounts that nobody is expected to pay to. Every
# fourth of those is of accounts that are only watched; the others of them are read with what is left over.
_EVERY: Final = 4
_ROUND: Final = _EVERY**2
# Finding the one bad account among fifty takes fewer failures in a row; a node that fails takes them all.
_MOST_FAILURES_IN_A_ROW: Final = 6
# Well within the longest lease: a pass that outlasts it is for nothing.
_LONGEST_PASS_SECONDS: Final = 15.0


@dataclass(slots=True)
class AccountReads:
    """What came of reading accounts.

    `broken` are those that failed alone, and why; without a reason where it may be the nodes' fault. `error` is the last
    failure there was, `has_given_up` whether there were too many.
    """

    readings: list[AccountReading] = field(default_factory=list)
    broken: dict[bytes, str] = field(default_factory=dict)
    error: ChainError | None = None
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
        self._at_once = adapter.accounts_at_once
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
        failures, until = 0, self._clock() + _LONGEST_PASS_SECONDS
        while queue := waiting or spare:
            saved = self._saved(expected, reads) if queue is spare else 0.0
            is_over = self._budget.level() <= saved or self._clock() >= until
            if reads.groups and is_over:
                break
            failures = 0 if self._read_group(queue, reads, head) else failures + 1
            reads.spent = self._adapter.requests - before
            if failures >= _MOST_FAILURES_IN_A_ROW or _asks_to_wait(reads.error):
                reads.has_given_up = True
                break
        if reads.is_failure:
            reads.broken = dict.fromkeys(reads.broken, "")
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
        self, waiting: deque[Sequence[Account]], reads: AccountReads, head: Head
    ) -> bool:
        """Read the next group; one that fails is cut in two, to be read last."""
        group = waiting.popleft()
        reads.groups += 1
        try:
            reads.readings += self._ask(group, head)
        except ChainError as error:
            reads.error = error
            half = len(group) // 2
            if half:
                waiting.extend((group[:half], group[half:]))
            else:
                reads.broken[group[0].key] = str(error)
            return False
        return True

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
    ) -> tuple[deque[Sequence[Account]], deque[Sequence[Account]]]:
        """Return the groups to be read in this pass, and those to be read with what is left over."""
        found: deque[Sequence[Account]] = deque()
        first, second, spare = (
            deque(self._cut(accounts)) for accounts in (expected, others, watched)
        )
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

    def _cut(self, accounts: Sequence[Account]) -> Iterator[Sequence[Account]]:
        for start in range(0, len(accounts), self._at_once):
            yield accounts[start : start + self._at_once]

    def _learn(self, reads: AccountReads) -> None:
        """Ask for fewer at once after a failure: the budget may not suffice to find its cause in one pass."""
        if reads.error is not None:
            self._at_once = max(self._at_once // 2, 1)
        else:
            self._at_once = min(self._at_once * 2, self._adapter.accounts_at_once)


def _asks_to_wait(error: ChainError | None) -> bool:
    return isinstance(error, ChainUnavailableError) and error.retry_after is not None
