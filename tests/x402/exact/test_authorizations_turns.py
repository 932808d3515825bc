"""Requests that are held up for longer than they have an authorisation: another one may have it by then."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from localnet.anvil import Anvil
from settlements.models import GasTransaction
from tests.contract.client import ApiClient
from tests.factories import make_merchant
from tests.nodes.proxy import Answer, Ask, Request, RpcProxy, changed, honest, methods_of
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.x402.exact.calls import settle
from x402.exact import authorizations, facilitator, waiting
from x402.exact.errors import TakenElsewhereError
from x402.exact.evm.broadcast import pool_of
from x402.exact.evm.rail import conclude_elsewhere
from x402.exact.facilitator import request_of
from x402.exact.records import fail_row
from x402.models import Authorization, X402Payment
from x402.states import AuthorizationState, PaymentStatus, Protocol

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_bells")]
UNITS = 10_000
USED = "invalid_exact_evm_nonce_already_used"
PENDING = "settlement_pending"
LEASE = timedelta(seconds=0.2)
FAILED = {"success": False, "errorReason": "said by the other one"}

Body = dict[str, Any]


class SlowEstimate:
    """Answers the first question about gas late."""

    def __init__(self) -> None:
        self.came = threading.Event()
        self.goes_on = threading.Event()

    def __call__(self, proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
        if "eth_estimateGas" not in methods_of(request) or self.came.is_set():
            return honest(proxy, request, ask)
        self.came.set()
        told = ask(request)
        self.goes_on.wait(PATIENCE_SECONDS)
        return Answer(json.dumps(told).encode())


@pytest.fixture
def slow(base_node: Anvil, usdc: str, settings: Any) -> Iterator[SlowEstimate]:
    """A node that holds the first request up."""
    with RpcProxy(base_node.url) as proxy:
        settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": proxy.url}
        proxy.fault = fault = SlowEstimate()
        yield fault
        fault.goes_on.set()


def settle_elsewhere(seller: ApiClient, body: Body, key: str = "") -> dict[str, Any]:
    try:
        return settle(seller, body, key=key)
    finally:
        connection.close()


@contextmanager
def held_up(
    slow: SlowEstimate, seller: ApiClient, body: Body, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Future[dict[str, Any]]]:
    """A settlement that has the authorisation no more, and does not know."""
    monkeypatch.setattr(authorizations, "LEASE", LEASE)
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(partial(settle_elsewhere, seller, body))
        assert slow.came.wait(PATIENCE_SECONDS)
        wait_until(lambda: not Authorization.objects.filter(taken_until__gte=timezone.now()).exists())
        try:
            yield asked
        finally:
            slow.goes_on.set()


@pytest.mark.parametrize(
    ("key", "resource"),
    [("another", None), ("", None), ("", "https://shop.example/another")],
    ids=["another key", "no key", "another resource"],
)
def test_what_another_request_settled_meanwhile_serves_that_one_alone(
    slow: SlowEstimate,
    exact_seller: ApiClient,
    signed_body: Body,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    resource: str | None,
) -> None:
    other = json.loads(json.dumps(signed_body))
    if resource:
        other["paymentPayload"]["resource"]["url"] = resource
    with held_up(slow, exact_seller, signed_body, monkeypatch) as first:
        second = settle(exact_seller, other, key=key)
    assert second["success"], second
    assert first.result()["errorReason"] == USED
    assert GasTransaction.objects.count() == 1
    bought = other["paymentPayload"]["resource"]["url"]
    assert X402Payment.objects.get().resource == bought


def test_what_another_request_ended_meanwhile_is_not_sent(
    slow: SlowEstimate, exact_seller: ApiClient, signed_body: Body, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sent it would be looked after by nobody, should the process die."""
    with held_up(slow, exact_seller, signed_body, monkeypatch) as first:
        fail_row(Authorization.objects.get(), FAILED)
    assert first.result() == FAILED | {"network": "eip155:8453"}
    assert not GasTransaction.objects.exists()
    assert settle(exact_seller, signed_body)["success"]


def test_what_was_forgotten_meanwhile_is_not_sent(
    slow: SlowEstimate, exact_seller: ApiClient, signed_body: Body, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held_up(slow, exact_seller, signed_body, monkeypatch) as first:
        Authorization.objects.all().delete()
    assert first.result()["errorReason"] == "unexpected_settle_error"
    assert not GasTransaction.objects.exists()
    assert settle(exact_seller, signed_body)["success"]


def test_who_was_held_up_does_not_end_what_another_request_sent(
    base_node: Anvil, exact_seller: ApiClient, signed_body: Body, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "RECEIPT_SECONDS", 0.05)
    base_node.set_automine(False)
    assert settle(exact_seller, signed_body)["errorReason"] == PENDING
    held_up_since = Authorization.objects.get()
    held_up_since.transaction, held_up_since.tx_hash = None, ""
    with pytest.raises(TakenElsewhereError):
        fail_row(held_up_since, FAILED)
    base_node.set_automine(True)
    base_node.mine()
    assert settle(exact_seller, signed_body)["success"]
    with pytest.raises(TakenElsewhereError):
        fail_row(held_up_since, FAILED)
    assert Authorization.objects.get().state == AuthorizationState.SETTLED


def test_what_is_begun_anew_holds_proofs_of_its_transfer_back_from_then_on(
    base_node: Anvil, exact_seller: ApiClient, signed_body: Body, settings: Any
) -> None:
    settings.GAS_DAILY_COINS = {"base": "0.0000001"}
    assert settle(exact_seller, signed_body)["errorReason"] == "unexpected_settle_error"
    long_ago = timezone.now() - timedelta(hours=3)
    Authorization.objects.update(created_at=long_ago)
    settings.GAS_DAILY_COINS = {"base": "100"}
    assert settle(exact_seller, signed_body)["success"]
    assert timezone.now() - Authorization.objects.get().created_at < timedelta(hours=1)


def make_reversed(merchant: Merchant) -> Authorization:
    """One of Solana whose payment the network took back long ago, and whose nodes are away."""
    now = timezone.now()
    values = {"merchant": merchant, "mode": Mode.LIVE, "chain": "solana"}
    values |= {"token": "USDC", "units": 1, "payer": "payer", "pay_to": "shop"}
    payment = X402Payment.objects.create(
        protocol=Protocol.EXACT,
        tx_hash="signature",
        position=0,
        required_units=1,
        status=PaymentStatus.REVERSED,
        verified_at=now,
        reversed_at=now - timedelta(hours=3),
        **values,
    )
    return Authorization.objects.create(
        nonce="digest",
        state=AuthorizationState.SENT,
        signed=b"transaction",
        tx_hash="signature",
        payment=payment,
        created_at=now - timedelta(hours=4),
        **values,
    )


def test_of_a_transaction_on_solana_the_nodes_say_when_it_can_come_back_no_more(settings: Any) -> None:
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": "http://127.0.0.1:1"}
    row = make_reversed(make_merchant())
    facilitator.finish_open(clock=timezone.now)
    row.refresh_from_db()
    assert (row.state, row.answer) == (AuthorizationState.SENT, None)


def shows_no_block_yet(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
    """A block's effects are there, and the block itself is not: nodes write one after the other."""
    if "eth_getLogs" not in methods_of(request):
        return honest(proxy, request, ask)
    return changed(request, ask(request), lambda _, __: [])


def test_a_block_seen_by_halves_fails_nothing_that_another_request_sent(
    base_node: Anvil, exact_seller: ApiClient, signed_body: Body, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "RECEIPT_SECONDS", 0.05)
    base_node.set_automine(False)
    assert settle(exact_seller, signed_body)["errorReason"] == PENDING
    row = Authorization.objects.get()
    # As whoever was held up past its lease knows it.
    row.transaction, row.tx_hash = None, ""
    base_node.set_automine(True)
    base_node.mine()
    with RpcProxy(base_node.url) as proxy:
        settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": proxy.url}
        proxy.fault = shows_no_block_yet
        request = request_of(row)
        pool, reason = pool_of(request.spec), "transaction_failed"
        with pytest.raises(TakenElsewhereError):
            conclude_elsewhere(row, request, reason, pool=pool, clock=timezone.now)
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    assert settle(exact_seller, signed_body)["success"]
