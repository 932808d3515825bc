"""One request asks for a chain's newest block, however many wait."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from demo.localnet.anvil import Anvil
from demo.localnet.authorizations import authorize
from tests.contract.client import ApiClient
from tests.nodes.proxy import RpcProxy, hangs, honest
from tests.waiting import wait_until
from tests.wallets.factories import local_spec
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.test_waiters import UNITS
from tests.x402.payers import pay_to_of
from x402.exact import waiters as waiting
from x402.exact.blocks import next_block
from x402.exact.waiters import asking

SECONDS = 30


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
