"""Tron's addresses, written and read without any help from the code under test."""

import base58
from eth_utils.address import to_checksum_address

PREFIX = b"\x41"


def to_base58(address: str) -> str:
    """An address as people see it, of 0x and 40 hexadecimal digits."""
    return base58.b58encode_check(PREFIX + bytes.fromhex(address[2:])).decode()


def to_hex(address: str) -> str:
    """An address as the EVM's tools want it, of base58. Raises ValueError when its checksum is wrong."""
    payload = base58.b58decode_check(address)
    if len(payload) != 21 or payload[:1] != PREFIX:
        raise ValueError(address)
    return to_checksum_address(payload[1:])
