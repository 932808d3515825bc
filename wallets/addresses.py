"""Addresses people type, checked with the chain's own checksum and brought into one form.

The libraries of chains other than Ethereum's kin are slow to import, so each is imported when first needed.
"""

import re
from typing import Final

from wallets.chains.specs import Family
from wallets.forwarder import checksum

_EVM: Final = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_TRON: Final = re.compile(r"T[1-9A-HJ-NP-Za-km-z]{33}", re.ASCII)
_SOLANA: Final = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}", re.ASCII)
_TON: Final = re.compile(r"[A-Za-z0-9_+/-]{48}|(?:0|-1):[0-9a-fA-F]{64}", re.ASCII)


class AddressError(ValueError):
    """The text is no address of this chain, or its checksum says it was mistyped."""


def canonical_address(text: str, *, family: Family, is_testnet: bool = False) -> str:
    """Return the address in the one form in which it is stored and compared. Raises AddressError.

    EVM: EIP-55. Tron: base58 with checksum. Solana: base58. TON: bounceable and URL-safe, marked on test networks.
    """
    match family:
        case Family.EVM:
            return checksum(evm_key(text))
        case Family.TRON:
            return _tron(text)
        case Family.SOLANA:
            return _solana(text)
        case Family.TON:
            return _ton(text, is_testnet=is_testnet)


def address_key(text: str, *, family: Family) -> bytes:
    """Return a canonical address as the bytes that recipients are joined by. Raises AddressError.

    EVM and Tron: the 20 bytes a contract knows. Solana: the 32 bytes of the public key. TON: one byte of workchain, signed,
    then the 32 bytes of the account.
    """
    match family:
        case Family.EVM:
            return evm_key(text)
        case Family.TRON:
            return _tron_key(text)
        case Family.SOLANA:
            return _solana_key(text)
        case Family.TON:
            return _ton_key(text)


def evm_key(text: str) -> bytes:
    """Return an EVM address as 20 bytes. Raises AddressError on a wrong checksum, and for the zero address.

    One case throughout carries no checksum and is taken as it is (EIP-55).
    """
    if not _EVM.fullmatch(text):
        raise AddressError("must be 0x and 40 hexadecimal digits.")
    key = bytes.fromhex(text[2:])
    if not any(key):
        raise AddressError("must not be the zero address: what it gets is lost.")
    digits = text[2:]
    if digits not in {digits.lower(), digits.upper()} and text != checksum(key):
        raise AddressError("has a wrong checksum: a character was mistyped.")
    return key


def _tron(text: str) -> str:
    from tronpy.keys import to_hex_address

    if not _TRON.fullmatch(text):
        raise AddressError("must be a Tron address, starting with T.")
    try:
        is_tron = to_hex_address(text).startswith("41")
    except ValueError:
        raise AddressError("has a wrong checksum: a character was mistyped.") from None
    if not is_tron:
        raise AddressError("must be a Tron address.")
    return text


def _tron_key(text: str) -> bytes:
    from tronpy.keys import to_hex_address

    return bytes.fromhex(to_hex_address(text)[2:])


def _solana(text: str) -> str:
    from solders.pubkey import Pubkey

    if not _SOLANA.fullmatch(text):
        raise AddressError("must be a Solana address.")
    try:
        return str(Pubkey.from_string(text))
    except ValueError:
        raise AddressError("must be a Solana address.") from None


def _solana_key(text: str) -> bytes:
    from solders.pubkey import Pubkey

    return bytes(Pubkey.from_string(text))


def _ton(text: str, *, is_testnet: bool) -> str:
    from tonsdk.utils import Address, InvalidAddressError

    if not _TON.fullmatch(text):
        raise AddressError("must be a TON address.")
    try:
        address = Address(text)
    except (InvalidAddressError, ValueError):
        raise AddressError("must be a TON address.") from None
    written: str = address.to_string(True, True, True, is_testnet)
    return written


def _ton_key(text: str) -> bytes:
    from tonsdk.utils import Address

    address = Address(text)
    return int(address.wc).to_bytes(1, "big", signed=True) + bytes(address.hash_part)
