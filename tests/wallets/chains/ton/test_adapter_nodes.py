"""Reading TON with several nodes: taking over, agreeing, bearing witness; and being let in by them."""

from dataclasses import replace

import pytest

from localnet.ton.node import TonNode
from tests.wallets.contract.hostile import Answer, HttpProxy
from tests.wallets.tonlab import broken, changing, changing_rows, open_ton, read_on, ton_spec
from wallets.chains.base import Account, BlockRef, ChainMismatchError, ChainUnavailableError, MalformedAnswerError
from wallets.chains.family import Network
from wallets.chains.registry import open_pool
from wallets.chains.ton.adapter import TonAdapter, has_network

RECEIPTS = ("transactions", "transactions")


def test_a_second_node_takes_over_and_is_not_bound_by_what_the_first_said(
    ton_node: TonNode, ton_proxy: HttpProxy, paid_ton_account: Account
) -> None:
    adapter = open_ton(ton_node, ton_proxy.url, ton_node.url)
    ton_proxy.fault = changing_rows(*RECEIPTS, broken(description={"aborted": True}))
    assert read_on(adapter, paid_ton_account).transfers == []
    ton_proxy.fault = lambda target, answer: Answer(b"down", status=503)
    assert len(read_on(adapter, paid_ton_account).transfers) == 1
    adapter.close()


def test_a_head_far_behind_another_nodes_is_not_agreed(ton_node: TonNode, ton_proxy: HttpProxy) -> None:
    now = [0.0]
    adapter = open_ton(ton_node, ton_proxy.url, ton_node.url, clock=lambda: now[0])
    assert adapter.head().agreed
    lags = changing("masterchainInfo", lambda answer: answer | {"last": answer["last"] | {"seqno": 1}})
    ton_proxy.fault = lags
    ton_node.advance(100)
    now[0] += 60
    behind = adapter.head()
    assert (behind.block.height, behind.agreed) == (1, False)
    assert adapter.head().block.height > 100
    adapter.close()


def test_a_node_with_a_head_that_cannot_be_is_left_for_another(ton_node: TonNode, ton_proxy: HttpProxy) -> None:
    adapter = open_ton(ton_node, ton_proxy.url, ton_node.url)
    newest = adapter.head().block
    ton_proxy.fault = changing("masterchainInfo", lambda answer: answer | {"last": answer["last"] | {"seqno": 10**9}})

    def check(block: BlockRef) -> None:
        if block.height == 10**9:
            raise MalformedAnswerError("too high")

    assert newest.height <= adapter.head(check=check).block.height < 10**9
    adapter.close()


def test_a_second_node_bears_witness_to_what_it_knows_alike(
    ton_node: TonNode, ton_proxy: HttpProxy, paid_ton_account: Account
) -> None:
    adapter = open_ton(ton_node, ton_node.url, ton_proxy.url)
    ton_node.pay(paid_ton_account.address, 8)
    told = list(read_on(adapter, paid_ton_account).transfers)
    assert adapter.witness(told) == [True, True]
    claims = [
        replace(told[0], units=8),
        replace(told[0], block_height=told[0].block_height + 1),
        replace(told[0], tx_hash="00" * 32),
        replace(told[0], recipient_key=bytes(33)),
        told[1],
    ]
    assert adapter.witness(claims) == [False, False, False, False, True]
    ton_proxy.fault = changing_rows(*RECEIPTS, broken(description={"aborted": True}))
    assert adapter.witness(told) == [False, False]
    ton_proxy.fault = lambda target, answer: Answer(b"down", status=503)
    with pytest.raises(ChainUnavailableError):
        adapter.witness(told)
    adapter.close()


def test_what_one_node_knows_or_cannot_say_is_not_lost(
    ton_node: TonNode, ton_proxy: HttpProxy, paid_ton_account: Account
) -> None:
    adapter = open_ton(ton_node, ton_proxy.url, ton_node.url)
    told = read_on(adapter, paid_ton_account).transfers
    ton_proxy.fault = changing(RECEIPTS[0], lambda answer: {"transactions": []})
    assert adapter.lost(told) == [False]
    ton_proxy.fault = lambda target, answer: Answer(b"down", status=503)
    assert adapter.lost(told) == [False]
    with pytest.raises(ChainUnavailableError):
        adapter.lost([*told, replace(told[0], tx_hash="00" * 32)])
    adapter.close()


def test_transfers_of_many_days_are_asked_for_by_the_hour(
    ton_node: TonNode, ton_adapter: TonAdapter, paid_ton_account: Account
) -> None:
    ton_node.elapse(86_400)
    ton_node.pay(paid_ton_account.address, 8)
    told = list(read_on(ton_adapter, paid_ton_account).transfers)
    before = ton_adapter.requests
    assert ton_adapter.lost(told[::-1]) == [False, False]
    # The head, and one request for each hour.
    assert ton_adapter.requests - before == 3


def test_a_node_of_another_network_is_refused(ton_node: TonNode, ton_proxy: HttpProxy) -> None:
    local = ton_spec(ton_proxy.url, usdt=ton_node.usdt)
    main = replace(local, network=Network.MAINNET)
    with pytest.raises(ChainMismatchError, match="not of TON's mainnet"):
        main.family.open_adapter(main, open_pool(main)).head()
    ton_proxy.fault = changing(
        "masterchainInfo", lambda answer: answer | {"last": answer["last"] | {"global_id": -239}}
    )
    assert main.family.open_adapter(main, open_pool(main)).head().block.height > 0
    assert has_network(Network.LOCAL) is None


def test_the_key_is_sent_as_toncenter_reads_it_to_the_node_it_is_for(ton_node: TonNode) -> None:
    spec = ton_spec(ton_node.url, "http://127.0.0.1:1/api/v3", usdt=ton_node.usdt, API_KEYS=",k-two")
    first, second = open_pool(spec)._members
    assert "X-API-Key" not in first.node._http.headers
    assert second.node._http.headers["X-API-Key"] == "k-two"
