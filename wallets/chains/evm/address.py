"""Addresses of EVM chains: 20 bytes, written with the checksum of EIP-55."""

import re
from functools import lru_cache
from typing import Final

from wallets.chains.base import MISTYPED, AddressError
from wallets.forwarders.addresses import DETERMINISTIC_DEPLOYER, FACTORY_ADDRESS, IMPLEMENTATION_ADDRESS, checksum

_WRITTEN: Final = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_REMEMBERED: Final = 4_096

_GATEWAY_CONTRACTS: Final = {FACTORY_ADDRESS, IMPLEMENTATION_ADDRESS, DETERMINISTIC_DEPLOYER}
# Precompiled contracts and reserved addresses have the lowest numbers, Tron's up to 0x10000ff.
_HIGHEST_RESERVED: Final = 0xFFFF_FFFF


def canonical_address(text: str) -> str:
    """Return an address with its checksum (EIP-55). Raises AddressError."""
    return _read(text)[1]


def address_key(text: str) -> bytes:
    """Return an EVM address as 20 bytes. Raises AddressError on a wrong checksum, and for the zero address.

    Text in only one case has no checksum and is accepted as it is (EIP-55).
    """
    return _read(text)[0]


# Cached: hashing merchants' addresses costs more than the rest of parsing a request.
@lru_cache(maxsize=_REMEMBERED)
def _read(text: str) -> tuple[bytes, str]:
    """Return the key, and the address in canonical form."""
    if not _WRITTEN.fullmatch(text):
        raise AddressError("must be 0x and 40 hexadecimal digits.")
    key = bytes.fromhex(text[2:])
    if not any(key):
        raise AddressError("must not be the zero address: money sent there is lost.")
    digits, written = text[2:], checksum(key)
    if text != written and digits not in {digits.lower(), digits.upper()}:
        raise AddressError(MISTYPED)
    return key, written


def refuse_contract(key: bytes) -> None:
    """Raise AddressError for our contracts and the network's: money sent there is lost."""
    if key in _GATEWAY_CONTRACTS:
        raise AddressError("must not be a contract of this gateway.")
    if int.from_bytes(key, "big") <= _HIGHEST_RESERVED:
        raise AddressError("must not be one that the network keeps for itself.")
    if len(set(key.hex())) == 1:
        raise AddressError("must not be a burn address: money sent there is lost.")
