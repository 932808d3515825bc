"""A pool of one chain's nodes, asked in order of preference."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import structlog

from wallets.chains.base import (
    ChainError,
    ChainMismatchError,
    ChainUnavailableError,
    MalformedAnswerError,
    RangeTooLargeError,
    ReorgDuringReadError,
)
from wallets.chains.rpc.client import Node

log = structlog.get_logger(__name__)
S = TypeVar("S")
T = TypeVar("T")

SURVEY_SECONDS: Final = 2.0
"""How long a node may take when asked only for comparison."""

_FIRST_REST: Final = 1.0
_LONGEST_REST: Final = 60.0
_MISMATCH_REST: Final = 30.0
# Longer than a pass and the pause before the next one.
_CONTRADICTION_REST: Final = 10.0
_FAILURES: Final = (ChainUnavailableError, MalformedAnswerError, ChainMismatchError)


class _Member:
    """A node and its health. Times are of the monotonic clock."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.verified = False
        self.failures = 0
        # A resting node is used only if no other answers; a barred node is never used.
        self.rests_until = 0.0
        self.barred_until = 0.0


class RpcPool:
    """Runs operations on the first healthy node, and on the next one when that fails.

    A node's chain is checked before its first use, and again after each failure.
    """

    def __init__(
        self,
        nodes: Sequence[str | Node],
        *,
        identify: Callable[[Node], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep nodes, or their URLs; `identify` raises ChainMismatchError for a node of another chain."""
        self._members = [_Member(Node(node) if isinstance(node, str) else node) for node in nodes]
        self._current = self._members[0]
        self._identify = identify
        self._clock = clock

    @property
    def requests(self) -> int:
        """Return how many requests were sent so far; each call of a batch counts."""
        return sum(member.node.requests for member in self._members)

    @property
    def current_label(self) -> str:
        """Return the label of the node in use, without secrets."""
        return self._current.node.label

    def run(self, operation: Callable[[Node], T], *, is_divisible: bool = False) -> T:
        """Return the result of `operation` on one node.

        `is_divisible` says that the caller can ask for less. Then RangeTooLargeError is raised at once, because another
        node would give the same answer. Otherwise a node that answers too much is unavailable.

        Raises the preferred node's error when every node fails; ReorgDuringReadError at once, and other nodes are preferred
        for a while, as this one may be at fault.
        """
        failures: list[ChainError] = []
        for member in self._in_order():
            try:
                answer = self._ask(member, operation, is_divisible=is_divisible)
            except ReorgDuringReadError:
                member.rests_until = self._clock() + _CONTRADICTION_REST
                raise
            except _FAILURES as error:
                failures.append(error)
            else:
                self._current = member
                return answer
        if failures:
            raise failures[0]
        raise ChainUnavailableError("every node asked us to wait", retry_after=self._shortest_wait())

    def call(self, method: str, params: list[Any]) -> Any:
        """Make one call to the first node that answers. Raises ChainError."""
        return self.run(lambda node: node.call(method, params))

    def survey(self, operation: Callable[[Node], T]) -> list[T]:
        """Return the answers of nodes that are not in use and not resting; failures are noted and left out."""
        answers = []
        for member in self._members:
            if member is self._current or self._clock() < member.rests_until:
                continue
            try:
                answers.append(self._ask(member, operation))
            except _FAILURES:
                continue
        return answers

    def second_opinion(self, operation: Callable[[Node], T]) -> T | None:
        """Return the result of `operation` on a node that is not in use; None if there is only one.

        Raises ChainError when no other node answers.
        """
        failure: ChainError | None = None
        for member in self._in_order():
            if member is self._current:
                continue
            try:
                return self._ask(member, operation)
            except _FAILURES as error:
                failure = failure or error
        if len(self._members) == 1:
            return None
        raise failure or ChainUnavailableError("no second node may be asked now")

    def first_known(self, operation: Callable[[Node], T | None]) -> T | None:
        """Return the first node's result that is not None; None if every node answers None.

        Raises ChainError if no node knows of it and one of them could not be asked.
        """
        failure: ChainError | None = None
        asked = self._in_order()
        for member in asked:
            try:
                found = self._ask(member, operation)
            except ChainError as error:
                failure = failure or error
                continue
            if found is not None:
                return found
        if failure is not None or len(asked) < len(self._members):
            raise failure or ChainUnavailableError("a node asked us to wait")
        return None

    def each(self, operation: Callable[[Node], T]) -> list[T]:
        """Return every node's answer, in order of preference. Raises ChainError unless all of them answer."""
        return [self._ask(member, operation) for member in self._members]

    def unknown_to_all(self, things: Sequence[S], knows: Callable[[Node, Sequence[S]], list[bool]]) -> list[bool]:
        """Return the things that no node knows. Other nodes are asked only about those that the current one does not know.

        Raises ChainError unless all of those that must be asked answer.
        """
        known = self.run(lambda node: knows(node, things))
        doubtful = [place for place, is_known in enumerate(known) if not is_known]
        if not doubtful:
            return [False] * len(things)
        asked = [things[place] for place in doubtful]
        answers = zip(*self.each(lambda node: knows(node, asked)), strict=True)
        lost = {place for place, told in zip(doubtful, answers, strict=True) if not any(told)}
        return [place in lost for place in range(len(things))]

    def rest_current(self, seconds: float) -> None:
        """Prefer the other nodes for a while."""
        self._current.rests_until = self._clock() + seconds

    def doubt(self) -> None:
        """Check each node's chain before its next use: the server behind an address may change."""
        for member in self._members:
            member.verified = False

    def mismatches(self) -> list[str]:
        """Check every node's chain; return an explanation for each node of another chain.

        Nodes that do not answer are left out.
        """
        found = []
        self.doubt()
        for member in self._members:
            try:
                self._verify(member)
            except ChainMismatchError as error:
                found.append(str(error))
            except ChainError:
                continue
        return found

    def stop_at(self, deadline: float | None) -> None:
        """Let no request go on after this time of the monotonic clock: it fails as if the node did not answer."""
        for member in self._members:
            member.node.deadline = deadline

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Let the requests of a `with` block take so long in all, and those after it as long as usual."""
        self.stop_at(time.monotonic() + seconds)
        try:
            yield
        finally:
            self.stop_at(None)

    def close(self) -> None:
        """Close every connection."""
        for member in self._members:
            member.node.close()

    def _in_order(self) -> list[_Member]:
        now = self._clock()
        usable = [member for member in self._members if member.barred_until <= now]
        return sorted(usable, key=lambda member: member.rests_until > now)

    def _shortest_wait(self) -> float:
        wait = min(member.barred_until for member in self._members) - self._clock()
        return max(wait, 0.0)

    def _ask(self, member: _Member, operation: Callable[[Node], T], *, is_divisible: bool = False) -> T:
        ask = operation if is_divisible else whole(operation)
        try:
            self._verify(member)
            answer = ask(member.node)
        except _FAILURES as error:
            self._note(member, error)
            raise
        member.failures = 0
        return answer

    def _verify(self, member: _Member) -> None:
        if member.verified or self._identify is None:
            return
        whole(self._identify)(member.node)
        member.verified = True

    def _note(self, member: _Member, error: ChainError) -> None:
        now = self._clock()
        member.verified = False
        member.failures += 1
        rest = min(_FIRST_REST * 2 ** (member.failures - 1), _LONGEST_REST)
        member.rests_until = now + rest
        if isinstance(error, ChainMismatchError):
            member.barred_until = now + _MISMATCH_REST
        elif isinstance(error, ChainUnavailableError) and error.retry_after:
            member.barred_until = now + min(error.retry_after, _LONGEST_REST)
        log.warning("node failed", error=str(error), failures=member.failures)


def whole(operation: Callable[[Node], T]) -> Callable[[Node], T]:
    """Return the same operation, for which a too large answer makes the node unavailable.

    Unlike a range of blocks, it has no smaller form, but another node may answer less.
    """

    def ask(node: Node) -> T:
        try:
            return operation(node)
        except RangeTooLargeError as error:
            raise ChainUnavailableError(str(error)) from error

    return ask


def has_chain_id(chain_id: int) -> Callable[[Node], None]:
    """Return the check that an EVM node is of this chain."""

    def identify(node: Node) -> None:
        answer = node.call("eth_chainId", [])
        if answer != hex(chain_id):
            raise ChainMismatchError(f"{node.label} has chain id {_shown(answer)}, not {chain_id}")

    return identify


def _shown(answer: Any) -> str:
    try:
        return str(int(answer, 16))
    except (TypeError, ValueError):
        return "none"
