"""Published clients pay on Solana through the gate, which asks our own facilitator."""

from collections.abc import Iterator

import pytest
from pytest_django.live_server_helper import LiveServer

from florin_x402.config import Config
from florin_x402.wsgi import X402Wsgi
from tests.clients.serving import served
from tests.clients.test_published import report
from tests.contract.client import ApiClient
from tests.x402.exact.published import bought_by_npm
from tests.x402.exact.sellers import SECRET
from tests.x402.exact.solana.payers import Shop, check_paid, key_of
from x402.models import X402Payment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def url(solana_seller: ApiClient, live_server: LiveServer) -> Iterator[str]:
    """Where the report is sold, for whatever its merchant is paid in."""
    config = Config(url=f"{live_server.url}/api/v1/x402", key=solana_seller.key or "", prices={"/report": "0.01"})
    app = X402Wsgi(report, config)
    with served(app) as url:
        yield url
    app.gate.close()


@pytest.mark.parametrize("package", ["x402-fetch", "@x402/fetch"])
def test_a_published_client_buys_from_the_gate_on_solana(solana_stall: Shop, url: str, package: str) -> None:
    page = bought_by_npm(url, key_of(solana_stall), package, solana_node=solana_stall.node.url)
    assert page == SECRET
    check_paid(solana_stall)
    assert X402Payment.objects.get().resource == f"{url}/report"
