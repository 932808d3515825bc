"""Tron addresses: 20 bytes, written in base58 with a prefix and a checksum."""

import re
from typing import Final

import base58

from wallets.chains.base import MISTYPED, AddressError

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
