"""Payments for a browser's wallet: each thread keeps its own cashier while the chain's settings are the same."""

import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.factories import NOON
from wallets import browser_wallets
from wallets.chains.family import PaymentOrder, PreparedPayment
from wallets.chains.registry import KeptPerThread, load_chains
from wallets.chains.solana.family import SOLANA_FAMILY

SPEC = load_chains("mainnet", {"SOLANA_RPC_URLS": "https://node.example"})["solana"]
ORDER = PaymentOrder("payer", "recipient", SPEC.accepted_tokens[0], 7)


class Till:
    """A cashier that writes down what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def prepare_payments(self, orders: list[PaymentOrder], **times: Any) -> list[PreparedPayment]:
        self.asked.append((orders, times))
        return [PreparedPayment("transaction", b"raw") for _ in orders]

    def send(self, raw: bytes, signature: bytes) -> None:
        self.asked.append((raw, signature))


@pytest.fixture
def tills(monkeypatch: pytest.MonkeyPatch) -> list[Till]:
    """The cashiers that were opened."""
    opened: list[Till] = []

    def open_one(*_: Any) -> Till:
        opened.append(Till())
        return opened[-1]

    monkeypatch.setattr(SOLANA_FAMILY, "open_cashier", open_one, raising=False)
    monkeypatch.setattr(browser_wallets, "_cashiers", KeptPerThread(browser_wallets._open_cashier))
    return opened


def test_one_cashier_writes_and_sends(tills: list[Till]) -> None:
    times = {"now": NOON, "until": NOON + timedelta(minutes=30)}
    prepared = browser_wallets.prepare_payment(SPEC, ORDER, **times)
    browser_wallets.send_payment(SPEC, prepared.raw, b"signature")
    [till] = tills
    assert till.asked == [([ORDER], times), (b"raw", b"signature")]


def test_other_settings_and_other_threads_have_a_cashier_of_their_own(tills: list[Till]) -> None:
    browser_wallets.send_payment(SPEC, b"1", b"")
    other = replace(SPEC, rpc_urls=("https://other.example",))
    browser_wallets.send_payment(other, b"2", b"")
    thread = threading.Thread(target=browser_wallets.send_payment, args=(other, b"3", b""))
    thread.start()
    thread.join()
    assert [till.asked for till in tills] == [[(raw, b"")] for raw in (b"1", b"2", b"3")]
