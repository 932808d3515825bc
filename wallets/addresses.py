"""Addresses of every chain: checked by the chain's own checksum, and kept in one canonical form.

Whether one is a good place for a merchant's money is another question: see `wallets.receiving.traps`.
"""

import base64
import binascii
import re
from functools import lru_cache
from typing import Final

import base58

from wallets.chains.specs import Family
from wallets.forwarders.addresses import checksum

_EVM: Final = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_TRON: Final = re.compile(r"T[1-9A-HJ-NP-Za-km-z]{33}", re.ASCII)
_TRON_HEX: Final = re.compile(r"(?:0x)?(?:41)?[0-9a-fA-F]{40}", re.ASCII)
_SOLANA: Final = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}", re.ASCII)
# Two alphabets of base64 are in use; no wallet mixes them.
_TON_FRIENDLY: Final = re.compile(r"[A-Za-z0-9_-]{48}|[A-Za-z0-9+/]{48}", re.ASCII)
_TON_RAW: Final = re.compile(r"(0|-1):([0-9a-fA-F]{64})", re.ASCII)

# The first byte of a friendly TON address (TEP-2).
_TON_BOUNCEABLE: Final = 0x11
_TON_NON_BOUNCEABLE: Final = 0x51
_TON_TESTNET: Final = 0x80
# The first byte of every address on Tron's main and test networks.
_TRON_PREFIX: Final = b"\x41"
_SOLANA_KEY_BYTES: Final = 32
_REMEMBERED: Final = 4_096

_MISTYPED: Final = "has a wrong checksum: a character was mistyped."


class AddressError(ValueError):
    """The text is no address of this chain, or its checksum says it was mistyped."""


def canonical_address(text: str, *, family: Family, is_testnet: bool = False) -> str:
    """Return the address in the one form in which it is stored and compared. Raises AddressError.

    EVM: EIP-55. Tron: base58 with checksum. Solana: base58. TON: bounceable and URL-safe, marked on test networks. An
    address that is marked for TON's test network is refused on any other.
    """
    match family:
        case Family.EVM:
            return _evm(text)[1]
        case Family.TRON:
            _tron_key(text)
            return text
        case Family.SOLANA:
            _solana_key(text)
            return text
        case Family.TON:
            return _ton(text, is_testnet=is_testnet)


def shown_address(address: str) -> str:
    """Return an address as people's wallets show it: on TON without the mark of a contract (non-bounceable), elsewhere as it is.

    For people only: what is stored, compared and told by the API is canonical. Any text may come, and is returned as it is.
    """
    try:
        tag, key = _ton_key(address)
    except AddressError:
        return address
    return _ton_written(tag & _TON_TESTNET | _TON_NON_BOUNCEABLE, key)


def address_key(text: str, *, family: Family) -> bytes:
    """Return an address as the bytes that recipients are joined by, the same for every spelling. Raises AddressError.

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
            return _ton_key(text)[1]


def evm_key(text: str) -> bytes:
    """Return an EVM address as 20 bytes. Raises AddressError on a wrong checksum, and for the zero address.

    One case throughout carries no checksum and is taken as it is (EIP-55).
    """
    return _evm(text)[0]


# Hashing what merchants are paid at costs more than all else that is read of a request.
@lru_cache(maxsize=_REMEMBERED)
def _evm(text: str) -> tuple[bytes, str]:
    """The key, and the address in canonical form."""
    if not _EVM.fullmatch(text):
        raise AddressError("must be 0x and 40 hexadecimal digits.")
    key = bytes.fromhex(text[2:])
    if not any(key):
        raise AddressError("must not be the zero address: what it gets is lost.")
    digits, written = text[2:], checksum(key)
    if text != written and digits not in {digits.lower(), digits.upper()}:
        raise AddressError(_MISTYPED)
    return key, written


def _tron_key(text: str) -> bytes:
    if _TRON_HEX.fullmatch(text):
        raise AddressError(
            "must be a Tron address as wallets show it, starting with T, not in hexadecimal."
        )
    if not _TRON.fullmatch(text):
        raise AddressError("must be a Tron address: T and 33 more characters.")
    try:
        payload = base58.b58decode_check(text)
    except ValueError:
        raise AddressError(_MISTYPED) from None
    if payload[:1] != _TRON_PREFIX:
        raise AddressError("must be a Tron address.")
    return payload[1:]


def _solana_key(text: str) -> bytes:
    key = base58.b58decode(text) if _SOLANA.fullmatch(text) else b""
    if len(key) != _SOLANA_KEY_BYTES:
        raise AddressError("must be a Solana address: 32 bytes in base58.")
    return key


def _ton(text: str, *, is_testnet: bool) -> str:
    tag, key = _ton_key(text)
    if tag & _TON_TESTNET and not is_testnet:
        raise AddressError("must not be one of TON's test network.")
    return _ton_written(_TON_BOUNCEABLE | (_TON_TESTNET if is_testnet else 0), key)


def _ton_written(tag: int, key: bytes) -> str:
    body = bytes([tag]) + key
    return base64.urlsafe_b64encode(body + _ton_checksum(body)).decode()


def _ton_key(text: str) -> tuple[int, bytes]:
    """The tag, which raw addresses have none of (0), and the key."""
    if raw := _TON_RAW.fullmatch(text):
        workchain = int(raw[1]).to_bytes(1, "big", signed=True)
        return 0, workchain + bytes.fromhex(raw[2])
    if not _TON_FRIENDLY.fullmatch(text):
        raise AddressError("must be a TON address: 48 characters, or 0: and 64 digits.")
    packed = base64.b64decode(text, altchars=b"-_" if {*text} & {*"-_"} else b"+/")
    body, written = packed[:-2], packed[-2:]
    if _ton_checksum(body) != written:
        raise AddressError(_MISTYPED)
    if body[0] & ~_TON_TESTNET not in {_TON_BOUNCEABLE, _TON_NON_BOUNCEABLE}:
        raise AddressError("must be a TON address.")
    if body[1] not in {0x00, 0xFF}:
        raise AddressError("must be a TON address of workchain 0 or -1.")
    return body[0], body[1:]


def _ton_checksum(body: bytes) -> bytes:
    """CRC16 with polynomial 0x1021, starting from zero (TEP-2)."""
    return binascii.crc_hqx(body, 0).to_bytes(2, "big")
