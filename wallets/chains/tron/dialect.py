"""Tron's addresses, and its dialect of JSON-RPC: java-tron's `/jsonrpc` is like Ethereum's, with its own limits.

Contracts use 20 bytes of an address. People see base58 of them with a prefix byte and a checksum.
"""

import re
from typing import Final

import base58

from wallets.chains.base import MISTYPED, AddressError
from wallets.chains.evm.decode import PADDING, Dialect

KEY_HEADER: Final = "TRON-PRO-API-KEY"
"""The header of a TronGrid key."""

PREFIX: Final = b"\x41"
"""The first byte of every address on Tron's main and test networks."""

_WRITTEN: Final = re.compile(r"T[1-9A-HJ-NP-Za-km-z]{33}", re.ASCII)


_HEX: Final = re.compile(r"(?:0x)?(?:41)?[0-9a-fA-F]{40}", re.ASCII)


def canonical_address(text: str) -> str:
    """Return an address; it has only one spelling. Raises AddressError."""
    address_key(text)
    return text


def address_key(text: str) -> bytes:
    """Return the 20 bytes that contracts use. Raises AddressError."""
    if _HEX.fullmatch(text):
        raise AddressError("must be a Tron address as wallets show it, starting with T, not in hexadecimal.")
    if not _WRITTEN.fullmatch(text):
        raise AddressError("must be a Tron address: T and 33 more characters.")
    try:
        payload = base58.b58decode_check(text)
    except ValueError:
        raise AddressError(MISTYPED) from None
    if payload[:1] != PREFIX:
        raise AddressError("must be a Tron address.")
    return payload[1:]


def write_address(key: bytes) -> str:
    """Return 20 bytes as the address that people see."""
    return base58.b58encode_check(PREFIX + key).decode()


def contract(address: str) -> str:
    """Return an address in the nodes' form: java-tron's JSON-RPC refuses base58."""
    return f"0x{address_key(address).hex()}"


TRON_DIALECT: Final = Dialect(
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
