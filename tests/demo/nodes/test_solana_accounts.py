"""Accounts on the demo's local Solana."""

from solders.keypair import Keypair

from demo.nodes.solana_accounts import NETWORK_PAYER, NETWORK_PAYER_KEY


def test_the_key_is_the_payers() -> None:
    assert str(Keypair.from_base58_string(NETWORK_PAYER_KEY).pubkey()) == NETWORK_PAYER
