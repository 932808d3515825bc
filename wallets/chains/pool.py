"""Two or more nodes of one chain, asked in order of preference."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import structlog

from wallets.chains.base import (
    ChainError,
    ChainMismatchError,
    ChainUnavailableError,
    MalformedAnswerError,
    ReorgDuringReadError,
)
from wallets.chains.rpc import Node

log = structlog.get_logger(__name__)
T = TypeVar("T")

SURVEY_SECONDS: Final = 2.0
"""How long a node may take when it is asked only to compare."""

_FIRST_REST: Final = 1.0
_LONGEST_REST: Final = 60.0
_MISMATCH_REST: Final = 30.0
# Longer than a pass and the pause before the next one.
_CONTRADICTION_REST: Final = 10.0
_FAILURES: Final = (ChainUnavailableError, MalformedAnswerError, ChainMismatchError)


class _Member:
    """A node and what we know of its health. Times are of the monotonic clock."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.verified = False
        self.failures = 0
        # While it rests it is asked only when no other answers; while it is barred, never.
        self.rests_until = 0.0
        self.barred_until = 0.0


class RpcPool:
    """Runs questions on the first healthy node, and on the next one when that fails.

    The chain id is checked before a node is first used, and again after each failure.
    """

    def __init__(
        self,
        urls: Sequence[str],
        *,
        chain_id: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._members = [_Member(Node(url)) for url in urls]
        self._current = self._members[0]
        self._chain_id = chain_id
        self._clock = clock

    def run(self, operation: Callable[[Node], T]) -> T:
        """Return what `operation` makes of one node, all of it on the same node.

        Raises the preferred node's error when every node fails; RangeTooLargeError at once, because another node would
        say the same; ReorgDuringReadError at once, and prefers the other nodes for a while: it may be this one's fault.
        """
        failures: list[ChainError] = []
        for member in self._in_order():
            try:
                answer = self._ask(member, operation)
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
        raise ChainUnavailableError(
            "every node asked us to wait", retry_after=self._shortest_wait()
        )

    def call(self, method: str, params: list[Any]) -> Any:
        """Ask one thing of the first node that answers. Raises ChainError."""
        return self.run(lambda node: node.call(method, params))

    def survey(self, operation: Callable[[Node], T]) -> list[T]:
        """Return what the nodes that are not in use and not resting answer; a failure is noted and left out."""
        answers = []
        for member in self._members:
            if member is self._current or self._clock() < member.rests_until:
                continue
            try:
                answers.append(self._ask(member, operation))
            except _FAILURES:
                continue
        return answers

    def rest_current(self, seconds: float) -> None:
        """Prefer the other nodes for a while."""
        self._current.rests_until = self._clock() + seconds

    def doubt(self) -> None:
        """Ask each node for its chain id before it is used again: what stands behind an address may change."""
        for member in self._members:
            member.verified = False

    def mismatches(self) -> list[str]:
        """Ask every node for its chain id; return an explanation for each that belongs to another chain.

        A node that does not answer may be right.
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

    def _ask(self, member: _Member, operation: Callable[[Node], T]) -> T:
        try:
            self._verify(member)
            answer = operation(member.node)
        except _FAILURES as error:
            self._note(member, error)
            raise
        member.failures = 0
        return answer

    def _verify(self, member: _Member) -> None:
        if member.verified or self._chain_id is None:
            return
        answer = member.node.call("eth_chainId", [])
        if answer != hex(self._chain_id):
            raise ChainMismatchError(
                f"{member.node.label} has chain id {_shown(answer)}, not {self._chain_id}"
            )
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


def _shown(answer: Any) -> str:
    try:
        return str(int(answer, 16))
    except (TypeError, ValueError):
        return "none"
