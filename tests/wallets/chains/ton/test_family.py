"""What TON's family answers about hashes, shown addresses and traps."""

import base64

import pytest

from tests.wallets.chains.examples import TON, TON_RAW
from wallets.chains.base import AddressError
from wallets.chains.ton.family import TON_FAMILY

# Its base64 has both characters in which the two alphabets differ.
HASH = b"\xfb\xef\xbe\xff" * 8


@pytest.mark.parametrize(
    "text",
    [
        HASH.hex(),
        f"0x{HASH.hex().upper()}",
        base64.b64encode(HASH).decode(),
        base64.urlsafe_b64encode(HASH).decode(),
        base64.b64encode(HASH).decode().rstrip("="),
    ],
)
def test_a_hash_is_read_in_hexadecimal_and_both_alphabets_of_base64(text: str) -> None:
    assert TON_FAMILY.transaction_hash(text) == HASH.hex()


@pytest.mark.parametrize(
    # The last character of the second has bits that nothing uses.
    "text",
    ["", base64.b64encode(HASH).decode()[:-2] + "9=", HASH.hex()[:-1], TON],
)
def test_what_is_not_32_bytes_is_no_hash(text: str) -> None:
    assert TON_FAMILY.transaction_hash(text) is None


def test_people_see_an_address_without_the_mark_of_a_contract() -> None:
    shown = TON_FAMILY.shown_address(TON)
    assert shown == "UQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_p0p"
    assert TON_FAMILY.address_key(shown) == TON_FAMILY.address_key(TON)
    assert TON_FAMILY.shown_address("no address") is None


def test_the_masterchain_holds_no_tokens() -> None:
    TON_FAMILY.refuse_trap(TON)
    masterchain = TON_FAMILY.canonical_address("-1:" + TON_RAW[2:])
    with pytest.raises(AddressError, match="masterchain"):
        TON_FAMILY.refuse_trap(masterchain)
