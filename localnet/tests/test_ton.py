"""The TON node refuses what toncenter refuses, in its words, and traces as it does."""

import pytest

from localnet.errors import NodeError
from localnet.ton.node import PAYER_UNITS as JETTONS
from localnet.ton.node import TonNode

# One worker starts the node.
pytestmark = pytest.mark.xdist_group("ton")


def test_toncenters_refusals_and_traces_are_worded_as_its_own(ton_node: TonNode) -> None:
    for path, query, code in (
        ("transactions", {"limit": 1001}, 422),
        ("jetton/transfers", {"owner_address": "nobody"}, 422),
    ):
        with pytest.raises(NodeError) as refused:
            ton_node.get(path, **query)
        assert refused.value.code == code
        assert path != "transactions" or refused.value.data["error"] == "limit is not allowed: 1001 > 1000"
    wallet = ton_node.create_wallet()
    [trace] = ton_node.get("traces", tx_hash=ton_node.pay(wallet.address, 25))["traces"]
    assert (trace["is_incomplete"], trace["trace_info"]["trace_state"]) == (False, "complete")
    first = trace["transactions"][trace["transactions_order"][0]]
    assert set(trace["transactions_order"]) == set(trace["transactions"])
    assert first["hash"] == trace["trace_id"]
    for name in (first["in_msg"]["hash"], first["in_msg"]["hash_norm"]):
        assert ton_node.get("traces", msg_hash=name)["traces"] == [trace]
    assert ton_node.get("traces", tx_hash="00" * 32)["traces"] == []
    ton_node.withhold_blocks()
    [trace] = ton_node.get("traces", tx_hash=ton_node.pay(wallet.address, 25))["traces"]
    assert trace["trace_info"]["trace_state"] == "pending"


def test_what_a_jetton_wallet_does_not_have_is_no_transfer_on_ton(ton_node: TonNode) -> None:
    wallet = ton_node.create_wallet()
    assert ton_node.pay(wallet.address, JETTONS + 1) == ""
    assert ton_node.get("jetton/transfers", owner_address=wallet.address, direction="in")["jetton_transfers"] == []
    assert ton_node.balance(wallet.address) == 0


def test_a_reset_of_ton_undoes_what_a_test_did(ton_node: TonNode) -> None:
    wallet = ton_node.create_wallet(units=5)
    ton_node.limit_rate(100)
    ton_node.reset()
    assert (ton_node.balance(wallet.address), ton_node.balance(ton_node.payer.address)) == (0, JETTONS)
    assert ton_node.pay(wallet.address, 1)
