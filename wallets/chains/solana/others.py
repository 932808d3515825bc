"""Finds owners' token accounts of recorded tokens that no checkout accepts, without a listing for each of them."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from wallets.chains.base import Account
from wallets.chains.rpc.batches import ask_all
from wallets.chains.rpc.client import Call, Node
from wallets.chains.solana import decode
from wallets.chains.solana.questions import token_account
from wallets.chains.specs import ChainSpec

_AT_ONCE: Final = 100  # a node's limit of accounts per request


class OtherAccounts:
    """Asks which owners have an account of another token, a hundred accounts a request."""

    def __init__(self, spec: ChainSpec) -> None:
        self._mints = [t.address for t in spec.tokens.values() if not t.accepted]
        self._programs: dict[str, str] = {}

    def ask(self, node: Node, accounts: Sequence[Account]) -> dict[bytes, list[str]]:
        """Return the owners' existing token accounts, by the owner's key."""
        self._learn(node)
        places = [
            (one.key, token_account(one.address, mint=mint, program=program))
            for one in accounts
            for mint, program in self._programs.items()
        ]
        there = _programs_of(node, [place for _, place in places])
        found: dict[bytes, list[str]] = {one.key: [] for one in accounts}
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
