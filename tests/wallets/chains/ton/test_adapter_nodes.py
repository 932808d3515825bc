"""Reading TON with several nodes: taking over, agreeing, bearing witness; and being let in by them."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from demo.localnet.ton.node import TonNode
from tests.wallets.contract.hostile import Answer, HttpProxy
from tests.wallets.tonlab import (
    account_at,
    broken,
    changing,
    changing_rows,
    open_ton,
    read_on,
    ton_spec,
)
from wallets.chains.adapters import open_pool
from wallets.chains.base import Account, ChainMismatchError, ChainUnavailableError
from wallets.chains.specs import Network
from wallets.chains.ton.adapter import TonAdapter, has_network
from wallets.chains.ton.pace import PAUSE_SECONDS, PacedNode, open_node

RECEIPTS = ("transactions", "transactions")


@pytest.fixture
def proxy(ton_node: TonNode) -> Iterator[HttpProxy]:
    with HttpProxy(ton_node.url) as proxy:
        yield proxy


@pytest.fixture
def adapter(ton_node: TonNode) -> Iterator[TonAdapter]:
    adapter = open_ton(ton_node)
    yield adapter
    adapter.close()


@pytest.fixture
def account(ton_node: TonNode, adapter: TonAdapter) -> Account:
    """A merchant's wallet that was paid 7 units since it was read."""
    account = account_at(ton_node.create_wallet().address, adapter.head())
    ton_node.pay(account.address, 7, "memo")
    return account


def test_a_second_node_takes_over_and_is_not_bound_by_what_the_first_said(
    ton_node: TonNode, proxy: HttpProxy, account: Account
) -> None:
    adapter = open_ton(ton_node, proxy.url, ton_node.url)
    proxy.fault = changing_rows(*RECEIPTS, broken(description={"aborted": True}))
    assert read_on(adapter, account).transfers == []
    proxy.fault = lambda target, answer: Answer(b"down", status=503)
    assert len(read_on(adapter, account).transfers) == 1
    adapter.close()


def test_a_head_far_behind_another_nodes_is_not_agreed(
    ton_node: TonNode, proxy: HttpProxy
) -> None:
    now = [0.0]
    adapter = open_ton(ton_node, proxy.url, ton_node.url, clock=lambda: now[0])
    assert adapter.head().agreed
    lags = changing(
        "masterchainInfo",
        lambda answer: answer | {"last": answer["last"] | {"seqno": 1}},
    )
    proxy.fault = lags
    ton_node.advance(100)
    now[0] += 60
    behind = adapter.head()
    assert (behind.block.height, behind.agreed) == (1, False)
    assert adapter.head().block.height > 100
    adapter.close()


def test_a_second_node_bears_witness_to_what_it_knows_alike(
    ton_node: TonNode, proxy: HttpProxy, account: Account
) -> None:
    adapter = open_ton(ton_node, ton_node.url, proxy.url)
    ton_node.pay(account.address, 8)
    told = list(read_on(adapter, account).transfers)
    assert adapter.witness(told) == [True, True]
    claims = [
        replace(told[0], units=8),
        replace(told[0], block_height=told[0].block_height + 1),
        replace(told[0], tx_hash="00" * 32),
        replace(told[0], recipient_key=bytes(33)),
        told[1],
    ]
    assert adapter.witness(claims) == [False, False, False, False, True]
    proxy.fault = changing_rows(*RECEIPTS, broken(description={"aborted": True}))
    assert adapter.witness(told) == [False, False]
    proxy.fault = lambda target, answer: Answer(b"down", status=503)
    with pytest.raises(ChainUnavailableError):
        adapter.witness(told)
    adapter.close()


def test_one_node_is_no_witness_of_its_own_word(
    adapter: TonAdapter, account: Account
) -> None:
    told = read_on(adapter, account).transfers
    assert adapter.witness(told) is None


def test_what_one_node_knows_or_cannot_say_is_not_lost(
    ton_node: TonNode, proxy: HttpProxy, account: Account
) -> None:
    adapter = open_ton(ton_node, proxy.url, ton_node.url)
    told = read_on(adapter, account).transfers
    proxy.fault = changing(RECEIPTS[0], lambda answer: {"transactions": []})
    assert adapter.lost(told) == [False]
    proxy.fault = lambda target, answer: Answer(b"down", status=503)
    assert adapter.lost(told) == [False]
    with pytest.raises(ChainUnavailableError):
        adapter.lost([*told, replace(told[0], tx_hash="00" * 32)])
    adapter.close()


def test_transfers_of_many_days_are_asked_for_by_the_hour(
    ton_node: TonNode, adapter: TonAdapter, account: Account
) -> None:
    ton_node.elapse(86_400)
    ton_node.pay(account.address, 8)
    told = list(read_on(adapter, account).transfers)
    before = adapter.requests
    assert adapter.lost(told[::-1]) == [False, False]
    # The head, and one request for each hour.
    assert adapter.requests - before == 3


def test_a_node_of_another_network_is_refused(
    ton_node: TonNode, proxy: HttpProxy
) -> None:
    local = ton_spec(proxy.url, usdt=ton_node.usdt)
    main = replace(local, network=Network.MAINNET)
    with pytest.raises(ChainMismatchError, match="not of TON's mainnet"):
        main.family.open_adapter(main, open_pool(main)).head()
    proxy.fault = changing(
        "masterchainInfo",
        lambda answer: answer | {"last": answer["last"] | {"global_id": -239}},
    )
    assert main.family.open_adapter(main, open_pool(main)).head().block.height > 0
    assert has_network(Network.LOCAL) is None


def test_the_key_is_sent_as_toncenter_reads_it_to_the_node_it_is_for(
    ton_node: TonNode,
) -> None:
    spec = ton_spec(
        ton_node.url, "http://127.0.0.1:1/api/v3", usdt=ton_node.usdt, API_KEYS=",k-two"
    )
    first, second = open_pool(spec)._members
    assert "X-API-Key" not in first.node._http.headers
    assert second.node._http.headers["X-API-Key"] == "k-two"


def test_without_a_key_the_public_node_is_asked_once_a_second(
    ton_node: TonNode,
) -> None:
    now, slept = [100.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    node = PacedNode(ton_node.url, clock=lambda: now[0], sleep=sleep)
    for _ in range(3):
        node.get("masterchainInfo")
    now[0] += 10
    ton_node.limit_rate(1)
    with pytest.raises(ChainUnavailableError):
        node.get("masterchainInfo")
    node.get("masterchainInfo")
    assert slept == pytest.approx([PAUSE_SECONDS] * 3)
    node.close()


@pytest.mark.parametrize(
    ("url", "key", "is_paced"),
    [
        ("https://toncenter.com/api/v3", "", True),
        ("https://testnet.toncenter.com/api/v3", "", True),
        ("https://toncenter.com/api/v3", "key", False),
        ("https://ton.example.com/api/v3", "", False),
        ("https://nottoncenter.com/api/v3", "", False),
    ],
)
def test_only_the_public_node_without_a_key_is_paced(
    url: str, key: str, is_paced: bool
) -> None:
    node = open_node(url, headers={"X-API-Key": key} if key else {})
    assert isinstance(node, PacedNode) == is_paced
