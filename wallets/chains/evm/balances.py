"""Balances on EVM chains and Tron, read from the token contracts, all at one block."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from wallets.chains.base import Holdings, ReorgDuringReadError
from wallets.chains.evm import decode
from wallets.chains.evm.decode import Dialect
from wallets.chains.family import ChainSpec, TokenSpec
from wallets.chains.rpc.client import Call, Node, RefusedError, ask_all
from wallets.chains.rpc.pool import RpcPool

BALANCE_OF: Final = "0x70a08231"
"""The selector of ERC-20's balanceOf(address)."""

MULTICALL: Final = "0xcA11bde05977b3631167028862bE2a173976CA11"
"""Multicall3: many questions in one. Source: mds1/multicall3."""

MOST_HOLDERS: Final = 200
"""Holders per call of `balances_of`: some three million gas, which every provider allows for a call."""

# aggregate((address,bytes)[]) returns the block's number and each answer; one call that reverts reverts all.
_AGGREGATE: Final = "0x252dba42"
_WORD_DIGITS: Final = 64
_ARGUMENT_PADDING: Final = "0" * 24
_ACCOUNTS_AT_ONCE: Final = 25
_HEIGHT: Final[Call] = ("eth_blockNumber", [])


class EvmHoldings:
    """Reads balances on one EVM chain, or Tron, through a pool of its nodes."""

    def __init__(self, spec: ChainSpec, pool: RpcPool, dialect: Dialect) -> None:
        self._tokens: Sequence[TokenSpec] = spec.machine_tokens
        self._pool = pool
        self._dialect = dialect

    @property
    def at_once(self) -> int:
        """Return the number of accounts that fill one or two usual batches, so that a small budget is only slightly exceeded."""
        return _ACCOUNTS_AT_ONCE

    def read(self, accounts: Mapping[bytes, str]) -> Holdings:
        """Read all balances at one block. Raises ChainError."""
        return self._pool.run(lambda node: self._read(node, list(accounts)))

    def _read(self, node: Node, keys: Sequence[bytes]) -> Holdings:
        height = decode.quantity(node.call(*_HEIGHT))
        block = hex(height) if self._dialect.keeps_states else "latest"
        places = [(key, token) for key in keys for token in self._tokens]
        calls = [self._call(key, token, block) for key, token in places]
        answers = ask_all(node, calls)
        if block == "latest" and decode.quantity(node.call(*_HEIGHT)) != height:
            raise ReorgDuringReadError("a block was made while balances were read")
        units: dict[bytes, dict[str, int]] = {key: {} for key in keys}
        for (key, token), answer in zip(places, answers, strict=True):
            units[key][token.symbol] = token.recorded_units(int(decode.word(answer), 16))
        return Holdings(height, units)

    def _call(self, key: bytes, token: TokenSpec, block: str) -> Call:
        return _question(self._dialect.contract(token.address), key, block)


def balances_of(node: Node, token: str, holders: Sequence[bytes], *, height: int) -> list[int]:
    """Return the balances of up to MOST_HOLDERS addresses of a token (0x and hex), as its contract counts them, at a block.

    One request, by Multicall3. Where the chain has none, or the node refuses so large a call, each balance is asked for
    separately, in batches. Raises ChainError.
    """
    calls = [_question(token, holder, hex(height)) for holder in holders]
    try:
        answer = node.call("eth_call", [{"to": MULTICALL, "data": _together(calls)}, hex(height)])
    except RefusedError:
        answer = None
    if (found := _words(answer, len(holders))) is not None:
        return found
    return [int(decode.word(each), 16) for each in ask_all(node, calls)]


def _question(contract: str, holder: bytes, block: str) -> Call:
    return "eth_call", [{"to": contract, "data": f"{BALANCE_OF}{_ARGUMENT_PADDING}{holder.hex()}"}, block]


def _together(calls: Sequence[Call]) -> str:
    from eth_abi.abi import encode  # slow to import, and needed once a day

    asked = [(call["to"], bytes.fromhex(call["data"][2:])) for _, (call, _) in calls]
    return _AGGREGATE + encode(("(address,bytes)[]",), (asked,)).hex()


def _words(answer: Any, count: int) -> list[int] | None:
    """Return the words in aggregate's answer; None if it is not so many, each a word."""
    from eth_abi.abi import decode as decode_abi
    from eth_abi.exceptions import DecodingError

    # Three for the list, three for each of its parts. Of a longer answer the same bytes could be copied for each part.
    if not isinstance(answer, str) or len(answer) != 2 + 3 * (1 + count) * _WORD_DIGITS:
        return None
    try:
        _, told = decode_abi(("uint256", "bytes[]"), bytes.fromhex(answer[2:]))
    except (DecodingError, OverflowError, ValueError):
        return None
    words = [int.from_bytes(word) for word in told if len(word) == _WORD_DIGITS // 2]
    return words if len(words) == count else None
