"""Published clients of the public standard pay through the gate in USDT, by Permit2."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from demo.localnet.funding import payer
from demo.localnet.tokens import balance_of
from florin_x402 import Price
from florin_x402.config import Config
from florin_x402.wsgi import X402Wsgi
from tests.clients.serving import served
from tests.x402.exact.permits import Stall
from tests.x402.exact.published import bought_by_npm, bought_by_pypi
from tests.x402.exact.sellers import PRICE_UNITS, SECRET
from x402.models import X402Payment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def report(environ: Any, start_response: Any) -> list[bytes]:
    payment = environ["florin.x402"]
    assert (payment.protocol, payment.token) == ("exact", "USDT")
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(SECRET).encode()]


@pytest.fixture
def shop(stall: Stall, live_server: LiveServer) -> Iterator[str]:
    """Where the report is."""
    config = Config(
        url=f"{live_server.url}/api/v1/x402",
        key=stall.client.key or "",
        prices={"/report": Price("0.01", networks=("ethereum",), token="USDT")},
    )
    app = X402Wsgi(report, config)
    with served(app) as url:
        yield url
    app.gate.close()


@pytest.mark.parametrize("client", ["pypi", "@x402/fetch"])
def test_a_published_client_that_may_spend_usdt_buys_with_it(stall: Stall, shop: str, client: str) -> None:
    key = payer(stall.node).key
    allowed = f"eip155:1 {stall.usdt}"
    found = (
        bought_by_pypi(shop, key, allowed=allowed)
        if client == "pypi"
        else bought_by_npm(shop, key, client, allowed=allowed)
    )
    assert found == SECRET
    assert balance_of(stall.node, stall.usdt, stall.pay_to) == PRICE_UNITS
    assert X402Payment.objects.get().token == "USDT"
