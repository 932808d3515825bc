"""The local chain answers and refuses as nodes do."""

from typing import Any

import pytest

from demo.localnet.errors import NodeError
from demo.localnet.solana.node import PAYER_UNITS, SolanaNode
from tests.demo.localnet.solana.questions import listed, payment, transaction


def test_what_is_not_confirmed_is_not_listed(solana_node: SolanaNode, solana_owner: str) -> None:
    signed = solana_node.sign(payment(solana_node, solana_owner), payer=solana_node.payer)
    sent = solana_node.submit(signed)
    [status] = solana_node.rpc("getSignatureStatuses", [sent])["value"]
    # Slots pass meanwhile: whoever sees it must be able to see that its slot is confirmed.
    is_listed, is_told = listed(solana_node, solana_owner), transaction(solana_node, sent)
    if solana_node.slot("confirmed") < status["slot"]:
        assert (is_listed, is_told) == ([], None)
    solana_node.advance()
    assert listed(solana_node, solana_owner) == [sent]


def test_commitment_below_confirmed_is_refused_where_nodes_refuse_it(
    solana_node: SolanaNode, solana_owner: str
) -> None:
    with pytest.raises(NodeError, match="below `confirmed`"):
        listed(solana_node, solana_owner, commitment="processed")


def test_a_node_that_lacks_the_slot_asked_for_says_so(solana_node: SolanaNode, solana_owner: str) -> None:
    with pytest.raises(NodeError, match="Minimum context slot") as refused:
        listed(solana_node, solana_owner, minContextSlot=solana_node.slot() + 1_000)
    assert refused.value.code == -32016
    assert refused.value.data["contextSlot"] > 0


def test_a_listing_is_paged_from_the_newest_down(solana_node: SolanaNode, solana_owner: str) -> None:
    sent = [solana_node.pay(solana_owner, units) for units in range(1, 6)]
    newest_first = sent[::-1]
    assert listed(solana_node, solana_owner) == newest_first
    assert listed(solana_node, solana_owner, limit=2) == newest_first[:2]
    assert listed(solana_node, solana_owner, before=sent[3], limit=2) == newest_first[2:4]
    assert listed(solana_node, solana_owner, until=sent[1]) == newest_first[:3]
    assert listed(solana_node, solana_owner, before="1" * 64) == []
    with pytest.raises(NodeError, match="max 1000"):
        listed(solana_node, solana_owner, limit=1_001)


def test_preflight_refuses_what_would_fail(solana_node: SolanaNode, solana_owner: str) -> None:
    with pytest.raises(NodeError, match="simulation failed") as refused:
        solana_node.pay(solana_owner, 2 * PAYER_UNITS)
    assert refused.value.data["err"] == {"InstructionError": [1, {"Custom": 1}]}
    assert listed(solana_node, solana_owner) == []


def test_wrong_parameters_are_an_error_that_says_so(solana_node: SolanaNode) -> None:
    questions: list[tuple[str, list[Any]]] = [
        ("getTransaction", ["1", {"encoding": "xml"}]),
        ("getBalance", ["no key"]),
        ("getSlot", [{"commitment": "sure"}]),
        ("sendTransaction", ["AAAA", {"encoding": "base64"}]),
    ]
    for method, params in questions:
        with pytest.raises(NodeError) as refused:
            solana_node.rpc(method, *params)
        assert refused.value.code == -32602
