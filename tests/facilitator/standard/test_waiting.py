"""Whoever waits for a slow chain leaves the process to others, and its payment is on its way all the same."""

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.db import connection

from accounts.states import Mode
from facilitator.models import X402Payment
from facilitator.standard import waiting
from facilitator.standard.waiting import asking, waiting_for, waiting_place
from settlements.models import GasTransaction
from tests.contract.client import Answer, ApiClient, client_of
from tests.contract.servers import THREADS, Server, running_servers
from tests.facilitator.paying import pay_to_of
from tests.facilitator.standard.asking import settle, verify
from tests.facilitator.standard.bodies import body_of
from tests.facilitator.standard.processes import environment
from tests.nodes.anvil import Anvil
from tests.nodes.authorizing import authorize
from tests.nodes.proxy import RpcProxy, hangs, honest
from tests.waiting import comes_true, wait_until

UNITS = 10_000
PENDING = "settlement_pending"
SETTLEMENTS = THREADS + 2


def post(server: Server, key: str | None, path: str, body: Any) -> Answer:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    return server.send("POST", path, json.dumps(body).encode(), headers)


@contextmanager
def settling(
    server: Server, seller: ApiClient, node: Anvil, usdc: str
) -> Iterator[list[Future[Answer]]]:
    """More settlements than the server has threads, on a chain that makes no blocks until the end."""
    to = pay_to_of(seller)
    first, *bodies = [
        body_of(authorize(node, to, UNITS), usdc) for _ in range(SETTLEMENTS + 1)
    ]
    # A process loads its libraries first, which takes as long as a node that hangs.
    assert post(server, seller.key, "/x402/settle", first).body["success"]
    node.set_automine(False)
    with ThreadPoolExecutor(SETTLEMENTS) as threads:
        try:
            yield [
                threads.submit(post, server, seller.key, "/x402/settle", body)
                for body in bodies
            ]
        finally:
            node.set_automine(True)
            node.mine()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_no_bells")
@pytest.mark.parametrize(
    ("threads", "is_answered"), [(THREADS, True), (10 * THREADS, False)]
)
def test_checkouts_are_answered_while_settlements_wait_for_a_silent_chain(
    base_node: Anvil,
    seller: ApiClient,
    usdc: str,
    tmp_path: Path,
    threads: int,
    is_answered: bool,
) -> None:
    """The second case is the control: a process that believes it has more threads than it has."""
    shop = client_of(seller.merchant, Mode.TEST)
    given = environment(base_node.url) | {"WEB_THREADS": str(threads)}
    order = {"amount": "25.00", "currency": "USD"}
    with (
        running_servers(1, tmp_path, given) as (server,),
        ThreadPoolExecutor(1) as buyers,
        settling(server, seller, base_node, usdc) as asked,
    ):
        wait_until(lambda: GasTransaction.objects.count() > THREADS, seconds=30)
        created = buyers.submit(post, server, shop.key, "/checkouts", order)
        assert comes_true(created.done, seconds=15 if is_answered else 1) is is_answered
        if is_answered:
            assert created.result().status == 201
            # All but the one that has a place, or that waited for too long meanwhile.
            ended = SETTLEMENTS - 1
            wait_until(lambda: sum(one.done() for one in asked) >= ended, seconds=30)
            assert GasTransaction.objects.count() == SETTLEMENTS + 1
    for one in asked:
        told = one.result().body
        assert told["success"] or told["errorReason"] == PENDING
        assert told["transaction"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_no_bells")
def test_a_payment_without_a_place_to_wait_is_sent_and_settled_by_asking_again(
    base_node: Anvil, seller: ApiClient, usdc: str
) -> None:
    body = body_of(authorize(base_node, pay_to_of(seller), UNITS), usdc)
    base_node.set_automine(False)
    with full_of_waiters("base"):
        first = settle(seller, body)
        again = settle(seller, body)
    assert (first["errorReason"], again["errorReason"]) == (PENDING, PENDING)
    base_node.set_automine(True)
    base_node.mine()
    answer = settle(seller, body)
    assert answer["success"], answer
    assert {first["transaction"], again["transaction"]} == {answer["transaction"]}
    assert X402Payment.objects.count() == GasTransaction.objects.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_no_bells")
def test_nodes_that_answer_nothing_are_not_asked_by_everybody(
    base_node: Anvil,
    seller: ApiClient,
    usdc: str,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "_SLOW_SECONDS", 0.05)
    settings.WEB_THREADS = 6
    body = body_of(authorize(base_node, pay_to_of(seller), UNITS), usdc)
    with RpcProxy(base_node.url) as proxy, ThreadPoolExecutor(1) as threads:
        proxy.fault = hangs
        settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": proxy.url}
        first = threads.submit(in_a_thread, verify, seller, body)
        wait_until(lambda: not may_ask("base"))
        assert may_ask("polygon")
        assert verify(seller, body)["invalidReason"] == "unexpected_verify_error"
        assert settle(seller, body)["errorReason"] == "unexpected_settle_error"
        assert not first.done()
        proxy.fault = honest
        proxy.released.set()
        first.result()
        assert settle(seller, body)["success"]


def in_a_thread(ask: Any, *asked: Any) -> Any:
    try:
        return ask(*asked)
    finally:
        connection.close()


def may_ask(chain: str) -> bool:
    with asking(chain) as is_asked:
        return is_asked


def test_one_chain_leaves_places_to_others_and_all_of_them_half_of_the_threads() -> (
    None
):
    with full_of_waiters("ethereum"):
        assert waiting_for("ethereum") == 3 * configured.WEB_THREADS // 8
        with full_of_waiters("base"):
            both = waiting_for("ethereum") + waiting_for("base")
            assert both == configured.WEB_THREADS // 2
        with waiting_place("base") as has_place:
            assert has_place


@contextmanager
def full_of_waiters(chain: str) -> Iterator[None]:
    """All places for a chain are taken."""
    with waiting_place(chain) as has_place:
        if not has_place:
            yield
            return
        with full_of_waiters(chain):
            yield
