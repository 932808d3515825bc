"""A TON payment is found by every hash a wallet or an explorer shows of it, and not more is believed than is told."""

import base64
import json
from collections.abc import Callable
from typing import Any, cast

import pytest

from localnet.ton.messages import Envelope, Payment, transfer_body
from localnet.ton.node import TonNode
from tests.wallets.contract.accountlabs import TonLab
from tests.wallets.contract.hostile import Answer, Fault, HttpProxy
from tests.wallets.contract.labs import Wallet
from wallets.chains.base import (
    AccountAdapter,
    BlockRef,
    ChainUnavailableError,
    FoundTransaction,
    MalformedAnswerError,
    TokenTransfer,
)
from wallets.chains.ton import find as ton_find
from wallets.chains.ton import questions as ton_questions


@pytest.fixture
def lab(ton_node: TonNode) -> TonLab:
    return TonLab(ton_node)


def observe(lab: TonLab, since: BlockRef, wallet: Wallet) -> list[TokenTransfer]:
    """What watchers read of a wallet."""
    with lab.opened() as adapter:
        return lab.observe(cast("AccountAdapter", adapter), since, wallet)


def find(lab: TonLab, tx_hash: str, *urls: str) -> FoundTransaction | None:
    with lab.opened(*urls) as adapter:
        return adapter.find(tx_hash)


def digits(text: str) -> str:
    return base64.b64decode(text).hex()


def changing(name: str, change: Callable[[Any], None]) -> Fault:
    """Change the answers of one path."""

    def fault(target: str, answer: Answer) -> Answer:
        if f"/{name}?" not in target:
            return answer
        told = json.loads(answer.body)
        change(told)
        return Answer(json.dumps(told).encode())

    return fault


def test_a_payment_is_found_by_every_hash_of_its_trace(lab: TonLab, ton_node: TonNode) -> None:
    wallet, since = lab.create_wallet(), lab.mark()
    tx_hash = lab.pay((wallet, 25))
    read = observe(lab, since, wallet)
    [trace] = ton_node.get("traces", tx_hash=tx_hash)["traces"]
    signed = trace["transactions"][trace["transactions_order"][0]]["in_msg"]
    assert signed["hash"] != signed["hash_norm"]
    names = {tx_hash, digits(signed["hash"]), digits(signed["hash_norm"])}
    names |= {digits(one) for one in trace["transactions_order"]}
    assert len(names) > 4
    for name in names:
        found = find(lab, name)
        assert found is not None
        assert found.tx_hash == name
        assert list(found.transfers) == read
        assert (found.succeeded, found.block_height) == (True, read[0].block_height)


def test_of_what_an_exchange_pays_at_once_every_part_has_its_own_hash(lab: TonLab) -> None:
    wallets = [lab.create_wallet() for _ in range(4)]
    tx_hash = lab.pay(*((wallet, 5 + n) for n, wallet in enumerate(wallets)))
    found = find(lab, tx_hash)
    assert found is not None
    assert {one.tx_hash for one in found.transfers} >= {tx_hash}
    assert len({one.tx_hash for one in found.transfers}) == 4
    assert sorted(one.units for one in found.movements if one.token) == [5, 6, 7, 8]


def test_what_is_left_of_fees_and_comes_back_is_no_payment(lab: TonLab) -> None:
    found = find(lab, lab.pay((lab.create_wallet(), 25)))
    assert found is not None
    assert [one.token for one in found.movements] == ["USDT"]


def test_what_a_master_gives_out_is_no_transfer_to_a_watcher(lab: TonLab, ton_node: TonNode) -> None:
    wallet, since = lab.create_wallet(), lab.mark()
    ton_node.mint(wallet.address, 25)
    [row] = ton_node.get("transactions", account=ton_node.jetton_wallet(wallet.address), limit=1)["transactions"]
    found = find(lab, digits(row["hash"]))
    assert found is not None
    assert list(found.transfers) == []
    assert observe(lab, since, wallet) == []


def test_coin_that_comes_back_was_not_received(lab: TonLab, ton_node: TonNode) -> None:
    # A contract that takes no such message: the payer's own jetton wallet.
    to = ton_node.jetton_wallet(ton_node.payer.address)
    order = transfer_body(Payment(ton_node.payer.address, 10**18), response=ton_node.payer.address, query_id=7)
    ton_node.send_envelopes([Envelope(to, 10**8, order)], payer=ton_node.payer)
    [row] = ton_node.get("transactions", account=to, limit=1)["transactions"]
    found = find(lab, digits(row["hash"]))
    assert found is not None
    assert (found.succeeded, list(found.movements)) == (False, [])


def test_a_trace_that_is_too_long_to_be_told_is_found_by_its_last_part(lab: TonLab, ton_node: TonNode) -> None:
    wallet = lab.create_wallet()
    tx_hash = lab.pay((wallet, 25))

    def cut(told: Any) -> None:
        for trace in told["traces"]:
            trace |= {"is_incomplete": True, "transactions": {}}

    with HttpProxy(lab.url) as proxy:
        proxy.fault = changing("traces", cut)
        found = find(lab, tx_hash, proxy.url)
    assert found is not None
    assert [one.units for one in found.transfers] == [25]


def arrivals(trace: Any) -> list[str]:
    """A trace's transactions by which jettons arrived, in their order."""
    transactions = trace["transactions"]
    return [one for one in trace["transactions_order"] if transactions[one]["in_msg"]["opcode"] == "0x178d4519"]


def under_way(*, arrived: int) -> Fault:
    """Tell traces as an index does while messages are under way: so many of their jettons have arrived."""

    def change(told: Any) -> None:
        for trace in told["traces"]:
            for name in arrivals(trace)[arrived:]:
                del trace["transactions"][name]
            trace["trace_info"]["trace_state"] = "pending"
            assert trace["is_incomplete"] is False

    return changing("traces", change)


def root_of(node: TonNode, tx_hash: str) -> str:
    """The hash of a trace's first transaction: that of the payer's own wallet."""
    [trace] = node.get("traces", tx_hash=tx_hash)["traces"]
    return digits(trace["transactions_order"][0])


def test_a_payment_waits_while_its_message_is_under_way(lab: TonLab, ton_node: TonNode) -> None:
    root = root_of(ton_node, lab.pay((lab.create_wallet(), 25)))
    with HttpProxy(lab.url) as proxy:
        proxy.fault = under_way(arrived=0)
        found = find(lab, root, proxy.url)
    assert found is not None
    assert (found.succeeded, found.block_height, found.block_time) == (True, None, None)
    assert (list(found.movements), found.is_final) == ([], False)


def test_what_has_arrived_is_told_and_that_more_is_to_come(lab: TonLab, ton_node: TonNode) -> None:
    root = root_of(ton_node, lab.pay((lab.create_wallet(), 5), (lab.create_wallet(), 7)))
    with HttpProxy(lab.url) as proxy:
        proxy.fault = under_way(arrived=1)
        found = find(lab, root, proxy.url)
    assert found is not None
    assert (len(found.movements), len(found.transfers)) == (1, 1)
    assert not found.is_whole
    whole = find(lab, root)
    assert whole is not None
    assert (len(whole.movements), whole.is_whole) == (2, True)


def test_another_trace_than_was_asked_for_is_refused(lab: TonLab) -> None:
    mine, others = (lab.pay((lab.create_wallet(), units)) for units in (5, 7))
    with HttpProxy(lab.url) as proxy:

        def swap(target: str, answer: Answer) -> Answer:
            if "/traces?" not in target:
                return answer
            return proxy._ask("GET", target.replace(mine, others), b"", {})

        proxy.fault = swap
        with pytest.raises(MalformedAnswerError):
            find(lab, mine, proxy.url)


def test_a_jetton_wallet_that_a_node_lists_unasked_is_refused(lab: TonLab) -> None:
    tx_hash = lab.pay((lab.create_wallet(), 25))

    def strange(told: Any) -> None:
        for row in told["jetton_wallets"]:
            row["address"] = "0:" + "AB" * 32

    with HttpProxy(lab.url) as proxy:
        proxy.fault = changing("jetton/wallets", strange)
        with pytest.raises(MalformedAnswerError):
            find(lab, tx_hash, proxy.url)


def test_an_account_that_no_index_calls_a_jetton_wallet_is_none(lab: TonLab) -> None:
    tx_hash = lab.pay((lab.create_wallet(), 25))

    def unlist(told: Any) -> None:
        told["jetton_wallets"].clear()

    with HttpProxy(lab.url) as proxy:
        proxy.fault = changing("jetton/wallets", unlist)
        found = find(lab, tx_hash, proxy.url)
    assert found is not None
    assert (list(found.transfers), list(found.movements)) == ([], [])
    # An index may list a new jetton wallet later: that is no failure of the payer's.
    assert found.succeeded


def test_more_than_can_be_asked_about_is_told_as_such(lab: TonLab, monkeypatch: pytest.MonkeyPatch) -> None:
    wallets: list[Wallet] = [lab.create_wallet() for _ in range(3)]
    tx_hash = lab.pay(*((wallet, 5) for wallet in wallets))
    monkeypatch.setattr(ton_find, "MOST_RECEIPTS", 2)
    with pytest.raises(ChainUnavailableError):
        find(lab, tx_hash)


def test_a_look_up_takes_few_requests(lab: TonLab) -> None:
    tx_hash = lab.pay((lab.create_wallet(), 25))
    with lab.opened() as adapter:
        adapter.find(tx_hash)
        assert adapter.requests == 3
        adapter.find("00" * 32)
        assert adapter.requests == 5
    assert ton_questions.AT_ONCE == 100
