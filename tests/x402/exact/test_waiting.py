"""Whoever waits for a slow chain holds no thread, and whoever cannot wait is refused before anything is sent."""

import json
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from accounts.states import Mode
from localnet.anvil import Anvil
from localnet.authorizations import authorize
from settlements.models import GasTransaction
from tests.contract.client import Answer, ApiClient, client_of
from tests.contract.servers import THREADS, Server, running_servers
from tests.nodes.proxy import RpcProxy, hangs, honest
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.wallets.factories import local_spec
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.processes import environment
from tests.x402.payers import pay_to_of
from x402.exact import waiting
from x402.exact.waiting import Waiting, asking, has_place, next_block
from x402.models import X402Payment

UNITS = 10_000
BLOCK_SECONDS = 2.0


def post(server: Server, key: str | None, path: str, body: Any) -> Answer:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    return server.send("POST", path, json.dumps(body).encode(), headers)


def pay(server: Server, key: str | None, body: Any) -> Answer:
    """What a published middleware does: it verifies, and settles what is valid."""
    told = post(server, key, "/x402/verify", body)
    if not told.body["isValid"]:
        return told
    return post(server, key, "/x402/settle", body)


@contextmanager
def paying(
    server: Server, seller: ApiClient, node: Anvil, usdc: str, *, payers: int
) -> Iterator[Mapping[Future[Answer], Any]]:
    """Payers who all come at once: what each is answered, and with what body it asked."""
    to = pay_to_of(seller)
    first, *bodies = [body_of(authorize(node, to, UNITS), usdc) for _ in range(payers + 1)]
    # A process loads its libraries first, which takes as long as a node that hangs.
    assert post(server, seller.key, "/x402/settle", first).body["success"]
    with ThreadPoolExecutor(payers) as threads:
        yield {threads.submit(pay, server, seller.key, one): one for one in bodies}


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("no_bells")
def test_checkouts_are_answered_while_more_settlements_wait_than_there_are_threads(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, tmp_path: Path
) -> None:
    shop = client_of(exact_seller.merchant, Mode.TEST)
    order = {"amount": "25.00", "currency": "USD"}
    given = environment(base_node.url) | {"WEB_THREADS": str(THREADS)}
    payers = 3 * THREADS
    with (
        running_servers(1, tmp_path, given) as (server,),
        paying(server, exact_seller, base_node, usdc, payers=payers) as asked,
    ):
        base_node.set_automine(False)
        wait_until(lambda: GasTransaction.objects.count() == payers + 1)
        created = post(server, shop.key, "/checkouts", order)
        assert created.status == 201
        waiting_ones = sum(not one.done() for one in asked)
        base_node.set_automine(True)
        base_node.mine()
        assert waiting_ones > THREADS
        assert all(one.result().body["success"] for one in asked)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("no_bells")
@pytest.mark.parametrize("payers", [40, 200])
def test_whoever_pays_is_served(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, tmp_path: Path, payers: int
) -> None:
    """On blocks of two seconds. Two hundred may be too many to be served; then they have not paid either."""
    given = environment(base_node.url) | {"WEB_THREADS": "24"}
    with running_servers(1, tmp_path, given) as (server,):
        with paying(server, exact_seller, base_node, usdc, payers=payers) as asked:
            base_node.set_automine(False)
            while not all(one.done() for one in asked):
                time.sleep(BLOCK_SECONDS)
                base_node.mine()
            base_node.set_automine(True)
        told = [one.result().body for one in asked]
        if payers == 40:
            # A machine that stands still looks like a node that hangs, and some are refused. They may ask again.
            told += [
                pay(server, exact_seller.key, body).body
                for one, body in asked.items()
                if not one.result().body.get("success")
            ]
    served = [one["transaction"] for one in told if one.get("success")]
    refused = [one for one in told if not one.get("success")]
    assert len(set(served)) == len(served)
    assert all(
        one.get("invalidReason") == "unexpected_verify_error"
        or (one["errorReason"], one["transaction"]) == ("unexpected_settle_error", "")
        for one in refused
    ), refused
    assert X402Payment.objects.count() == len(served) + 1
    assert GasTransaction.objects.count() == len(served) + 1
    if payers == 40:
        assert len(served) == payers


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("no_bells")
def test_who_has_no_place_to_wait_is_refused_before_anything_is_sent(
    exact_seller: ApiClient, signed_body: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context:
        context.setattr(waiting, "MOST_WAITING", 0)
        verified, settled = verify(exact_seller, signed_body), settle(exact_seller, signed_body)
    assert verified["isValid"] is False
    assert verified["invalidReason"] == "unexpected_verify_error"
    assert settled["success"] is False
    assert settled["errorReason"] == "unexpected_settle_error"
    assert settled["transaction"] == ""
    assert not GasTransaction.objects.exists()
    assert settle(exact_seller, signed_body)["success"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("no_bells")
def test_places_are_given_back(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "MOST_WAITING", 2)
    for _ in range(3):
        body = body_of(authorize(base_node, pay_to_of(exact_seller), UNITS), usdc)
        assert settle(exact_seller, body)["success"]
        assert has_place("base")


def test_one_chain_leaves_places_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MOST_WAITING", 8)
    waiters = [Waiting() for _ in range(9)]
    try:
        on_one = [one.enter("ethereum") for one in waiters]
        assert on_one == [True] * 6 + [False] * 3
        assert [one.enter("base") for one in waiters[6:]] == [True, True, False]
        waiters[0].leave()
        assert waiters[8].enter("base")
    finally:
        for one in waiters:
            one.leave()


def test_a_place_whose_request_was_never_called_again_is_free_some_time_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MOST_WAITING", 2)
    lost, other = Waiting(), Waiting()
    assert lost.enter("base")
    assert not other.enter("base")
    monkeypatch.setattr(waiting, "_LOST_SECONDS", 0.0)
    assert other.enter("base")
    other.leave()


SECONDS = PATIENCE_SECONDS


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("no_bells")
def test_nodes_that_answer_nothing_are_not_asked_by_everybody(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_SLOW_SECONDS", 0.05)
    settings.WEB_THREADS = 6
    body = body_of(authorize(base_node, pay_to_of(exact_seller), UNITS), usdc)
    with RpcProxy(base_node.url) as proxy, ThreadPoolExecutor(1) as threads:
        proxy.fault = hangs
        settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": proxy.url}
        first = threads.submit(in_a_thread, verify, exact_seller, body)
        wait_until(lambda: not may_ask("base"))
        assert may_ask("polygon")
        assert verify(exact_seller, body)["invalidReason"] == "unexpected_verify_error"
        assert settle(exact_seller, body)["errorReason"] == "unexpected_settle_error"
        assert not first.done()
        proxy.fault = honest
        proxy.released.set()
        first.result()
        assert settle(exact_seller, body)["success"]


def test_who_waits_for_a_block_is_told_even_after_an_error_that_nobody_foresaw(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = local_spec("http://127.0.0.1:9")

    def broken(*_: Any) -> object:
        raise TypeError("unhashable type: 'list'")

    monkeypatch.setattr(type(spec.family), "ask_newest", broken)
    for _ in range(2):
        told = next_block(spec, at_least=0, at_most=0.02, every=0.01)
        assert told.result(timeout=SECONDS) is None


def in_a_thread(ask: Any, *asked: Any) -> Any:
    try:
        return ask(*asked)
    finally:
        connection.close()


def may_ask(chain: str) -> bool:
    with asking(chain) as is_asked:
        return is_asked
