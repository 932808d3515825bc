"""Solana addresses: a public key's 32 bytes in base58."""

import re
from typing import Final

import base58

from wallets.chains.base import AddressError

_WRITTEN: Final = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}", re.ASCII)
_KEY_BYTES: Final = 32

# Solana's own programs and sysvars spell their purpose and are filled with 1: Stake111..., SysvarC1ock111...
_NATIVE: Final = re.compile("1{8}")
_PROGRAMS: Final = {
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
    "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
    "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL",
    "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
    "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo",
}


def canonical_address(text: str) -> str:
    """Return an address; it has only one spelling. Raises AddressError."""
    address_key(text)
    return text


def address_key(text: str) -> bytes:
    """Return the 32 bytes of the public key. Raises AddressError."""
    key = base58.b58decode(text) if _WRITTEN.fullmatch(text) else b""
    if len(key) != _KEY_BYTES:
        raise AddressError("must be a Solana address: 32 bytes in base58.")
    return key


def refuse_program(address: str) -> None:
    """Raise AddressError for Solana's own programs."""
    if address in _PROGRAMS or _NATIVE.search(address):
        raise AddressError("must not be a program of Solana: money sent there is lost.")
