"""What the local chain takes, and what undoing it does."""

import pytest
from solders.transaction import VersionedTransaction

from demo.localnet.errors import NodeError
from demo.localnet.solana.node import SolanaNode
from tests.demo.localnet.solana.questions import ask, listed, payment, transaction


def test_without_preflight_a_failed_transaction_lands_and_moves_nothing(
    solana_node: SolanaNode, solana_owner: str
) -> None:
    failed = solana_node.fail(solana_owner, 5)
    assert transaction(solana_node, failed)["meta"]["err"] is not None
    assert listed(solana_node, solana_owner) == [failed]
    assert solana_node.balance(solana_owner) == 0


def test_a_transaction_lands_once(solana_node: SolanaNode, solana_owner: str) -> None:
    signed = solana_node.sign(payment(solana_node, solana_owner), payer=solana_node.payer)
    ask(solana_node, lambda client: client.send_raw_transaction(bytes(signed)))
    with pytest.raises(NodeError, match="AlreadyProcessed"):
        solana_node.submit(signed)


def test_an_old_blockhash_is_refused(solana_node: SolanaNode, solana_owner: str) -> None:
    signed = solana_node.sign(payment(solana_node, solana_owner), payer=solana_node.payer)
    solana_node.advance(200)
    with pytest.raises(NodeError, match="BlockhashNotFound"):
        solana_node.submit(signed)


def test_a_signature_by_somebody_else_is_refused(solana_node: SolanaNode, solana_owner: str) -> None:
    signed = solana_node.sign(payment(solana_node, solana_owner), payer=solana_node.payer)
    forged = bytearray(bytes(signed))
    forged[10] ^= 1
    with pytest.raises(NodeError, match="Signature verification failure"):
        solana_node.submit(VersionedTransaction.from_bytes(bytes(forged)))


def test_a_rollback_undoes_what_happened_and_a_forked_transaction_can_land_again(
    solana_node: SolanaNode, solana_owner: str
) -> None:
    first = solana_node.pay(solana_owner, 5)
    solana_node.advance(100)
    signed = solana_node.sign(payment(solana_node, solana_owner), payer=solana_node.payer)
    second = solana_node.submit(signed)
    slot = solana_node.slot()
    assert solana_node.rollback(after=slot - 50) == [second]
    assert solana_node.slot() >= slot
    assert solana_node.balance(solana_owner) == 5
    assert solana_node.rpc("getSignatureStatuses", [second])["value"] == [None]
    solana_node.submit(signed)
    solana_node.advance()
    assert listed(solana_node, solana_owner) == [second, first]
    assert solana_node.balance(solana_owner) == 12


def test_a_rewound_node_has_a_lower_head(solana_node: SolanaNode, solana_owner: str) -> None:
    solana_node.advance(50)
    sent = solana_node.pay(solana_owner, 5)
    before = solana_node.slot()
    assert solana_node.rewind(to=before - 20) == [sent]
    assert solana_node.slot() < before
    assert solana_node.balance(solana_owner) == 0
