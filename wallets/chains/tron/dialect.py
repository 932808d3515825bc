"""Tron's JSON-RPC dialect: java-tron's `/jsonrpc` is like Ethereum's, with its own addresses and limits.

Contracts use 20 bytes of an address. People see base58 of them with the prefix byte 0x41 and a checksum.
"""

from typing import Final

import base58

from wallets.chains.evm.decode import PADDING
from wallets.chains.evm.dialect import Dialect
from wallets.chains.tron.address import address_key

KEY_HEADER: Final = "TRON-PRO-API-KEY"
"""The header of a TronGrid key."""

_PREFIX: Final = b"\x41"


def write_address(key: bytes) -> str:
    """Return 20 bytes as the address that people see."""
    return base58.b58encode_check(_PREFIX + key).decode()


def contract(address: str) -> str:
    """Return an address in the nodes' form: java-tron's JSON-RPC refuses base58."""
    return f"0x{address_key(address).hex()}"


TRON: Final = Dialect(
    write_address=write_address,
    contract=contract,
    # Contracts that do not clean their arguments keep the prefix byte.
    paddings=(PADDING, PADDING[:-2] + "41"),
    tx_prefix="",
    # java-tron's defaults: node.jsonrpc.maxSubTopics, maxBlockRange.
    most_topics=1_000,
    most_blocks=5_000,
    # `finalized` is the solidified block: nineteen of the 27 block producers made it or a later one.
    tag_suffices=True,
    least_tag_lag=18,
    # java-tron's eth_call accepts no block except `latest`.
    keeps_states=False,
)
"""java-tron 4.7 and later; `pending` and `safe` are refused there and never asked for."""
