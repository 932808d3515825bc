"""Clients of the public standard, as they are published, pay on Solana through this facilitator unchanged."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import base58
import pytest
from pytest_django.live_server_helper import LiveServer

from demo.localnet.solana.node import USDC
from tests.contract.client import ApiClient
from tests.x402.exact import sellers
from tests.x402.exact.published import bought_by_npm, bought_by_pypi, second_shop
from tests.x402.exact.sellers import PRICE_UNITS, SECRET, first_shop
from tests.x402.exact.solana.payers import Shop
from x402.models import X402Payment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

Sell = Callable[[sellers.Shop], AbstractContextManager[str]]


@pytest.fixture
def sold(solana_stall: Shop, solana_seller: ApiClient, live_server: LiveServer) -> sellers.Shop:
    """A merchant whose resource servers ask this facilitator."""
    return sellers.Shop(
        facilitator=f"{live_server.url}/api/v1/x402",
        key=solana_seller.key or "",
        pay_to=solana_stall.wallet,
        asset=USDC,
        network="solana",
        extra={"feePayer": solana_stall.fee_payer},
    )


@pytest.mark.parametrize("sell", [first_shop, second_shop], ids=["v1", "v2"])
def test_the_pypi_client_pays_on_solana(solana_stall: Shop, sold: sellers.Shop, sell: Sell) -> None:
    with sell(sold) as url:
        page = bought_by_pypi(url, key_of(solana_stall), solana_node=solana_stall.node.url)
    assert page == SECRET
    check_paid(solana_stall)


@pytest.mark.parametrize(
    ("sell", "package"), [(first_shop, "x402-fetch"), (second_shop, "@x402/fetch")], ids=["v1", "v2"]
)
def test_the_npm_client_pays_on_solana(solana_stall: Shop, sold: sellers.Shop, sell: Sell, package: str) -> None:
    with sell(sold) as url:
        page = bought_by_npm(url, key_of(solana_stall), package, solana_node=solana_stall.node.url)
    assert page == SECRET
    check_paid(solana_stall)


def key_of(shop: Shop) -> str:
    """The payer's key, as wallets export it."""
    return base58.b58encode(bytes(shop.payer)).decode()


def check_paid(shop: Shop) -> None:
    """Check that the money came, once, and is in the books. The wallet had one unit before."""
    assert shop.node.balance(shop.wallet) == PRICE_UNITS + 1
    payment = X402Payment.objects.get()
    assert (payment.units, payment.payer) == (PRICE_UNITS, str(shop.payer.pubkey()))
