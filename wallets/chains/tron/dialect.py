"""Tron as its nodes tell it: java-tron's `/jsonrpc` speaks Ethereum's language, with addresses and limits of its own.

Contracts know 20 bytes of an address. A person sees base58 of them with the prefix byte 0x41 and a checksum.
"""

from typing import Final

import base58

from wallets.chains.evm.decode import PADDING
from wallets.chains.evm.dialect import Dialect
from wallets.chains.tron.address import address_key

KEY_HEADER: Final = "TRON-PRO-API-KEY"
"""Where TronGrid reads a key."""

_PREFIX: Final = b"\x41"


def write_address(key: bytes) -> str:
    """Return 20 bytes as the address people see."""
    return base58.b58encode_check(_PREFIX + key).decode()


def contract(address: str) -> str:
    """Return an address as nodes write it: java-tron's JSON-RPC refuses base58."""
    return f"0x{address_key(address).hex()}"


TRON: Final = Dialect(
    write_address=write_address,
    contract=contract,
    # Contracts that do not clean their arguments pass the prefix byte on.
    paddings=(PADDING, PADDING[:-2] + "41"),
    tx_prefix="",
    # java-tron's defaults: node.jsonrpc.maxSubTopics, maxBlockRange.
    most_topics=1_000,
    most_blocks=5_000,
    # `finalized` is the solidified block: nineteen of the 27 who make blocks made it or one above it.
    tag_suffices=True,
    least_tag_lag=18,
    # java-tron's eth_call takes no block but `latest`.
    keeps_states=False,
)
"""java-tron 4.7 and later; `pending` and `safe` are refused there and never asked for."""
