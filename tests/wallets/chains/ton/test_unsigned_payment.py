"""The jetton transfer that a payer signs on TON, and what nodes may answer when it is prepared, however wrong."""

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from localnet.ton.node import TonNode
from tests.wallets.contract.hostile import Answer, HttpProxy
from wallets.chains.base import ChainError
from wallets.chains.family import NotEnoughError, PaymentOrder, TransactionRefusedError
from wallets.chains.registry import load_chains, open_pool
from wallets.chains.ton.address import address_key
from wallets.chains.ton.family import TON_FAMILY
from wallets.chains.ton.unsigned_payment import ATTACHED_NANOTONS, VALID_FOR, TonCashier

NOW = datetime(2026, 3, 1, 12, 0, 0, 500_000, tzinfo=UTC)
LATER = NOW + timedelta(minutes=30)


def cashier_of(node: TonNode, url: str, network: str = "local") -> tuple[TonCashier, PaymentOrder]:
    spec = load_chains(network, {"TON_RPC_URLS": url, "TON_TOKEN_USDT": node.usdt})["ton"]
    order = PaymentOrder(node.payer.address, node.create_wallet().address, spec.tokens["USDT"], 100, memo="po_live_a")
    return TonCashier(spec, open_pool(spec)), order


def test_the_request_names_the_owners_jetton_wallet_and_ends(ton_node: TonNode) -> None:
    cashier, order = cashier_of(ton_node, ton_node.url)
    [prepared] = cashier.prepare_payments([order], now=NOW, until=LATER)
    begins_until = NOW.replace(microsecond=0) + VALID_FOR
    assert prepared.transaction["valid_until"] == int(begins_until.timestamp())
    # What the wallet began in the last second still has to reach its jetton wallet.
    assert prepared.valid_until == begins_until + timedelta(minutes=2)
    assert (prepared.raw, prepared.tx_hash, prepared.last_height) == (b"", "", None)
    [message] = prepared.transaction["messages"]
    assert address_key(message["address"]) == address_key(ton_node.jetton_wallet(ton_node.payer.address))
    assert message["amount"] == str(ATTACHED_NANOTONS)
    [sooner] = cashier.prepare_payments([order], now=NOW, until=NOW + timedelta(seconds=60))
    assert sooner.transaction["valid_until"] == int(NOW.timestamp()) + 60


def test_several_orders_are_one_request_as_far_as_the_balance_goes(ton_node: TonNode) -> None:
    cashier, order = cashier_of(ton_node, ton_node.url)
    payer = ton_node.create_wallet(units=300).address
    orders = [replace(order, payer=payer, memo=f"po_live_{n}") for n in range(4)]
    prepared = cashier.prepare_payments(orders, now=NOW, until=LATER)
    assert len(prepared) == 3
    request = TON_FAMILY.joined([one.transaction for one in prepared])
    assert request == {**prepared[0].transaction, "messages": [one.transaction["messages"][0] for one in prepared]}
    assert {one.valid_until for one in prepared} == {prepared[0].valid_until}
    texts = [base64.b64decode(message["payload"]) for message in request["messages"]]
    assert all(f"po_live_{n}".encode() in text for n, text in enumerate(texts))


def test_the_wallet_sends_it(ton_node: TonNode) -> None:
    cashier, _ = cashier_of(ton_node, ton_node.url)
    with pytest.raises(TransactionRefusedError):
        cashier.send(b"", b"")
    with pytest.raises(NotImplementedError):
        cashier.passed(1)


def rows_of(answer: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(answer)["jetton_wallets"]
    return found


WRONG: dict[str, Any] = {
    "no list": lambda rows: {"jetton_wallets": 7},
    "nothing": lambda rows: {},
    "a stranger's": lambda rows: {"jetton_wallets": [rows[0] | {"owner": rows[0]["jetton"]}]},
    "of another token": lambda rows: {"jetton_wallets": [rows[0] | {"jetton": rows[0]["owner"]}]},
    "two of one owner": lambda rows: {"jetton_wallets": [rows[0], rows[0]]},
    "a balance that is none": lambda rows: {"jetton_wallets": [rows[0] | {"balance": "-1"}]},
    "no balance": lambda rows: {"jetton_wallets": [rows[0] | {"balance": None}]},
    "a row that is none": lambda rows: {"jetton_wallets": [None]},
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_answer_is_an_error_of_the_chain(case: str, ton_node: TonNode, ton_proxy: HttpProxy) -> None:
    cashier, order = cashier_of(ton_node, f"{ton_proxy.url}")
    ton_proxy.fault = lambda target, answer: (
        Answer(json.dumps(WRONG[case](rows_of(answer.body))).encode()) if "jetton/wallets" in target else answer
    )
    with pytest.raises(ChainError):
        cashier.prepare_payments([order], now=NOW, until=LATER)


def test_who_never_held_the_token_has_too_little(ton_node: TonNode) -> None:
    cashier, order = cashier_of(ton_node, ton_node.url)
    poor = PaymentOrder(ton_node.create_wallet().address, order.recipient, order.token, 1)
    rich = PaymentOrder(order.payer, order.recipient, order.token, 10**30)
    for each in (poor, rich):
        with pytest.raises(NotEnoughError):
            cashier.prepare_payments([each], now=NOW, until=LATER)
