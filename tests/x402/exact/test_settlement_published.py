"""Clients of the public standard, as they are published, pay through this facilitator unchanged."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from pytest_django.live_server_helper import LiveServer

from demo.localnet.anvil import Anvil
from demo.localnet.funding import payer
from demo.localnet.tokens import balance_of
from tests.contract.client import ApiClient
from tests.x402.exact.published import bought_by_npm, bought_by_pypi, second_shop
from tests.x402.exact.sellers import PRICE_UNITS, SECRET, Shop, first_shop
from tests.x402.payers import pay_to_of
from x402.models import X402Payment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

Open = Callable[[Shop], AbstractContextManager[str]]


@pytest.fixture
def shop(exact_seller: ApiClient, usdc: str, live_server: LiveServer) -> Shop:
    """A merchant whose resource servers ask this facilitator."""
    return Shop(
        facilitator=f"{live_server.url}/api/v1/x402",
        key=exact_seller.key or "",
        pay_to=pay_to_of(exact_seller),
        asset=usdc,
    )


@pytest.mark.parametrize("open_shop", [first_shop, second_shop], ids=["v1", "v2"])
def test_the_pypi_client_pays(base_node: Anvil, shop: Shop, open_shop: Open) -> None:
    with open_shop(shop) as url:
        assert bought_by_pypi(url, payer(base_node).key) == SECRET
    check_paid(base_node, shop)


@pytest.mark.parametrize(
    ("open_shop", "package"), [(first_shop, "x402-fetch"), (second_shop, "@x402/fetch")], ids=["v1", "v2"]
)
def test_the_npm_client_pays(base_node: Anvil, shop: Shop, open_shop: Open, package: str) -> None:
    with open_shop(shop) as url:
        assert bought_by_npm(url, payer(base_node).key, package) == SECRET
    check_paid(base_node, shop)


def check_paid(node: Anvil, shop: Shop) -> None:
    """Check that the money came, once, and is in the books."""
    assert balance_of(node, shop.asset, shop.pay_to) == PRICE_UNITS
    assert int(X402Payment.objects.get().units) == PRICE_UNITS
