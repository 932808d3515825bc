"""Clients of the public standard, as they are published, pay through this facilitator unchanged, on every rail."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from localnet.funding import payer
from localnet.solana.node import USDC
from localnet.tokens import balance_of
from tests.x402.exact.published import bought_by_npm, bought_by_pypi, second_shop
from tests.x402.exact.sellers import PRICE_UNITS, SECRET, Shop, first_shop
from tests.x402.exact.solana.payers import check_paid, key_of
from tests.x402.payers import pay_to_of
from x402.models import X402Payment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

Open = Callable[[Shop], AbstractContextManager[str]]
RAILS = pytest.mark.parametrize("rail", ["base", "solana"])


class OnBase:
    """A merchant's shop on Base, and who pays there."""

    def __init__(self, request: pytest.FixtureRequest, facilitator: str) -> None:
        seller, usdc = request.getfixturevalue("exact_seller"), request.getfixturevalue("usdc")
        self._node = request.getfixturevalue("base_node")
        self.shop = Shop(facilitator=facilitator, key=seller.key or "", pay_to=pay_to_of(seller), asset=usdc)
        self.key = payer(self._node).key
        self.asked_at: dict[str, str] = {}

    def check_paid(self) -> None:
        """Check that the money came, once, and is in the books."""
        assert balance_of(self._node, self.shop.asset, self.shop.pay_to) == PRICE_UNITS
        assert int(X402Payment.objects.get().units) == PRICE_UNITS


class OnSolana:
    """A merchant's shop on Solana, and who pays there."""

    def __init__(self, request: pytest.FixtureRequest, facilitator: str) -> None:
        self._stall, seller = request.getfixturevalue("solana_stall"), request.getfixturevalue("solana_seller")
        extra = {"feePayer": self._stall.fee_payer}
        self.shop = Shop(facilitator, seller.key or "", self._stall.wallet, USDC, network="solana", extra=extra)
        self.key = key_of(self._stall)
        self.asked_at = {"solana_node": self._stall.node.url}

    def check_paid(self) -> None:
        """Check that the money came, once, and is in the books."""
        check_paid(self._stall)


@pytest.fixture
def sold(rail: str, request: pytest.FixtureRequest, live_server: LiveServer) -> Any:
    """A merchant whose resource servers ask this facilitator."""
    return {"base": OnBase, "solana": OnSolana}[rail](request, f"{live_server.url}/api/v1/x402")


@RAILS
@pytest.mark.parametrize("open_shop", [first_shop, second_shop], ids=["v1", "v2"])
def test_the_pypi_client_pays(sold: Any, open_shop: Open) -> None:
    with open_shop(sold.shop) as url:
        assert bought_by_pypi(url, sold.key, **sold.asked_at) == SECRET
    sold.check_paid()


@RAILS
@pytest.mark.parametrize(
    ("open_shop", "package"), [(first_shop, "x402-fetch"), (second_shop, "@x402/fetch")], ids=["v1", "v2"]
)
def test_the_npm_client_pays(sold: Any, open_shop: Open, package: str) -> None:
    with open_shop(sold.shop) as url:
        assert bought_by_npm(url, sold.key, package, **sold.asked_at) == SECRET
    sold.check_paid()
