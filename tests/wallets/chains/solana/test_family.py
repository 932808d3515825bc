"""What Solana's family answers about signatures, wallets and nodes."""

import base58
import pytest

from tests.wallets.chains.examples import SOLANA
from tests.wallets.signing import Signer
from wallets.chains.registry import load_chains
from wallets.chains.solana.family import SOLANA_FAMILY

SIGNATURE = base58.b58encode(bytes(range(100, 164))).decode()


def test_a_transaction_is_named_by_a_signature_of_64_bytes() -> None:
    assert SOLANA_FAMILY.transaction_hash(SIGNATURE) == SIGNATURE


@pytest.mark.parametrize("text", ["", SOLANA, SIGNATURE + "1", f"0{SIGNATURE[1:]}", "1" * 65])
def test_what_is_not_64_bytes_of_base58_names_none(text: str) -> None:
    assert SOLANA_FAMILY.transaction_hash(text) is None


def test_payments_are_written_where_there_is_a_node() -> None:
    without = load_chains("mainnet", {})["solana"]
    assert not SOLANA_FAMILY.prepares_payments(without)
    assert SOLANA_FAMILY.wallets_chain_id(without) is None
    given = {"SOLANA_RPC_URLS": "https://node.example"}
    named = {
        network: SOLANA_FAMILY.wallets_chain_id(load_chains(network, given)["solana"])
        for network in ("mainnet", "testnet", "local")
    }
    assert named == {"mainnet": "solana:mainnet", "testnet": "solana:devnet", "local": "solana:localnet"}


def test_a_key_can_sign_and_what_a_program_derived_cannot() -> None:
    assert SOLANA_FAMILY.can_sign(Signer("solana").address)
    # The associated token account of a published example.
    assert not SOLANA_FAMILY.can_sign("H51DXRt3ubThhdhNeDMScfkbC5X4AWzYfHaZS3JKEfPh")
