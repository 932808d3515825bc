"""Reading TON through nodes that fail, lie, lag or limit: an error, or the truth."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from localnet.ton.node import TonNode
from tests.cases import case
from tests.wallets.contract.hostile import Answer, Fault, HttpProxy, honest
from tests.wallets.tonlab import account_at, broken, changing, changing_rows, in_message, open_ton, read_on
from wallets.chains.base import Account, ChainError, ChainUnavailableError, MalformedAnswerError
from wallets.chains.registry import load_chains, open_pool
from wallets.chains.ton.adapter import TonAdapter

TRANSFERS = ("jetton/transfers", "jetton_transfers")
RECEIPTS = ("transactions", "transactions")
WALLETS = ("jetton/wallets", "jetton_wallets")


@contextmanager
def new_reader(node: TonNode, proxy: HttpProxy) -> Iterator[TonAdapter]:
    """A reader through the proxy that remembers nothing."""
    adapter = open_ton(node, proxy.url)
    try:
        yield adapter
    finally:
        adapter.close()


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


BROKEN: dict[str, tuple[tuple[str, str], Callable[[Any], Any]]] = {
    "no hash": (TRANSFERS, broken(transaction_hash=None)),
    "a short hash": (TRANSFERS, broken(transaction_hash="AAAA")),
    "not base64": (TRANSFERS, broken(transaction_hash="ä" * 44)),
    "negative lt": (TRANSFERS, broken(transaction_lt="-1")),
    "huge lt": (TRANSFERS, broken(transaction_lt="9" * 20)),
    "fractional lt": (TRANSFERS, broken(transaction_lt=1.5)),
    "no time": (TRANSFERS, broken(transaction_now="soon")),
    "true as time": (TRANSFERS, broken(transaction_now=True)),
    "older than asked": (TRANSFERS, broken(transaction_now=1)),
    "no address": (TRANSFERS, broken(destination="0:12")),
    "an object as address": (TRANSFERS, broken(source_wallet={})),
    "text as row": (TRANSFERS, lambda row: "row"),
    "no hash of the receipt": (RECEIPTS, broken(hash="")),
    "no block number": (RECEIPTS, broken(mc_block_seqno="x")),
    "huge block number": (RECEIPTS, broken(mc_block_seqno=2**40)),
    "no description": (RECEIPTS, broken(description=None)),
    "no time of the receipt": (RECEIPTS, broken(now=None)),
    "no time of sending": (RECEIPTS, in_message(created_lt=None)),
    "no body": (RECEIPTS, in_message(message_content=None)),
    "a garbled body": (RECEIPTS, in_message(message_content={"body": "%"})),
    "half a body": (RECEIPTS, in_message(message_content={"body": "te6cckEB"})),
    "no wallet": (WALLETS, broken(address=None)),
    "another's master": (WALLETS, broken(jetton="0:" + "1" * 64)),
    "another's wallet": (WALLETS, broken(owner="0:" + "1" * 64)),
}


def test_a_broken_row_is_an_error(ton_node: TonNode, ton_proxy: HttpProxy, paid_ton_account: Account) -> None:
    for name, (where, change) in BROKEN.items():
        with case(name), new_reader(ton_node, ton_proxy) as adapter:
            head = adapter.head()
            ton_proxy.fault = changing_rows(*where, change)
            with pytest.raises(MalformedAnswerError):
                read_on(adapter, paid_ton_account, head=head)
            ton_proxy.fault = honest
            assert len(read_on(adapter, paid_ton_account, head=head).transfers) == 1


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


WITHOUT_RECEIPT = {
    "no block": broken(mc_block_seqno=None),
    "block zero": broken(mc_block_seqno=0),
    "emulated": broken(emulated=True),
    "of a clock": broken(in_msg=None),
    "bounced": in_message(bounced=True),
    "another message": in_message(opcode="0x00000000"),
    "no opcode": in_message(opcode="text"),
    "from elsewhere": in_message(source="0:" + "1" * 64),
    "sent before": in_message(created_lt="1"),
    "another account": broken(account="0:" + "1" * 64),
}


def test_what_has_no_receipt_yet_is_waited_for(
    ton_node: TonNode, ton_proxy: HttpProxy, paid_ton_account: Account
) -> None:
    for name, change in WITHOUT_RECEIPT.items():
        with case(name), new_reader(ton_node, ton_proxy) as adapter:
            head = adapter.head()
            ton_proxy.fault = changing_rows(*RECEIPTS, change)
            reading = read_on(adapter, paid_ton_account, head=head)
            assert reading.transfers == []
            assert reading.through.height < head.block.height
            ton_proxy.fault = honest
            assert len(read_on(adapter, paid_ton_account, head=head).transfers) == 1


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
