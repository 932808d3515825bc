"""TON addresses: a workchain and an account, either with flags and a checksum (TEP-2), or raw."""

import base64
import binascii
import re
from typing import Final

from wallets.chains.base import MISTYPED, AddressError

# Two base64 alphabets are in use; no wallet mixes them.
_FRIENDLY: Final = re.compile(r"[A-Za-z0-9_-]{48}|[A-Za-z0-9+/]{48}", re.ASCII)
_RAW: Final = re.compile(r"(0|-1):([0-9a-fA-F]{64})", re.ASCII)
# The first byte of a friendly address.
_BOUNCEABLE: Final = 0x11
_NON_BOUNCEABLE: Final = 0x51
_TESTNET: Final = 0x80
_MASTERCHAIN: Final = b"\xff"


def canonical_address(text: str, *, is_testnet: bool = False) -> str:
    """Return an address bounceable and URL-safe, marked on test networks. Raises AddressError.

    One that is marked for the test network is refused on any other.
    """
    tag, key = _read(text)
    if tag & _TESTNET and not is_testnet:
        raise AddressError("must not be one of TON's test network.")
    return _written(_BOUNCEABLE | (_TESTNET if is_testnet else 0), key)


def address_key(text: str) -> bytes:
    """Return one byte of workchain, signed, then the 32 bytes of the account. Raises AddressError."""
    return _read(text)[1]


def shown_address(text: str) -> str | None:
    """Return an address in non-bounceable form, as wallets show it; None if it is not an address."""
    try:
        tag, key = _read(text)
    except AddressError:
        return None
    return _written(tag & _TESTNET | _NON_BOUNCEABLE, key)


def _written(tag: int, key: bytes) -> str:
    body = bytes([tag]) + key
    return base64.urlsafe_b64encode(body + _checksum(body)).decode()


def _read(text: str) -> tuple[int, bytes]:
    """Return the tag (0 for raw addresses) and the key."""
    if raw := _RAW.fullmatch(text):
        workchain = int(raw[1]).to_bytes(1, "big", signed=True)
        return 0, workchain + bytes.fromhex(raw[2])
    if not _FRIENDLY.fullmatch(text):
        raise AddressError("must be a TON address: 48 characters, or 0: and 64 digits.")
    packed = base64.b64decode(text, altchars=b"-_" if {*text} & {*"-_"} else b"+/")
    body, written = packed[:-2], packed[-2:]
    if _checksum(body) != written:
        raise AddressError(MISTYPED)
    if body[0] & ~_TESTNET not in {_BOUNCEABLE, _NON_BOUNCEABLE}:
        raise AddressError("must be a TON address.")
    if body[1] not in {0x00, 0xFF}:
        raise AddressError("must be a TON address of workchain 0 or -1.")
    return body[0], body[1:]


def _checksum(body: bytes) -> bytes:
    """Return CRC16 with polynomial 0x1021, starting from zero (TEP-2)."""
    return binascii.crc_hqx(body, 0).to_bytes(2, "big")


def refuse_masterchain(key: bytes) -> None:
    """Raise AddressError for an owner of another workchain, to which jetton wallets refuse to send (TEP-74), and for burn addresses."""
    if key.startswith(_MASTERCHAIN):
        raise AddressError("must be of workchain 0: the masterchain holds no tokens.")
    if len(set(key[1:].hex())) == 1:
        raise AddressError("must not be a burn address: money sent there is lost.")
