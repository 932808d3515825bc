"""An EVM transaction that somebody names: strangers' logs, forks in between, and each chain's own finality."""

from typing import Any

import pytest

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address
from tests.nodes.proxy import RpcProxy, one_by_one, results
from tests.wallets.evmkin import opened, spec_of
from tests.wallets.paying import transfer, transfer_many
from wallets.chains.base import (
    ChainError,
    ChainUnavailableError,
    FoundTransaction,
    MalformedAnswerError,
    ReorgDuringReadError,
)
from wallets.chains.evm.decode import TRANSFER

USDC = token_address("USDC")
CHOSEN = "0x00000000000000000000000000000000000A11cE"
STRANGER = "0x" + "5a" * 20
OTHER = "0x" + "1" * 64


def find(url: str, tx_hash: str, chain: str = "base", **settings: str) -> FoundTransaction | None:
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
    "log", [{"data": "0x"}, {"data": "0x01"}, {"topics": [TRANSFER, "0x" + "ff" * 32, "0x" + "ff" * 32]}]
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
        ("receipt", {"status": "0x0", "blockNumber": "0x1"}, ReorgDuringReadError),
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
        proxy.fault = receipts(lambda told: (told if part == "receipt" else told["logs"][0]).update(change))
        with pytest.raises(error):
            find(proxy.url, tx_hash)


@pytest.mark.parametrize("missing", ["eth_getTransactionReceipt", "eth_getTransactionByHash"])
def test_half_of_a_transaction_is_none(base_node: Anvil, missing: str) -> None:
    tx_hash = pay(base_node)
    with RpcProxy(base_node.url) as proxy:
        proxy.fault = results(lambda method, result: None if method == missing else result)
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


def test_it_is_final_where_depth_and_the_chains_tag_have_passed_it(polygon_node: Anvil) -> None:
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


def test_a_large_transfer_beside_small_ones_is_as_final_as_the_large_one(base_node: Anvil) -> None:
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


def test_one_request_tells_all_of_a_payment_and_one_that_there_is_none(base_node: Anvil) -> None:
    tx_hash = pay(base_node)
    base_node.mine(2)
    with RpcProxy(base_node.url) as proxy, opened(spec_of("base", proxy.url)) as adapter:
        # Which chain the node is of is asked once.
        adapter.head()
        for name, is_known in ((tx_hash, True), (OTHER, False)):
            asked, parts = proxy.requests, adapter.requests
            found = adapter.find(name)
            assert (found is not None) is is_known
            assert (proxy.requests - asked, adapter.requests - parts) == (1, 3)


@pytest.mark.parametrize(
    "told",
    [None, "0x0", "0x", "1791892800", 1_791_892_800, [], {}, "0x1a1346a1c00"],
    ids=["nothing", "zero", "empty", "digits", "number", "list", "object", "too late"],
)
def test_a_node_that_tells_no_time_to_believe_beside_logs_is_asked_for_the_block(base_node: Anvil, told: Any) -> None:
    tx_hash = pay(base_node)
    base_node.mine(2)
    told_beside = find(base_node.url, tx_hash)
    with RpcProxy(base_node.url) as proxy:
        proxy.fault = results(
            lambda method, result: result if method == "eth_getBlockByNumber" else with_time(result, told)
        )
        found = find(proxy.url, tx_hash)
        # The chain's id, the transaction, its block.
        assert proxy.requests == 3
    assert found == told_beside


def with_time(result: Any, told: Any) -> Any:
    """A transaction or receipt of which all parts tell this time."""
    if isinstance(result, dict):
        for part in (result, *result.get("logs", [])):
            part["blockTimestamp"] = told
    return result


def in_another_block(method: str, result: Any) -> Any:
    """A transaction or its receipt as a node tells them that has it in a block of its own."""
    if method == "eth_getTransactionByHash":
        return result | {"blockHash": OTHER}
    if method == "eth_getTransactionReceipt":
        logs = [log | {"blockHash": OTHER} for log in result["logs"]]
        return result | {"blockHash": OTHER, "logs": logs}
    return result


@pytest.mark.parametrize("depth", [0, 1])
def test_a_block_that_the_newest_ones_do_not_follow_is_refused(base_node: Anvil, depth: int) -> None:
    """Behind one address may stand several nodes, not all of them on the same fork."""
    tx_hash = pay(base_node)
    base_node.mine(depth)
    with RpcProxy(base_node.url) as proxy:
        proxy.fault = results(in_another_block)
        with pytest.raises(ReorgDuringReadError):
            find(proxy.url, tx_hash)


def test_a_transaction_that_left_the_block_of_its_receipt_is_refused(base_node: Anvil) -> None:
    tx_hash = pay(base_node)
    base_node.mine(9)
    with RpcProxy(base_node.url) as proxy:
        proxy.fault = results(
            lambda method, result: in_another_block(method, result) if method == "eth_getTransactionReceipt" else result
        )
        with pytest.raises(ReorgDuringReadError):
            find(proxy.url, tx_hash)


def test_of_times_that_contradict_each_other_none_is_believed(base_node: Anvil) -> None:
    tx_hash = pay(base_node)
    base_node.mine(2)
    told_beside = find(base_node.url, tx_hash)
    with RpcProxy(base_node.url) as proxy:
        proxy.fault = receipts(lambda told: told["logs"][0].update(blockTimestamp="0x5f000000"))
        assert find(proxy.url, tx_hash) == told_beside
