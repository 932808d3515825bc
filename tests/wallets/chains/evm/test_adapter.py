"""Reading EVM chains through nodes that are wrong in one way at a time: never a part, never a stranger's word."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address
from tests.nodes import proxy as faults
from tests.nodes.proxy import RpcProxy
from tests.wallets.factories import address_of, make_deposit, make_watcher, read_all
from tests.wallets.paying import transfer, transfer_many
from wallets.chains.base import ChainError
from wallets.chains.evm.adapter import EvmAdapter
from wallets.models import ChainCursor, Transfer
from wallets.watchers.blocks import Watcher

pytestmark = pytest.mark.django_db
USDC = token_address("USDC")


@pytest.fixture
def watcher(base_proxy: RpcProxy) -> Iterator[Watcher]:
    watcher = make_watcher(base_proxy.url)
    yield watcher
    watcher.close()


def logs_with(**fields: Any) -> faults.Fault:
    """Put these fields into every log."""
    return on_result("eth_getLogs", lambda logs: [log | fields for log in logs])


def receipts_with(**fields: Any) -> faults.Fault:
    """Put these fields into every receipt."""
    return on_result("eth_getTransactionReceipt", lambda receipt: receipt | fields)


def blocks_with(**fields: Any) -> faults.Fault:
    """Put these fields into every block."""
    return on_result("eth_getBlockByNumber", lambda block: block | fields)


def on_result(asked: str, change: Callable[[Any], Any]) -> faults.Fault:
    return faults.results(lambda method, result: change(result) if method == asked and result else result)


def with_topics(change: Callable[[list[str]], list[str]]) -> faults.Fault:
    return on_result("eth_getLogs", lambda logs: [log | {"topics": change(log["topics"])} for log in logs])


LIES: dict[str, faults.Fault] = {
    "logs are an object": on_result("eth_getLogs", lambda _: {}),
    "a log is a string": on_result("eth_getLogs", lambda _: ["log"]),
    "a log is empty": on_result("eth_getLogs", lambda _: [{}]),
    "log twice": on_result("eth_getLogs", lambda logs: logs + logs),
    "no receipt": on_result("eth_getTransactionReceipt", lambda _: None),
    "receipt is a string": on_result("eth_getTransactionReceipt", lambda _: "0x"),
    "no topics": logs_with(topics=None),
    "empty topics": logs_with(topics=[]),
    "log of another block": logs_with(blockHash="0x" + "ab" * 32),
    "removed log": logs_with(removed=True),
    "no data": logs_with(data="0x"),
    "data is not hex": logs_with(data="0x" + "zz" * 32),
    "data is a number": logs_with(data=25),
    "log index elsewhere": logs_with(logIndex="0xffff"),
    "no log index": logs_with(logIndex=None),
    "short hash": logs_with(transactionHash="0x12"),
    "height is no hex": logs_with(blockNumber="1"),
    "no emitter": logs_with(address="0x"),
    "another event": with_topics(lambda topics: ["0x" + "11" * 32, *topics[1:]]),
    "recipient is not hex": with_topics(lambda topics: [*topics[:2], "0xzz" + topics[2][4:]]),
    "recipient is short": with_topics(lambda topics: [*topics[:2], topics[2][:-2]]),
    "sender is too long": with_topics(lambda topics: [topics[0], "0x" + "ff" * 32, topics[2]]),
    "sender is not hex": with_topics(lambda topics: [topics[0], "0xzz" + topics[1][4:], topics[2]]),
    "sender is short": with_topics(lambda topics: [topics[0], topics[1][:-2], topics[2]]),
    "failed transaction": receipts_with(status="0x0"),
    "receipt of another block": receipts_with(blockHash="0x" + "cd" * 32),
    "another receipt": receipts_with(transactionHash="0x" + "cd" * 32),
    "receipt without logs": receipts_with(logs=[]),
    "receipt logs null": receipts_with(logs=None),
    "receipt log empty": receipts_with(logs=[{}]),
    "another block": blocks_with(number="0x1"),
    "no height": blocks_with(number=None),
    "short block hash": blocks_with(hash="0x1"),
    "blocks do not link": blocks_with(parentHash="0x" + "ef" * 32),
    "year 10,000": blocks_with(timestamp="0xffffffffffff"),
    "time is a word": blocks_with(timestamp="soon"),
}


@pytest.mark.parametrize("fault", LIES.values(), ids=LIES)
def test_an_answer_that_fails_a_check_writes_nothing_and_the_truth_is_read_later(
    base_node: Anvil, base_proxy: RpcProxy, watcher: Watcher, fault: faults.Fault
) -> None:
    read_all(watcher)
    before = ChainCursor.objects.get()
    transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 25)
    base_node.mine(1)
    base_proxy.fault = fault
    with pytest.raises(ChainError):
        read_all(watcher)
    after = ChainCursor.objects.get()
    assert (after.height, after.read_through_at) == (before.height, before.read_through_at)
    assert not Transfer.objects.exists()
    assert after.last_error
    base_proxy.fault = faults.honest
    read_all(watcher)
    assert Transfer.objects.get().units == 25
    assert ChainCursor.objects.get().last_error == ""


def test_a_log_of_another_contract_is_passed_over(base_node: Anvil, base_proxy: RpcProxy, watcher: Watcher) -> None:
    transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 25)
    base_proxy.fault = logs_with(address="0x" + "66" * 20)
    read_all(watcher)
    assert not Transfer.objects.exists()


def logs_span(request: Any) -> int:
    """How many blocks a request wants the logs of, 0 if it does not name them by range."""
    question = request["params"][0] if request["method"] == "eth_getLogs" else {}
    if "fromBlock" not in question:
        return 0
    return int(question["toBlock"], 16) - int(question["fromBlock"], 16) + 1


def too_wide(request: Any) -> Any:
    error = {"code": -32614, "message": "eth_getLogs is limited to a 5 range"}
    return {"jsonrpc": "2.0", "id": request["id"], "error": error}


def test_a_provider_that_takes_few_blocks_gets_smaller_windows(
    base_node: Anvil, base_proxy: RpcProxy, watcher: Watcher
) -> None:
    to = address_of(make_deposit())
    transfer(base_node, payer(base_node), USDC, to, 25)
    base_node.mine(120)
    most = 5

    def limited(request: Any, ask: faults.Ask) -> Any:
        return too_wide(request) if logs_span(request) > most else ask(request)

    base_proxy.fault = faults.one_by_one(limited)
    read_all(watcher)
    assert Transfer.objects.get().units == 25
    cursor = ChainCursor.objects.get()
    assert cursor.height == base_node.block_number()
    assert cursor.window <= most


def test_a_node_that_takes_no_batches_is_asked_one_thing_at_a_time(
    base_node: Anvil, base_proxy: RpcProxy, watcher: Watcher
) -> None:
    transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 25)
    base_node.mine(5)

    def single(proxy: RpcProxy, request: Any, ask: faults.Ask) -> faults.Answer:
        if isinstance(request, list):
            body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"batch not allowed"}}'
            return faults.Answer(body)
        return faults.honest(base_proxy, request, ask)

    base_proxy.fault = single
    read_all(watcher)
    assert Transfer.objects.get().units == 25


def survey_now(watcher: Watcher) -> None:
    """Let the next pass compare the nodes, which it does every five seconds."""
    assert isinstance(watcher._adapter, EvmAdapter)
    watcher._adapter._next_survey = 0.0


def test_a_lagging_node_is_left_for_one_that_is_ahead(base_node: Anvil, base_proxy: RpcProxy) -> None:
    watcher = make_watcher(base_proxy.url, base_node.url)
    read_all(watcher)
    base_proxy.fault = faults.lags(base_node.block_number())
    transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 25)
    base_node.mine(5)
    survey_now(watcher)
    read_all(watcher)
    read_all(watcher)
    assert Transfer.objects.get().units == 25
    assert ChainCursor.objects.get().height == base_node.block_number()
    watcher.close()


def test_while_a_node_is_ahead_of_ours_nothing_is_vouched_for(base_node: Anvil, base_proxy: RpcProxy) -> None:
    watcher = make_watcher(base_node.url, base_proxy.url)
    read_all(watcher)
    before = ChainCursor.objects.get().read_through_at
    base_proxy.fault = faults.results(lambda method, result: hex(10**6) if method == "eth_blockNumber" else result)
    survey_now(watcher)
    watcher.tick(now=timezone.now())
    assert ChainCursor.objects.get().read_through_at == before
    watcher.close()


def test_a_node_that_claims_a_newer_head_than_it_can_show_hides_no_payment(
    base_node: Anvil, base_proxy: RpcProxy, watcher: Watcher
) -> None:
    read_all(watcher)
    height = base_node.block_number()
    base_proxy.fault = faults.claims_newer_head(height)
    transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 25)
    read_all(watcher)
    assert ChainCursor.objects.get().height == height
    base_proxy.fault = faults.honest
    read_all(watcher)
    assert Transfer.objects.get().units == 25


@pytest.mark.parametrize("is_spare", [False, True], ids=["preferred", "spare"])
@pytest.mark.parametrize(
    "method", ["eth_chainId", "eth_blockNumber", "eth_getBlockByNumber", "eth_getLogs", "eth_getTransactionReceipt"]
)
def test_a_node_that_answers_too_much_does_not_stop_its_chain(
    base_node: Anvil, base_proxy: RpcProxy, method: str, is_spare: bool
) -> None:
    urls = [base_proxy.url, base_node.url]
    watcher = make_watcher(*(reversed(urls) if is_spare else urls))
    read_all(watcher)
    transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 25)
    base_proxy.fault = faults.too_large(method)
    survey_now(watcher)
    # Each node's chain is checked again.
    watcher._chain.genesis()
    read_all(watcher)
    assert Transfer.objects.get().units == 25
    watcher.close()


def finds_nothing(behind: faults.Fault) -> faults.Fault:
    """A node that takes a block it does not have for one without logs."""

    def fault(proxy: RpcProxy, request: Any, ask: faults.Ask) -> faults.Answer:
        answers = json.loads(behind(proxy, request, ask).body)
        for answer in answers:
            if answer.get("error", {}).get("message") == "unknown block":
                del answer["error"]
                answer["result"] = []
        return faults.Answer(json.dumps(answers).encode())

    return fault


@pytest.mark.parametrize("admits_it", [True, False])
def test_a_backend_that_lacks_a_block_is_not_believed_that_nobody_paid(
    base_node: Anvil, base_proxy: RpcProxy, watcher: Watcher, admits_it: bool
) -> None:
    read_all(watcher)
    behind = faults.lags(base_node.block_number())
    if not admits_it:
        behind = finds_nothing(behind)
    transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 25)

    def balanced(proxy: RpcProxy, request: Any, ask: faults.Ask) -> faults.Answer:
        chosen = behind if "eth_getLogs" in faults.methods_of(request) else faults.honest
        return chosen(base_proxy, request, ask)

    base_proxy.fault = balanced
    with pytest.raises(ChainError):
        watcher.tick(now=timezone.now())
    assert not Transfer.objects.exists()
    base_proxy.fault = faults.honest
    read_all(watcher)
    assert Transfer.objects.get().units == 25


def test_a_node_that_stands_still_vouches_only_for_the_time_of_its_last_block(base_node: Anvil) -> None:
    watcher = make_watcher(base_node.url, NETWORK="mainnet", START_BLOCK="0")
    later = timezone.now() + timedelta(hours=1)
    read_all(watcher, now=later)
    cursor = ChainCursor.objects.get()
    assert cursor.head_at == later
    assert cursor.read_through_at == cursor.head_time
    watcher.close()


def test_many_transfers_of_one_block_are_all_read(base_node: Anvil, watcher: Watcher) -> None:
    deposits = [make_deposit() for _ in range(150)]
    payments = [(address_of(deposit), number) for number, deposit in enumerate(deposits, 1)]
    transfer_many(base_node, payer(base_node), USDC, payments)
    read_all(watcher)
    found = Transfer.objects.order_by("position").values_list("position", "units", "deposit_id")
    assert list(found) == [(n, n + 1, deposit.pk) for n, deposit in enumerate(deposits)]
