"""An EVM transaction that somebody names: strangers' logs, forks in between, and each chain's own finality."""

from typing import Any

import pytest

from tests.nodes.anvil import Anvil
from tests.nodes.local_chain import payer
from tests.nodes.proxy import RpcProxy, one_by_one, results
from tests.nodes.tokens import token_address
from tests.wallets.evmkin import opened, spec_of
from tests.wallets.paying import transfer, transfer_many
from wallets.chains.base import (
    ChainError,
    ChainUnavailableError,
    FoundTransaction,
    MalformedAnswerError,
    ReorgDuringReadError,
)
from wallets.chains.evm_decode import TRANSFER

USDC = token_address("USDC")
CHOSEN = "0x00000000000000000000000000000000000A11cE"
STRANGER = "0x" + "5a" * 20
OTHER = "0x" + "1" * 64


def find(
    url: str, tx_hash: str, chain: str = "base", **settings: str
) -> FoundTransaction | None:
    with opened(spec_of(chain, url, **settings)) as adapter:
        return adapter.find(tx_hash)


def pay(node: Anvil, units: int = 25) -> str:
    return transfer(node, payer(node), USDC, CHOSEN, units)


def receipts(change: Any) -> Any:
    """Change every receipt."""

    def changed(method: str, result: Any) -> Any:
        if method == "eth_getTransactionReceipt" and result is not None:
            change(result)
        return result

    return results(changed)


@pytest.mark.parametrize(
    "log",
    [
        {"data": "0x"},
        {"data": "0x01"},
        {"topics": [TRANSFER, "0x" + "ff" * 32, "0x" + "ff" * 32]},
    ],
)
def test_a_strangers_log_that_is_no_transfer_hides_nothing_and_keeps_its_place(
    base_node: Anvil, log: dict[str, Any]
) -> None:
    tx_hash = pay(base_node)
    with RpcProxy(base_node.url) as proxy:

        def add(receipt: Any) -> None:
            [own] = receipt["logs"]
            strange = own | {"address": STRANGER} | log
            receipt["logs"] = [strange, own | {"logIndex": hex(1)}]

        proxy.fault = receipts(add)
        found = find(proxy.url, tx_hash)
    assert found is not None
    [paid] = found.transfers
    assert (paid.units, paid.position) == (25, 1)
    assert [one.position for one in found.movements] == [1]


def test_a_log_of_ours_that_is_no_transfer_is_refused(base_node: Anvil) -> None:
    tx_hash = pay(base_node)
    with RpcProxy(base_node.url) as proxy:
        proxy.fault = receipts(lambda told: told["logs"][0].update(data="0x01"))
        with pytest.raises(MalformedAnswerError):
            find(proxy.url, tx_hash)


@pytest.mark.parametrize(
    ("part", "change", "error"),
    [
        ("receipt", {"transactionHash": OTHER}, MalformedAnswerError),
        ("receipt", {"blockHash": OTHER}, ReorgDuringReadError),
        ("receipt", {"status": "0x2"}, MalformedAnswerError),
        ("receipt", {"status": None}, MalformedAnswerError),
        ("log", {"removed": True}, ReorgDuringReadError),
        ("log", {"blockNumber": "0x7fffff"}, MalformedAnswerError),
        ("log", {"transactionHash": OTHER}, MalformedAnswerError),
    ],
)
def test_a_receipt_that_does_not_fit_is_refused(
    base_node: Anvil, part: str, change: dict[str, Any], error: type[ChainError]
) -> None:
    tx_hash = pay(base_node)
    with RpcProxy(base_node.url) as proxy:
        proxy.fault = receipts(
            lambda told: (told if part == "receipt" else told["logs"][0]).update(change)
        )
        with pytest.raises(error):
            find(proxy.url, tx_hash)


@pytest.mark.parametrize(
    "missing", ["eth_getTransactionReceipt", "eth_getTransactionByHash"]
)
def test_half_of_a_transaction_is_none(base_node: Anvil, missing: str) -> None:
    tx_hash = pay(base_node)
    with RpcProxy(base_node.url) as proxy:
        proxy.fault = results(
            lambda method, result: None if method == missing else result
        )
        with pytest.raises((ChainUnavailableError, MalformedAnswerError)):
            find(proxy.url, tx_hash)


def test_a_node_that_takes_no_batches_is_asked_one_by_one(base_node: Anvil) -> None:
    tx_hash = pay(base_node)
    with RpcProxy(base_node.url) as proxy:
        proxy.fault = one_by_one(lambda request, ask: ask(request))
        found = find(proxy.url, tx_hash)
    assert found is not None
    assert found.tx_hash == tx_hash


def test_coin_given_to_a_new_contract_names_nobody(base_node: Anvil) -> None:
    # Code that returns nothing.
    sent = base_node.send(payer(base_node), to="", data=b"\x00", value=5)
    assert base_node.receipt(sent)["status"] == "0x1"
    found = find(base_node.url, sent)
    assert found is not None
    assert (found.succeeded, list(found.movements)) == (True, [])


def test_it_is_final_where_depth_and_the_chains_tag_have_passed_it(
    polygon_node: Anvil,
) -> None:
    tx_hash = pay(polygon_node)
    height = int(polygon_node.receipt(tx_hash)["blockNumber"], 16)
    polygon_node.mine(30)
    with RpcProxy(polygon_node.url) as proxy:
        for tag, is_final in ((height - 1, False), (height, True)):

            def tagged(request: Any, ask: Any, tag: int = tag) -> Any:
                if request["params"][:1] == ["finalized"]:
                    request = request | {"params": [hex(tag), False]}
                return ask(request)

            proxy.fault = one_by_one(tagged)
            found = find(proxy.url, tx_hash, "polygon")
            assert found is not None
            assert found.is_final is is_final


def test_a_large_transfer_beside_small_ones_is_as_final_as_the_large_one(
    base_node: Anvil,
) -> None:
    pays = [(CHOSEN, 25), (STRANGER, 10_000 * 10**6)]
    tx_hash = transfer_many(base_node, payer(base_node), USDC, pays)
    small = pay(base_node)
    # A dozen confirmations, and no finality of Ethereum's.
    base_node.mine(20)
    settings = {"network": "mainnet"}
    with RpcProxy(base_node.url) as proxy:

        def tagged(request: Any, ask: Any) -> Any:
            if request["params"][:1] == ["finalized"]:
                request = request | {"params": ["0x1", False]}
            return ask(request)

        proxy.fault = one_by_one(tagged)
        large, other = (find(proxy.url, one, **settings) for one in (tx_hash, small))
    assert large is not None
    assert other is not None
    assert (large.is_final, other.is_final) == (False, True)


def test_a_look_up_takes_few_requests(base_node: Anvil) -> None:
    tx_hash = pay(base_node)
    with opened(spec_of("base", base_node.url)) as adapter:
        adapter.head()
        before = adapter.requests
        adapter.find(tx_hash)
        assert adapter.requests - before == 4
        before = adapter.requests
        assert adapter.find("0x" + "00" * 32) is None
        assert adapter.requests - before == 2
