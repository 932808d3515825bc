"""Addresses people type: taken in every spelling their chain allows, refused when a character is wrong.

The addresses are public ones: token contracts of each chain, and the examples of the standards themselves.
"""

import base64
import binascii
import time
from contextlib import suppress

import base58
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wallets.addresses import shown_address
from wallets.chains.base import AddressError
from wallets.chains.evm.address import address_key as evm_key
from wallets.chains.evm.family import EVM_FAMILY
from wallets.chains.family import ChainFamily
from wallets.chains.registry import FAMILIES
from wallets.chains.solana.family import SOLANA_FAMILY
from wallets.chains.ton.family import TON_FAMILY
from wallets.chains.tron.family import TRON_FAMILY
from wallets.forwarders.addresses import (
    create2_address,
    keccak,
)

EVM = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
TRON = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
TRON_HEX = "41a614f803b6fd780986a42c78ec9c7f77e6ded13c"
SOLANA = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
TON = "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs"
TON_UQ = "UQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_p0p"
TON_RAW = "0:b113a994b5024a16719f69139328eb759596c38a25f59028b146fecdc3621dfe"
TON_TESTNET = "kQD0GKBM8ZbryVk2aESmzfU6b9b_8era_IkvBSELujFZPsyy"
OF = {EVM_FAMILY: EVM, TRON_FAMILY: TRON, SOLANA_FAMILY: SOLANA, TON_FAMILY: TON}


def friendly(tag: int, workchain: int, account: bytes = bytes(range(32))) -> str:
    """A TON address with a right checksum, whatever it says."""
    body = bytes([tag, workchain]) + account
    crc = binascii.crc_hqx(body, 0).to_bytes(2, "big")
    return base64.urlsafe_b64encode(body + crc).decode()


@pytest.mark.parametrize(
    "published",
    [
        EVM,
        "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
        "0xdAC17F958D2ee523a2206206994597C13D831ec7",
        "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238",
        "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
        "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
        "0xc2132D05D31c914a87C6611C10748AEb04B58e8F",
        "0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582",
    ],
)
def test_evm_addresses_of_any_case_are_written_with_their_checksum(
    published: str,
) -> None:
    for text in (published, published.lower(), "0x" + published[2:].upper()):
        assert EVM_FAMILY.canonical_address(text) == published
        assert evm_key(text) == bytes.fromhex(published[2:])


@pytest.mark.parametrize(
    "text",
    [
        "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02914",
        EVM.replace("A", "a", 1),
        EVM[:-1],
        EVM + "0",
        EVM[2:],
        "0X" + EVM[2:],
        EVM.replace("5", "g"),
        f" {EVM}",
        f"{EVM}\n",
        "0x" + "0" * 40,
        "",
    ],
)
def test_mistyped_evm_addresses_are_refused(text: str) -> None:
    with pytest.raises(AddressError):
        evm_key(text)


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        (TRON, TRON_HEX[2:]),
        (
            "TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf",
            "eca9bc828a3005b9a3b909f2cc5c2a54794de05f",
        ),
        (
            "TG3XXyExBkPp9nzdajDZsozEu4BkaSJozs",
            "42a1e39aefa49290f2b3f9ed688d7cecf86cd6e0",
        ),
    ],
)
def test_a_tron_address_is_its_base58_and_its_key_the_twenty_bytes_of_contracts(
    text: str, digits: str
) -> None:
    assert TRON_FAMILY.canonical_address(text) == text
    assert TRON_FAMILY.address_key(text).hex() == digits


@pytest.mark.parametrize(
    "text", [TRON_HEX, TRON_HEX.upper(), "0x" + TRON_HEX, TRON_HEX[2:], EVM]
)
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


@pytest.mark.parametrize(
    "text", [SOLANA, "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"]
)
def test_a_solana_address_is_the_base58_of_its_key(text: str) -> None:
    assert SOLANA_FAMILY.canonical_address(text) == text
    assert base58.b58encode(SOLANA_FAMILY.address_key(text)).decode() == text


@pytest.mark.parametrize(
    "text",
    [
        SOLANA[:-4],
        "1" + SOLANA,
        "z" * 44,
        "1" * 33,
        SOLANA.replace("F", "0"),
        SOLANA.replace("F", "l"),
        EVM,
    ],
)
def test_what_is_not_exactly_32_bytes_of_base58_is_no_solana_address(text: str) -> None:
    with pytest.raises(AddressError, match="32 bytes"):
        SOLANA_FAMILY.canonical_address(text)


@pytest.mark.parametrize(
    "text",
    [TON, TON_UQ, TON_RAW, "0:" + TON_RAW[2:].upper(), TON.replace("_", "/")],
)
def test_a_ton_address_has_one_form_and_one_key_for_all_its_spellings(
    text: str,
) -> None:
    assert TON_FAMILY.canonical_address(text) == TON
    key = TON_FAMILY.address_key(text)
    assert key == b"\0" + bytes.fromhex(TON_RAW[2:])


def test_a_non_bounceable_ton_address_is_kept_bounceable() -> None:
    text = "UQDYzZmfsrGzhObKJUw4gzdeIxEai3jAFbiGKGwxvxHinf4K"
    canonical = TON_FAMILY.canonical_address(text)
    assert canonical == "EQDYzZmfsrGzhObKJUw4gzdeIxEai3jAFbiGKGwxvxHinaPP"


@pytest.mark.parametrize("text", [EVM, SOLANA, TRON, "", "\x00", "A" * 48, "EQ"])
def test_any_other_text_is_shown_as_it_is(text: str) -> None:
    assert shown_address(text) == text


def test_an_address_marked_for_tons_test_network_is_good_there_alone() -> None:
    for text in (TON_TESTNET, friendly(0xD1, 0)):
        with pytest.raises(AddressError, match="test network"):
            TON_FAMILY.canonical_address(text)
    written = TON_FAMILY.canonical_address(TON_TESTNET, is_testnet=True)
    assert written == TON_TESTNET
    # One without the mark is of every network (TEP-2).
    marked = TON_FAMILY.canonical_address(TON, is_testnet=True)
    assert marked.startswith("kQ")
    keys = {TON_FAMILY.address_key(text) for text in (marked, TON)}
    assert len(keys) == 1


def test_an_address_of_tons_masterchain_is_one() -> None:
    key = b"\xff" + bytes.fromhex(TON_RAW[2:])
    text = TON_FAMILY.canonical_address("-1:" + TON_RAW[2:])
    assert text.startswith("Ef")
    assert TON_FAMILY.address_key(text) == key


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("UQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDY", "mistyped"),
        (TON.replace("f", "F"), "mistyped"),
        (TON_RAW[:-1], "48 characters"),
        ("1" + TON_RAW[1:], "48 characters"),
        (TON[:-1], "48 characters"),
        (TON.replace("E6", "+6"), "48 characters"),
        (friendly(0x12, 0), "must be a TON address"),
        (friendly(0x11, 1), "workchain"),
        (EVM, "48 characters"),
    ],
)
def test_mistyped_ton_addresses_are_refused(text: str, message: str) -> None:
    with pytest.raises(AddressError, match=message):
        TON_FAMILY.canonical_address(text)


@pytest.mark.parametrize("family", FAMILIES)
def test_one_wrong_character_is_noticed_wherever_the_chain_has_a_checksum(
    family: ChainFamily,
) -> None:
    right = OF[family]
    swapped = [
        right[:i] + right[i].swapcase() + right[i + 1 :] for i in range(len(right))
    ]
    taken = []
    for text in {*swapped} - {right}:
        with suppress(AddressError):
            taken.append(family.canonical_address(text))
    # Solana's addresses carry none: most slips make another address, which nobody can tell.
    assert bool(taken) == (family is SOLANA_FAMILY)


HOSTILE = [
    "",
    "\0",
    "\ud800",
    EVM[:-1] + "\0",
    EVM + "\n",
    TRON + "\n",
    SOLANA + " ",
    TON + "\n",
    "0x" + "\u0661" * 40,
    "0x" + "\uff11" * 40,
    # Cyrillic, Greek and full-width letters that look like ours.
    TRON.replace("T", "\u0422", 1),
    TRON.replace("T", "\u03a4", 1),
    SOLANA.replace("E", "\u0415", 1),
    TON.replace("E", "\uff25", 1),
    "0:" + "\u0660" * 64,
    "\u2212" + "1:" + TON_RAW[2:],
    "0x" + "f" * 10_000,
    "T" + "z" * 10_000,
    "1" * 10_000,
    "A" * 10_000,
    "0:" + "0" * 10_000,
    "=" * 48,
    "A" * 47 + "=",
]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_typed_raises_another_error_or_takes_long(
    text: str, family: ChainFamily
) -> None:
    started = time.perf_counter()
    for ask in (family.canonical_address, family.address_key):
        with pytest.raises(AddressError):
            ask(text)
    assert time.perf_counter() - started < 1.0


@given(st.text() | st.from_regex(r"\A[1-9A-HJ-NP-Za-km-z]{32,48}\Z"))
def test_whatever_is_taken_has_a_form_that_is_taken_again_and_stays(text: str) -> None:
    for family in FAMILIES:
        try:
            canonical = family.canonical_address(text)
        except AddressError:
            continue
        assert family.canonical_address(canonical) == canonical
        key = family.address_key(text)
        assert family.address_key(canonical) == key


def test_trons_create2_is_another_so_no_deposit_address_is_shown_there() -> None:
    """TIP-26 puts 0x41 where EIP-1014 has 0xff: what we compute could never be deployed on Tron, nor emptied."""
    deployer = bytes.fromhex("deadbeef" + "00" * 16)
    on_tron = keccak(b"\x41" + deployer + bytes(32) + keccak(b"\0"))[12:]
    shown = base58.b58encode_check(b"\x41" + on_tron).decode()
    assert shown == "TDmMBaJ8s3pjwH6voNuYDQVMhgQNsMgaL6"
    assert TRON_FAMILY.address_key(shown) == on_tron
    assert on_tron != create2_address(deployer, salt=bytes(32), code_hash=keccak(b"\0"))
