"""What every chain's family answers about a typed address, and what the chains' libraries would let pass (docs/adr/0021)."""

import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from eth_utils.address import to_checksum_address
from hypothesis import given
from hypothesis import strategies as st
from tonsdk.utils import Address

from tests.wallets.chains.examples import EVM, SOLANA, TON, TON_RAW, TRON
from wallets.chains.base import AddressError
from wallets.chains.evm.family import EVM_FAMILY
from wallets.chains.family import ChainFamily
from wallets.chains.registry import FAMILIES
from wallets.chains.solana.family import SOLANA_FAMILY
from wallets.chains.ton.family import TON_FAMILY
from wallets.chains.tron.family import TRON_FAMILY
from wallets.chains.tron.keys import _tronpy

OF = {EVM_FAMILY: EVM, TRON_FAMILY: TRON, SOLANA_FAMILY: SOLANA, TON_FAMILY: TON}


@pytest.mark.parametrize("family", FAMILIES)
def test_one_wrong_character_is_noticed_wherever_the_chain_has_a_checksum(family: ChainFamily) -> None:
    right = OF[family]
    swapped = [right[:i] + right[i].swapcase() + right[i + 1 :] for i in range(len(right))]
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
def test_nothing_typed_raises_another_error_or_takes_long(text: str, family: ChainFamily) -> None:
    started = time.process_time()
    for ask in (family.canonical_address, family.address_key):
        with pytest.raises(AddressError):
            ask(text)
    assert time.process_time() - started < 1.0


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
