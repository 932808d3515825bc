"""The local TON chain does what other tests rely on."""

import time

import pytest

from demo.localnet.errors import NodeError, NodeStartError
from demo.localnet.ton.node import PAYER_UNITS, TonNode
from wallets.chains.ton.family import TON_FAMILY


def raw(address: str) -> str:
    """An address as toncenter writes it."""
    return f"0:{TON_FAMILY.address_key(address)[1:].hex().upper()}"


def listed(node: TonNode, owner: str, **query: object) -> list[dict[str, object]]:
    """The transfers to an owner, the newest first."""
    rows: list[dict[str, object]] = node.get("jetton/transfers", owner_address=owner, direction="in", **query)[
        "jetton_transfers"
    ]
    return rows


def test_every_start_is_another_chain_with_the_same_addresses(ton_node: TonNode) -> None:
    with TonNode() as other:
        first = [node.get("masterchainInfo")["first"]["root_hash"] for node in (ton_node, other)]
        assert first[0] != first[1]
        assert (ton_node.usdt, ton_node.fake) == (other.usdt, other.fake)
        assert other.usdt != other.fake
        assert other.balance(other.payer.address) == PAYER_UNITS
    with pytest.raises(NodeStartError):
        _ = other.pid
    with pytest.raises(ConnectionRefusedError):
        other.head()


def test_a_signed_message_moves_jettons_and_is_in_a_block_at_once(ton_node: TonNode) -> None:
    wallet, before = ton_node.create_wallet(), ton_node.head()
    tx_hash = ton_node.pay(wallet.address, 25_500_000, "invoice-42")
    assert ton_node.balance(wallet.address) == 25_500_000
    [row] = listed(ton_node, wallet.address)
    assert row["destination"] == raw(wallet.address)
    assert row["source"] == raw(ton_node.payer.address)
    assert row["jetton_master"] == raw(ton_node.usdt)
    assert row["amount"] == "25500000"
    [receipt] = ton_node.get("transactions", hash=tx_hash)["transactions"]
    assert receipt["account"] == ton_node.jetton_wallet(wallet.address)
    assert before < receipt["mc_block_seqno"] <= ton_node.head()
    assert receipt["now"] == pytest.approx(time.time(), abs=60)


def test_what_a_payer_does_not_have_is_not_listed_as_a_transfer(ton_node: TonNode) -> None:
    wallet = ton_node.create_wallet()
    assert ton_node.pay(wallet.address, PAYER_UNITS + 1) == ""
    assert listed(ton_node, wallet.address) == []
    assert ton_node.balance(wallet.address) == 0


def test_blocks_follow_the_clock_without_any_transaction(ton_node: TonNode) -> None:
    head = ton_node.head()
    ton_node.elapse(40)
    assert ton_node.head() - head >= 100
    assert ton_node.advance(5) >= head + 105


def test_rolling_back_undoes_balances_and_transactions(ton_node: TonNode) -> None:
    wallet = ton_node.create_wallet()
    kept = ton_node.pay(wallet.address, 1)
    ton_node.advance(5)
    head = ton_node.head()
    undone = ton_node.pay(wallet.address, 10)
    ton_node.roll_back(to=head)
    assert ton_node.balance(wallet.address) == 1
    assert ton_node.get("transactions", hash=undone)["transactions"] == []
    assert len(ton_node.get("transactions", hash=kept)["transactions"]) == 1
    assert ton_node.pay(wallet.address, 10)
    assert ton_node.balance(wallet.address) == 11


def test_blocks_and_receipts_can_be_withheld_and_given_later(ton_node: TonNode) -> None:
    wallet = ton_node.create_wallet()
    ton_node.withhold_blocks()
    tx_hash = ton_node.pay(wallet.address, 1)
    [receipt] = ton_node.get("transactions", hash=tx_hash)["transactions"]
    assert receipt["mc_block_seqno"] is None
    ton_node.withhold_blocks(False)
    [receipt] = ton_node.get("transactions", hash=tx_hash)["transactions"]
    assert receipt["mc_block_seqno"] <= ton_node.head()
    ton_node.withhold_receipts()
    tx_hash = ton_node.pay(wallet.address, 2)
    assert ton_node.get("transactions", hash=tx_hash)["transactions"] == []
    assert len(listed(ton_node, wallet.address)) == 2
    ton_node.withhold_receipts(False)
    assert len(ton_node.get("transactions", hash=tx_hash)["transactions"]) == 1


def test_a_reset_undoes_what_a_test_did(ton_node: TonNode) -> None:
    wallet = ton_node.create_wallet(units=5)
    ton_node.elapse(10**6)
    ton_node.limit_rate(100)
    ton_node.reset()
    assert ton_node.balance(wallet.address) == 0
    assert ton_node.balance(ton_node.payer.address) == PAYER_UNITS
    block = ton_node.get("masterchainInfo")["last"]
    assert int(block["gen_utime"]) == pytest.approx(time.time(), abs=60)
    assert ton_node.pay(wallet.address, 1)


def test_refusals_are_worded_as_toncenter_words_them(ton_node: TonNode) -> None:
    with pytest.raises(NodeError) as refused:
        ton_node.get("transactions", limit=1001)
    assert refused.value.data == {"error": "limit is not allowed: 1001 > 1000", "code": 422}
    with pytest.raises(NodeError) as refused:
        ton_node.get("jetton/transfers", owner_address="nobody")
    assert refused.value.code == 422
    ton_node.limit_rate(1)
    with pytest.raises(NodeError) as refused:
        ton_node.get("masterchainInfo")
    assert refused.value.code == 429
    assert ton_node.get("masterchainInfo")["last"]["seqno"] > 0


def test_pages_follow_one_another_without_gap_or_overlap(ton_node: TonNode) -> None:
    wallet = ton_node.create_wallet()
    for units in range(1, 6):
        ton_node.pay(wallet.address, units)
    pages = [listed(ton_node, wallet.address, limit=2, offset=offset, sort="asc") for offset in (0, 2, 4, 6)]
    assert [[row["amount"] for row in page] for page in pages] == [["1", "2"], ["3", "4"], ["5"], []]


def test_blocks_are_found_by_their_time(ton_node: TonNode) -> None:
    ton_node.elapse(1000)
    time_ = int(ton_node.get("masterchainInfo")["last"]["gen_utime"]) - 500
    query = {"workchain": -1, "sort": "desc", "limit": 1}
    [block] = ton_node.get("blocks", end_utime=time_, **query)["blocks"]
    [after] = ton_node.get("blocks", workchain=-1, seqno=block["seqno"] + 3)["blocks"]
    assert int(block["gen_utime"]) <= time_ < int(after["gen_utime"])


def test_a_trace_is_told_whole_by_the_hash_of_any_of_its_parts(ton_node: TonNode) -> None:
    wallet = ton_node.create_wallet()
    tx_hash = ton_node.pay(wallet.address, 25)
    [trace] = ton_node.get("traces", tx_hash=tx_hash)["traces"]
    assert set(trace["transactions_order"]) == set(trace["transactions"])
    assert (trace["is_incomplete"], trace["trace_info"]["trace_state"]) == (False, "complete")
    first = trace["transactions"][trace["transactions_order"][0]]
    assert first["hash"] == trace["trace_id"]
    for name in (first["in_msg"]["hash"], first["in_msg"]["hash_norm"]):
        [same] = ton_node.get("traces", msg_hash=name)["traces"]
        assert same == trace
    assert ton_node.get("traces", tx_hash="00" * 32)["traces"] == []


def test_a_trace_that_is_in_no_block_yet_is_pending(ton_node: TonNode) -> None:
    wallet = ton_node.create_wallet()
    ton_node.withhold_blocks()
    tx_hash = ton_node.pay(wallet.address, 25)
    [trace] = ton_node.get("traces", tx_hash=tx_hash)["traces"]
    assert trace["trace_info"]["trace_state"] == "pending"
    assert {row["mc_block_seqno"] for row in trace["transactions"].values()} == {None}
