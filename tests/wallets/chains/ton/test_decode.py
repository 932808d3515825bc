"""Reading TON through nodes that fail, lie, lag or limit: an error, or the truth."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from localnet.ton.node import TonNode
from tests.wallets.contract.hostile import Answer, Fault, HttpProxy, honest
from tests.wallets.tonlab import account_at, broken, changing, changing_rows, in_message, read_on
from wallets.chains.base import Account, ChainError, ChainUnavailableError, MalformedAnswerError
from wallets.chains.registry import load_chains, open_pool
from wallets.chains.ton.adapter import TonAdapter

TRANSFERS = ("jetton/transfers", "jetton_transfers")
RECEIPTS = ("transactions", "transactions")
WALLETS = ("jetton/wallets", "jetton_wallets")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Answer(b"<html>502</html>"), id="no JSON"),
        pytest.param(Answer(b'{"ok":true,"result":{}}'), id="another version's"),
        pytest.param(Answer(b'{"error":"x","code":422}', status=422), id="a refusal"),
    ],
)
def test_what_is_no_answer_is_an_error(
    ton_proxy: HttpProxy, proxied_ton_adapter: TonAdapter, paid_ton_account: Account, answer: Answer
) -> None:
    head = proxied_ton_adapter.head()
    ton_proxy.fault = lambda target, real: answer
    for question in (
        proxied_ton_adapter.head,
        proxied_ton_adapter.genesis,
        proxied_ton_adapter.finalized,
        lambda: read_on(proxied_ton_adapter, paid_ton_account, head=head),
    ):
        with pytest.raises((MalformedAnswerError, ChainUnavailableError)):
            question()


@pytest.mark.parametrize(
    ("where", "change"),
    [
        pytest.param(TRANSFERS, broken(transaction_hash=None), id="no hash"),
        pytest.param(TRANSFERS, broken(transaction_hash="AAAA"), id="a short hash"),
        pytest.param(TRANSFERS, broken(transaction_hash="ä" * 44), id="not base64"),
        pytest.param(TRANSFERS, broken(transaction_lt="-1"), id="negative lt"),
        pytest.param(TRANSFERS, broken(transaction_lt="9" * 20), id="huge lt"),
        pytest.param(TRANSFERS, broken(transaction_lt=1.5), id="fractional lt"),
        pytest.param(TRANSFERS, broken(transaction_now="soon"), id="no time"),
        pytest.param(TRANSFERS, broken(transaction_now=True), id="true as time"),
        pytest.param(TRANSFERS, broken(transaction_now=1), id="older than asked"),
        pytest.param(TRANSFERS, broken(destination="0:12"), id="no address"),
        pytest.param(TRANSFERS, broken(source_wallet={}), id="an object as address"),
        pytest.param(TRANSFERS, lambda row: "row", id="text as row"),
        pytest.param(RECEIPTS, broken(hash=""), id="no hash of the receipt"),
        pytest.param(RECEIPTS, broken(mc_block_seqno="x"), id="no block number"),
        pytest.param(RECEIPTS, broken(mc_block_seqno=2**40), id="huge block number"),
        pytest.param(RECEIPTS, broken(description=None), id="no description"),
        pytest.param(RECEIPTS, broken(now=None), id="no time of the receipt"),
        pytest.param(RECEIPTS, in_message(created_lt=None), id="no time of sending"),
        pytest.param(RECEIPTS, in_message(message_content=None), id="no body"),
        pytest.param(RECEIPTS, in_message(message_content={"body": "%"}), id="a garbled body"),
        pytest.param(RECEIPTS, in_message(message_content={"body": "te6cckEB"}), id="half a body"),
        pytest.param(WALLETS, broken(address=None), id="no wallet"),
        pytest.param(WALLETS, broken(jetton="0:" + "1" * 64), id="another's master"),
        pytest.param(WALLETS, broken(owner="0:" + "1" * 64), id="another's wallet"),
    ],
)
def test_a_broken_row_is_an_error(
    ton_proxy: HttpProxy,
    proxied_ton_adapter: TonAdapter,
    paid_ton_account: Account,
    where: tuple[str, str],
    change: Callable[[Any], Any],
) -> None:
    head = proxied_ton_adapter.head()
    ton_proxy.fault = changing_rows(*where, change)
    with pytest.raises(MalformedAnswerError):
        read_on(proxied_ton_adapter, paid_ton_account, head=head)
    ton_proxy.fault = honest
    assert len(read_on(proxied_ton_adapter, paid_ton_account, head=head).transfers) == 1


@pytest.mark.parametrize(
    ("where", "change"),
    [
        pytest.param(TRANSFERS, broken(transaction_aborted=True), id="aborted"),
        pytest.param(TRANSFERS, broken(jetton_master="0:" + "1" * 64), id="a fake"),
        pytest.param(TRANSFERS, broken(destination="0:" + "1" * 64), id="a stranger's"),
        pytest.param(RECEIPTS, broken(description={"aborted": True}), id="failed"),
        pytest.param(RECEIPTS, broken(description={"aborted": False, "compute_ph": {"skipped": True}}), id="skipped"),
    ],
)
def test_what_was_not_received_is_dropped_and_passed_over(
    ton_proxy: HttpProxy,
    proxied_ton_adapter: TonAdapter,
    paid_ton_account: Account,
    where: tuple[str, str],
    change: Callable[[Any], Any],
) -> None:
    ton_proxy.fault = changing_rows(*where, change)
    head = proxied_ton_adapter.head()
    reading = read_on(proxied_ton_adapter, paid_ton_account, head=head)
    assert (reading.transfers, reading.through) == ([], head.block)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(broken(mc_block_seqno=None), id="no block"),
        pytest.param(broken(mc_block_seqno=0), id="block zero"),
        pytest.param(broken(emulated=True), id="emulated"),
        pytest.param(broken(in_msg=None), id="of a clock"),
        pytest.param(in_message(bounced=True), id="bounced"),
        pytest.param(in_message(opcode="0x00000000"), id="another message"),
        pytest.param(in_message(opcode="text"), id="no opcode"),
        pytest.param(in_message(source="0:" + "1" * 64), id="from elsewhere"),
        pytest.param(in_message(created_lt="1"), id="sent before"),
        pytest.param(broken(account="0:" + "1" * 64), id="another account"),
    ],
)
def test_what_has_no_receipt_yet_is_waited_for(
    ton_proxy: HttpProxy, proxied_ton_adapter: TonAdapter, paid_ton_account: Account, change: Callable[[Any], Any]
) -> None:
    head = proxied_ton_adapter.head()
    ton_proxy.fault = changing_rows(*RECEIPTS, change)
    reading = read_on(proxied_ton_adapter, paid_ton_account, head=head)
    assert reading.transfers == []
    assert reading.through.height < head.block.height
    ton_proxy.fault = honest
    assert len(read_on(proxied_ton_adapter, paid_ton_account, head=head).transfers) == 1


def test_a_jetton_wallet_that_is_not_listed_yet_is_waited_for(
    ton_proxy: HttpProxy, proxied_ton_adapter: TonAdapter, paid_ton_account: Account
) -> None:
    head = proxied_ton_adapter.head()
    ton_proxy.fault = changing("jetton/wallets", lambda answer: {"jetton_wallets": []})
    reading = read_on(proxied_ton_adapter, paid_ton_account, head=head)
    assert (reading.transfers, reading.through.height < head.block.height) == ([], True)
    ton_proxy.fault = honest
    assert len(read_on(proxied_ton_adapter, paid_ton_account, head=head).transfers) == 1


def test_a_block_that_was_not_asked_for_is_an_error(
    ton_node: TonNode, ton_proxy: HttpProxy, proxied_ton_adapter: TonAdapter, paid_ton_account: Account
) -> None:
    ton_node.withhold_receipts()
    ton_node.pay(paid_ton_account.address, 8)
    head = proxied_ton_adapter.head()
    last = ton_node.get("masterchainInfo")["last"]
    ton_proxy.fault = changing("blocks", lambda answer: {"blocks": [last]})
    with pytest.raises(MalformedAnswerError, match="another block"):
        read_on(proxied_ton_adapter, paid_ton_account, head=head)
    ton_proxy.fault = changing("blocks", lambda answer: {"blocks": []})
    reading = read_on(proxied_ton_adapter, paid_ton_account, head=head)
    assert (reading.through.height, reading.through.time) == (paid_ton_account.height, paid_ton_account.time)


def turned_round(name: str) -> Callable[[Any], Any]:
    """A listing with its last row first."""
    return lambda answer: answer | {name: answer[name][::-1]}


def test_rows_out_of_order_are_an_error(
    ton_node: TonNode, ton_proxy: HttpProxy, proxied_ton_adapter: TonAdapter, paid_ton_account: Account
) -> None:
    ton_node.elapse(10)
    ton_node.pay(paid_ton_account.address, 8)
    head = proxied_ton_adapter.head()
    for path, name in (TRANSFERS, RECEIPTS):
        ton_proxy.fault = changing(path, turned_round(name))
        with pytest.raises(MalformedAnswerError, match="out of order"):
            read_on(proxied_ton_adapter, paid_ton_account, head=head)


def endless(target: str, answer: Answer) -> Answer:
    """Answer with more than anybody can hold."""
    return replace(answer, body=b" " * (17 << 20))


def cut_short(target: str, answer: Answer) -> Answer:
    """Break off in the middle."""
    return replace(answer, cut=max(len(answer.body) // 2, 1))


@pytest.mark.parametrize("fault", [endless, cut_short])
def test_answers_of_impossible_length_are_errors(
    ton_proxy: HttpProxy, proxied_ton_adapter: TonAdapter, paid_ton_account: Account, fault: Fault
) -> None:
    head = proxied_ton_adapter.head()
    ton_proxy.fault = fault
    with pytest.raises(ChainError):
        read_on(proxied_ton_adapter, paid_ton_account, head=head)


def test_what_a_chain_with_no_token_configured_is_asked_is_nothing(ton_node: TonNode) -> None:
    spec = replace(load_chains("local", {"TON_RPC_URLS": ton_node.url})["ton"], tokens={})
    adapter = TonAdapter(spec, open_pool(spec))
    head = adapter.head()
    account = account_at(ton_node.payer.address, head)
    before = adapter.requests
    assert read_on(adapter, account, head=head).transfers == []
    assert adapter.requests == before
    adapter.close()
