"""Published clients of the public standard pay through the gate, which asks our own facilitator: in USDC, by Permit2, on Solana."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from florin_x402 import Price
from florin_x402.config import Config
from florin_x402.wsgi import X402Wsgi
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import balance_of
from tests.clients.serving import served
from tests.contract.client import ApiClient
from tests.x402.exact.permits import Stall
from tests.x402.exact.published import bought_by_npm, bought_by_pypi
from tests.x402.exact.sellers import PRICE_UNITS, SECRET
from tests.x402.exact.shop import connect_base, open_shop
from tests.x402.exact.solana.payers import Shop, check_paid, key_of
from tests.x402.payers import pay_to_of
from x402.models import X402Payment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

Gate = Callable[..., AbstractContextManager[str]]


def report(environ: Any, start_response: Any) -> list[bytes]:
    assert environ["florin.x402"].protocol == "exact"
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(SECRET).encode()]


@pytest.fixture
def gate(live_server: LiveServer) -> Gate:
    """Sells the report for a seller at a price; gives where it is."""

    @contextmanager
    def selling(seller: ApiClient, price: str | Price = "0.01") -> Iterator[str]:
        config = Config(url=f"{live_server.url}/api/v1/x402", key=seller.key or "", prices={"/report": price})
        app = X402Wsgi(report, config)
        with served(app) as url:
            yield url
        app.gate.close()

    return selling


@pytest.mark.parametrize("client", ["pypi", "x402-fetch", "@x402/fetch"])
def test_a_published_client_buys_from_the_gate(base_node: Anvil, settings: Any, gate: Gate, client: str) -> None:
    usdc, seller, key = connect_base(settings, base_node), open_shop(), payer(base_node).key
    with gate(seller) as url:
        found = bought_by_pypi(url, key) if client == "pypi" else bought_by_npm(url, key, client)
    assert found == SECRET
    assert balance_of(base_node, usdc, pay_to_of(seller)) == PRICE_UNITS
    assert X402Payment.objects.get().resource == f"{url}/report"


@pytest.mark.parametrize("client", ["pypi", "@x402/fetch"])
def test_a_published_client_that_may_spend_usdt_buys_with_it(stall: Stall, gate: Gate, client: str) -> None:
    key, allowed = payer(stall.node).key, f"eip155:1 {stall.usdt}"
    with gate(stall.client, Price("0.01", networks=("ethereum",), token="USDT")) as url:
        found = (
            bought_by_pypi(url, key, allowed=allowed)
            if client == "pypi"
            else bought_by_npm(url, key, client, allowed=allowed)
        )
    assert found == SECRET
    assert balance_of(stall.node, stall.usdt, stall.pay_to) == PRICE_UNITS
    assert X402Payment.objects.get().token == "USDT"


@pytest.mark.parametrize("package", ["x402-fetch", "@x402/fetch"])
def test_a_published_client_buys_from_the_gate_on_solana(
    solana_stall: Shop, solana_seller: ApiClient, gate: Gate, package: str
) -> None:
    with gate(solana_seller) as url:
        page = bought_by_npm(url, key_of(solana_stall), package, solana_node=solana_stall.node.url)
    assert page == SECRET
    check_paid(solana_stall)
    assert X402Payment.objects.get().resource == f"{url}/report"
