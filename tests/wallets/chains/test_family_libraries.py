"""Why addresses are read by our own code (docs/adr/0021): what the chains' libraries let pass. Where one fails, read that again."""

from collections.abc import Callable

import pytest
from eth_utils.address import to_checksum_address
from tonsdk.utils import Address

from wallets.chains.base import AddressError
from wallets.chains.evm.family import EVM_FAMILY
from wallets.chains.family import ChainFamily
from wallets.chains.ton.family import TON_FAMILY
from wallets.chains.tron.family import TRON_FAMILY
from wallets.chains.tron.keys import _tronpy

to_base58check = _tronpy.keys.to_base58check_address

LET_PASS: list[tuple[ChainFamily, Callable[[str], object], str]] = [
    # One letter of a right checksum in another case.
    (EVM_FAMILY, to_checksum_address, "0xA0Ee7A142d267C1f36714E4a8F75612F20a79720"),
    (TRON_FAMILY, to_base58check, "41a0ee7a142d267c1f36714e4a8f75612f20a79720"),
    (TON_FAMILY, Address, "\N{ARABIC-INDIC DIGIT ZERO}:" + "1" * 64),
    (TON_FAMILY, Address, "00:" + "1" * 64),
]


@pytest.mark.parametrize(("family", "read", "text"), LET_PASS)
def test_a_library_takes_what_is_no_address(family: ChainFamily, read: Callable[[str], object], text: str) -> None:
    assert read(text)
    with pytest.raises(AddressError):
        family.canonical_address(text)
