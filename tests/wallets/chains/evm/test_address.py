"""EVM addresses in every spelling; a mistyped one is refused."""

import pytest

from tests.wallets.chains.examples import EVM
from wallets.chains.base import AddressError
from wallets.chains.evm.address import address_key as evm_key
from wallets.chains.evm.family import EVM_FAMILY


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
def test_evm_addresses_of_any_case_are_written_with_their_checksum(published: str) -> None:
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
