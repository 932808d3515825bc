"""Addresses people type: taken in every spelling their chain allows, refused when a character is wrong."""

import pytest

from wallets.addresses import AddressError, canonical_address, evm_key
from wallets.chains.specs import Family

EVM = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
TRON = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
SOLANA = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
TON = "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs"
TON_RAW = "0:b113a994b5024a16719f69139328eb759596c38a25f59028b146fecdc3621dfe"


@pytest.mark.parametrize("text", [EVM, EVM.lower(), "0x" + EVM[2:].upper()])
def test_evm_addresses_are_written_with_their_checksum(text: str) -> None:
    assert canonical_address(text, family=Family.EVM) == EVM


@pytest.mark.parametrize(
    "text",
    [
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
    ("family", "text", "canonical"),
    [
        (Family.TRON, TRON, TRON),
        (Family.SOLANA, SOLANA, SOLANA),
        (Family.TON, TON, TON),
        (Family.TON, TON_RAW, TON),
        (Family.TON, "UQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_p0p", TON),
    ],
)
def test_other_chains_addresses_have_one_form(
    family: Family, text: str, canonical: str
) -> None:
    assert canonical_address(text, family=family) == canonical


@pytest.mark.parametrize(
    ("family", "text"),
    [
        (Family.TRON, TRON[:-1] + "u"),
        (Family.TRON, EVM),
        (Family.SOLANA, SOLANA[:-4]),
        (Family.SOLANA, EVM),
        (Family.TON, "UQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDY"),
        (Family.TON, TON_RAW[:-1]),
        (Family.TON, EVM),
    ],
)
def test_other_chains_addresses_with_a_mistake_are_refused(
    family: Family, text: str
) -> None:
    with pytest.raises(AddressError):
        canonical_address(text, family=family)
