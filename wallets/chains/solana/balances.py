"""Balances on Solana: of the owners' associated token accounts, which watchers read as well."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from wallets.chains.base import Holdings, ReorgDuringReadError
from wallets.chains.family import ChainSpec, TokenSpec
from wallets.chains.rpc.client import Call, Node, ask_all
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana import decode
from wallets.chains.solana.questions import ask_programs, token_account

MOST_KEYS: Final = 100
"""A node's limit of accounts per request (`getMultipleAccounts`)."""

# The layout of token accounts is in the source of the SPL token program: mint, owner, amount, and after 108 bytes a state.
_MINT: Final = slice(0, 32)
_OWNER: Final = slice(32, 64)
_AMOUNT: Final = slice(64, 72)
_STATE: Final = 108
_BASE_LENGTH: Final = 165
_UNINITIALIZED: Final = 0


class SolanaHoldings:
    """Reads balances on Solana through a pool of its nodes."""

    def __init__(self, spec: ChainSpec, pool: RpcPool) -> None:
        self._tokens: Sequence[TokenSpec] = spec.machine_tokens
        self._pool = pool

    @property
    def at_once(self) -> int:
        """Return how many owners' token accounts fit in one request."""
        return max(1, MOST_KEYS // max(1, len(self._tokens)))

    def read(self, accounts: Mapping[bytes, str]) -> Holdings:
        """Read all token accounts at one slot. Raises ChainError."""
        return self._pool.run(lambda node: self._read(node, accounts))

    def _read(self, node: Node, accounts: Mapping[bytes, str]) -> Holdings:
        # Asked again: the mint's program determines which accounts are read, and another node may answer otherwise.
        programs = ask_programs(node, [token.address for token in self._tokens])
        places = [(key, token) for key in accounts for token in self._tokens]
        keys = [
            token_account(accounts[key], mint=token.address, program=programs[token.address]) for key, token in places
        ]
        slot, told = _ask_accounts(node, keys)
        units: dict[bytes, dict[str, int]] = {key: {} for key in accounts}
        for (key, token), account in zip(places, told, strict=True):
            program = programs[token.address]
            units[key][token.symbol] = held(account, owner=key, mint=token.address, program=program)
        return Holdings(slot, units)


def _ask_accounts(node: Node, keys: Sequence[str]) -> tuple[int, list[Any]]:
    options = {"commitment": "confirmed", "encoding": "base64"}
    calls: list[Call] = [
        ("getMultipleAccounts", [keys[start : start + MOST_KEYS], options]) for start in range(0, len(keys), MOST_KEYS)
    ]
    slots, told = set(), []
    for number, answer in enumerate(ask_all(node, calls)):
        slot, accounts = decode.in_context(answer)
        slots.add(slot)
        asked = calls[number][1][0]
        if len(decode.items(accounts)) != len(asked):
            decode.refuse("as many accounts came as were not asked for")
        told += accounts
    if len(slots) > 1:
        raise ReorgDuringReadError("balances are of several slots")
    return slots.pop(), told


def held(account: Any, *, owner: bytes, mint: str, program: str) -> int:
    """Return the base units in a token account (base64); zero if it does not exist or is not the owner's.

    Anyone may send coins to the address before there is a token account, and its owner may have transferred the account:
    in neither case does it hold tokens of this owner. Raises MalformedAnswerError.
    """
    if account is None or decode.key(decode.field(account, "owner")) != program:
        return 0
    data = decode.account_data(account)
    if len(data) < _BASE_LENGTH:
        decode.refuse("a token account is too short")
    if data[_STATE] == _UNINITIALIZED or data[_OWNER] != owner:
        return 0
    if data[_MINT] != decode.from_base58(mint):
        decode.refuse("a token account is of another token")
    return int.from_bytes(data[_AMOUNT], "little")
