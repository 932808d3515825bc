"""Solana's wallet sends the amount with the link's reference."""

from solders.keypair import Keypair

from demo.localnet.solana.node import SolanaNode
from demo.seed import RECEIVING_WALLETS
from demo.wallet import pay
from tests.demo.addresses import solana_entry
from tests.demo.test_wallet import AMOUNT, UNITS


def test_a_solana_wallet_names_the_links_reference_and_writes_a_memo(solana_node: SolanaNode) -> None:
    to, reference = RECEIVING_WALLETS["solana"], str(Keypair().pubkey())
    signature = pay(
        solana_entry(solana_node), token="USDC", to=to, amount=AMOUNT, reference=reference, comment="order 17"
    )
    assert solana_node.balance(to) == UNITS
    [listed] = solana_node.rpc("getSignaturesForAddress", reference, {"commitment": "confirmed"})
    assert listed["signature"] == signature
    assert "order 17" in listed["memo"]
