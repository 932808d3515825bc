"""Why addresses are read by our own code (docs/adr/0021): what the chains' libraries let pass. Where one fails, read that again."""

from collections.abc import Callable

import pytest
from eth_utils.address import to_checksum_address
from tonsdk.utils import Address

from wallets.addresses import AddressError, canonical_address
from wallets.chains.specs import Family
from wallets.chains.tron.keys import _tronpy

to_base58check = _tronpy.keys.to_base58check_address

LET_PASS: list[tuple[Family, Callable[[str], object], str]] = [
    # One letter of a right checksum in another case.
    (Family.EVM, to_checksum_address, "0xA0Ee7A142d267C1f36714E4a8F75612F20a79720"),
    (Family.TRON, to_base58check, "41a0ee7a142d267c1f36714e4a8f75612f20a79720"),
    (Family.TON, Address, "\N{ARABIC-INDIC DIGIT ZERO}:" + "1" * 64),
    (Family.TON, Address, "00:" + "1" * 64),
]


@pytest.mark.parametrize(("family", "read", "text"), LET_PASS)
def test_a_library_takes_what_is_no_address(
    family: Family, read: Callable[[str], object], text: str
) -> None:
    assert read(text)
    with pytest.raises(AddressError):
        canonical_address(text, family=family)
