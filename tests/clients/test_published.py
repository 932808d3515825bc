"""Published clients of the public standard pay through the gate, which asks our own facilitator."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from demo.localnet.anvil import Anvil
from demo.localnet.funding import payer
from demo.localnet.tokens import balance_of
from florin_x402.config import Config
from florin_x402.wsgi import X402Wsgi
from tests.clients.serving import served
from tests.x402.exact.published import bought_by_npm, bought_by_pypi
from tests.x402.exact.sellers import PRICE_UNITS, SECRET
from tests.x402.exact.shop import connect_base, open_shop
from tests.x402.payers import pay_to_of
from x402.models import X402Payment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def report(environ: Any, start_response: Any) -> list[bytes]:
    assert environ["florin.x402"].protocol == "exact"
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(SECRET).encode()]


@pytest.fixture
def shop(base_node: Anvil, settings: Any, live_server: LiveServer) -> Iterator[tuple[str, str, str]]:
    """Where the report is, where its merchant is paid, and in which token."""
    usdc, seller = connect_base(settings, base_node), open_shop()
    config = Config(url=f"{live_server.url}/api/v1/x402", key=seller.key or "", prices={"/report": "0.01"})
    app = X402Wsgi(report, config)
    with served(app) as url:
        yield url, pay_to_of(seller), usdc
    app.gate.close()


@pytest.mark.parametrize("client", ["pypi", "x402-fetch", "@x402/fetch"])
def test_a_published_client_buys_from_the_gate(base_node: Anvil, shop: tuple[str, str, str], client: str) -> None:
    url, pay_to, usdc = shop
    key = payer(base_node).key
    found = bought_by_pypi(url, key) if client == "pypi" else bought_by_npm(url, key, client)
    assert found == SECRET
    assert balance_of(base_node, usdc, pay_to) == PRICE_UNITS
    payment = X402Payment.objects.get()
    assert payment.resource == f"{url}/report"
