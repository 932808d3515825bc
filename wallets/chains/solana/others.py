"""Finds owners' token accounts of recorded tokens that no checkout accepts, without a listing for each of them."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

import structlog

from wallets.chains.base import Account, ChainError
from wallets.chains.intervals import Intervals
from wallets.chains.rpc.batches import ask_all
from wallets.chains.rpc.client import Call, Node
from wallets.chains.solana import decode
from wallets.chains.solana.questions import token_account
from wallets.chains.specs import ChainSpec

log = structlog.get_logger(__name__)

REACH: Final = 900
"""Slots, six minutes, that are listed again below the known ones: thrice as many as pass between two looks."""

_AT_ONCE: Final = 100  # a node's limit of accounts per request


class OtherTokens:
    """Which owners have an account of another token. They are asked about at intervals, a hundred accounts a request."""

    def __init__(self, spec: ChainSpec, *, clock: Callable[[], float]) -> None:
        self._mints = [t.address for t in spec.tokens.values() if not t.accepted]
        self._intervals = Intervals(spec, clock=clock)
        self._programs: dict[str, str] = {}

    def token_accounts(self, node: Node, accounts: Sequence[Account]) -> dict[bytes, list[str]]:
        """Return the existing token accounts of the owners that are due, by key; none where they cannot be asked for."""
        due = self._intervals.due(accounts) if self._mints else []
        if not due:
            return {}
        try:
            return self._ask(node, due)
        except ChainError as error:
            # They must delay no payment; a node that is away fails elsewhere.
            log.warning("other tokens not listed", node=node.label, error=str(error))
            self.note_read([one.key for one in due])
            return {}

    def note_read(self, keys: Collection[bytes]) -> None:
        """Note that these owners' other tokens were read."""
        self._intervals.note(keys)

    def _ask(self, node: Node, due: Sequence[Account]) -> dict[bytes, list[str]]:
        self._learn(node)
        places = [
            (one.key, token_account(one.address, mint=mint, program=program))
            for one in due
            for mint, program in self._programs.items()
        ]
        there = _programs_of(node, [place for _, place in places])
        found: dict[bytes, list[str]] = {one.key: [] for one in due}
        for (key, place), program in zip(places, there, strict=True):
            if program in decode.TOKEN_PROGRAMS:
                found[key].append(place)
        return found

    def _learn(self, node: Node) -> None:
        """Ask for the programs that keep the mints; one that does not exist yet, as on a local chain, is asked for again."""
        missing = [mint for mint in self._mints if mint not in self._programs]
        programs = zip(missing, _programs_of(node, missing), strict=True)
        self._programs |= {mint: program for mint, program in programs if program in decode.TOKEN_PROGRAMS}


def _programs_of(node: Node, keys: Sequence[str]) -> list[str]:
    """Return the program that owns each account; empty for one that does not exist."""
    options = {"commitment": "confirmed", "encoding": "base64", "dataSlice": {"offset": 0, "length": 0}}
    calls: list[Call] = [
        ("getMultipleAccounts", [keys[start : start + _AT_ONCE], options]) for start in range(0, len(keys), _AT_ONCE)
    ]
    return [
        program
        for call, answer in zip(calls, ask_all(node, calls), strict=True)
        for program in _told(answer, asked=len(call[1][0]))
    ]


def _told(answer: Any, *, asked: int) -> Iterator[str]:
    _, accounts = decode.in_context(answer)
    if len(decode.items(accounts)) != asked:
        decode.refuse("as many accounts came as were not asked for")
    for account in accounts:
        yield "" if account is None else decode.key(decode.field(account, "owner"))
