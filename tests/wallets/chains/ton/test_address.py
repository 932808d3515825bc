"""TON addresses: one form and one key for all spellings."""

import base64
import binascii

import pytest

from tests.wallets.chains.examples import EVM, TON, TON_RAW
from wallets.chains.base import AddressError
from wallets.chains.ton.family import TON_FAMILY

TON_UQ = "UQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_p0p"


TON_TESTNET = "kQD0GKBM8ZbryVk2aESmzfU6b9b_8era_IkvBSELujFZPsyy"


def friendly(tag: int, workchain: int, account: bytes = bytes(range(32))) -> str:
    """A TON address with a right checksum, whatever it says."""
    body = bytes([tag, workchain]) + account
    crc = binascii.crc_hqx(body, 0).to_bytes(2, "big")
    return base64.urlsafe_b64encode(body + crc).decode()


@pytest.mark.parametrize("text", [TON, TON_UQ, TON_RAW, "0:" + TON_RAW[2:].upper(), TON.replace("_", "/")])
def test_a_ton_address_has_one_form_and_one_key_for_all_its_spellings(text: str) -> None:
    assert TON_FAMILY.canonical_address(text) == TON
    key = TON_FAMILY.address_key(text)
    assert key == b"\0" + bytes.fromhex(TON_RAW[2:])


def test_a_non_bounceable_ton_address_is_kept_bounceable() -> None:
    text = "UQDYzZmfsrGzhObKJUw4gzdeIxEai3jAFbiGKGwxvxHinf4K"
    canonical = TON_FAMILY.canonical_address(text)
    assert canonical == "EQDYzZmfsrGzhObKJUw4gzdeIxEai3jAFbiGKGwxvxHinaPP"


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
