"""Solana addresses are base58 of exactly 32 bytes."""

import base58
import pytest

from tests.wallets.chains.examples import EVM, SOLANA
from wallets.chains.base import AddressError
from wallets.chains.solana.family import SOLANA_FAMILY


@pytest.mark.parametrize("text", [SOLANA, "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"])
def test_a_solana_address_is_the_base58_of_its_key(text: str) -> None:
    assert SOLANA_FAMILY.canonical_address(text) == text
    assert base58.b58encode(SOLANA_FAMILY.address_key(text)).decode() == text


@pytest.mark.parametrize(
    "text", [SOLANA[:-4], "1" + SOLANA, "z" * 44, "1" * 33, SOLANA.replace("F", "0"), SOLANA.replace("F", "l"), EVM]
)
def test_what_is_not_exactly_32_bytes_of_base58_is_no_solana_address(text: str) -> None:
    with pytest.raises(AddressError, match="32 bytes"):
        SOLANA_FAMILY.canonical_address(text)
