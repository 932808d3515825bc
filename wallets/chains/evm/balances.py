"""Balances on EVM chains and Tron, read from the token contracts, all at one block."""

from collections.abc import Mapping, Sequence
from typing import Final

from wallets.chains.base import Holdings, ReorgDuringReadError
from wallets.chains.evm import decode
from wallets.chains.evm.decode import Dialect
from wallets.chains.family import ChainSpec, TokenSpec
from wallets.chains.rpc.client import Call, Node, ask_all
from wallets.chains.rpc.pool import RpcPool

BALANCE_OF: Final = "0x70a08231"
"""The selector of ERC-20's balanceOf(address)."""

_ARGUMENT_PADDING: Final = "0" * 24
_ACCOUNTS_AT_ONCE: Final = 25
_HEIGHT: Final[Call] = ("eth_blockNumber", [])


class EvmHoldings:
    """Reads balances on one EVM chain, or Tron, through a pool of its nodes."""

    def __init__(self, spec: ChainSpec, pool: RpcPool, dialect: Dialect) -> None:
        self._tokens: Sequence[TokenSpec] = spec.accepted_tokens
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
            units[key][token.symbol] = int(decode.word(answer), 16)
        return Holdings(height, units)

    def _call(self, key: bytes, token: TokenSpec, block: str) -> Call:
        question = {"to": self._dialect.contract(token.address), "data": f"{BALANCE_OF}{_ARGUMENT_PADDING}{key.hex()}"}
        return "eth_call", [question, block]
