"""Tron addresses in base58; other spellings are refused with a hint."""

import base58
import pytest

from tests.wallets.chains.examples import EVM, SOLANA, TRON
from wallets.chains.base import AddressError
from wallets.chains.tron.family import TRON_FAMILY
from wallets.forwarders.addresses import create2_address, keccak

TRON_HEX = "41a614f803b6fd780986a42c78ec9c7f77e6ded13c"


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        (TRON, TRON_HEX[2:]),
        ("TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf", "eca9bc828a3005b9a3b909f2cc5c2a54794de05f"),
        ("TG3XXyExBkPp9nzdajDZsozEu4BkaSJozs", "42a1e39aefa49290f2b3f9ed688d7cecf86cd6e0"),
    ],
)
def test_a_tron_address_is_its_base58_and_its_key_the_twenty_bytes_of_contracts(text: str, digits: str) -> None:
    assert TRON_FAMILY.canonical_address(text) == text
    assert TRON_FAMILY.address_key(text).hex() == digits


@pytest.mark.parametrize("text", [TRON_HEX, TRON_HEX.upper(), "0x" + TRON_HEX, TRON_HEX[2:], EVM])
def test_a_tron_address_in_hexadecimal_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(AddressError, match=r"starting with T, not in hexadecimal"):
        TRON_FAMILY.canonical_address(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6s", "mistyped"),
        (TRON[:-1] + "u", "mistyped"),
        (TRON.replace("N", "n"), "mistyped"),
        (TRON[:-1], "33 more characters"),
        (TRON.replace("q", "0"), "33 more characters"),
        (SOLANA, "33 more characters"),
    ],
)
def test_mistyped_tron_addresses_are_refused(text: str, message: str) -> None:
    with pytest.raises(AddressError, match=message):
        TRON_FAMILY.canonical_address(text)


def test_trons_create2_is_another_so_no_deposit_address_is_shown_there() -> None:
    """TIP-26 puts 0x41 where EIP-1014 has 0xff: what we compute could never be deployed on Tron, nor emptied."""
    deployer = bytes.fromhex("deadbeef" + "00" * 16)
    on_tron = keccak(b"\x41" + deployer + bytes(32) + keccak(b"\0"))[12:]
    shown = base58.b58encode_check(b"\x41" + on_tron).decode()
    assert shown == "TDmMBaJ8s3pjwH6voNuYDQVMhgQNsMgaL6"
    assert TRON_FAMILY.address_key(shown) == on_tron
    assert on_tron != create2_address(deployer, salt=bytes(32), code_hash=keccak(b"\0"))
