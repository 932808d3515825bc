"""What EVM's family answers about hashes and chains."""

import pytest

from tests.wallets.chains.examples import EVM
from wallets.chains.base import AddressError
from wallets.chains.evm.family import EVM_FAMILY
from wallets.chains.registry import load_chains
from wallets.forwarders.addresses import FACTORY_ADDRESS, checksum

DIGITS = "5F" * 32


@pytest.mark.parametrize("text", [DIGITS, f"0x{DIGITS}", f"0X{DIGITS}"])
def test_a_hash_is_written_with_0x_and_in_lower_case(text: str) -> None:
    assert EVM_FAMILY.transaction_hash(text) == "0x" + "5f" * 32


@pytest.mark.parametrize("text", ["", DIGITS[:-1], f"{DIGITS}\n", "0x0x" + DIGITS])
def test_what_is_no_hash_is_none(text: str) -> None:
    assert EVM_FAMILY.transaction_hash(text) is None


def test_wallets_call_a_chain_by_its_number_in_hexadecimal() -> None:
    chains = load_chains("mainnet", {})
    told = [EVM_FAMILY.wallets_chain_id(chains[n]) for n in ("base", "polygon")]
    assert told == ["0x2105", "0x89"]


def test_a_contract_of_ours_is_a_trap() -> None:
    with pytest.raises(AddressError, match="contract of this gateway"):
        EVM_FAMILY.refuse_trap(checksum(FACTORY_ADDRESS))
    EVM_FAMILY.refuse_trap(EVM)
