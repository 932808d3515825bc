"""Clients of the public standard, as they are published, pay on Solana through this facilitator unchanged."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager

import base58
import pytest
from pytest_django.live_server_helper import LiveServer

from facilitator.models import X402Payment
from tests.contract.client import ApiClient
from tests.facilitator.standard import selling
from tests.facilitator.standard.selling import PRICE_UNITS, SECRET, first_shop
from tests.facilitator.standard.solana.paying import Shop
from tests.facilitator.standard.solana.published import (
    bought_by_pypi,
    selling_by_pypi,
    svm_python,
)
from tests.facilitator.standard.test_published_clients import bought_by_npm
from tests.nodes.solana.node import USDC

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

Sell = Callable[[str, selling.Shop], AbstractContextManager[str]]


@pytest.fixture(scope="module")
def python() -> str:
    """The interpreter with the library."""
    return svm_python()


@pytest.fixture
def sold(shop: Shop, seller: ApiClient, live_server: LiveServer) -> selling.Shop:
    """A merchant whose resource servers ask this facilitator."""
    return selling.Shop(
        facilitator=f"{live_server.url}/api/v1/x402",
        key=seller.key or "",
        pay_to=shop.wallet,
        asset=USDC,
        network="solana",
        extra={"feePayer": shop.fee_payer},
    )


def by_hand(_python: str, sold: selling.Shop) -> AbstractContextManager[str]:
    """Version 1, which the library sells no more."""
    return selling.selling(first_shop(sold))


@pytest.mark.parametrize("sell", [by_hand, selling_by_pypi], ids=["v1", "v2"])
def test_the_pypi_client_pays_on_solana(
    shop: Shop, sold: selling.Shop, python: str, sell: Sell
) -> None:
    with sell(python, sold) as url:
        page = bought_by_pypi(python, url, key=key_of(shop), node=shop.node.url)
    assert json.loads(page) == SECRET
    check_paid(shop)


@pytest.mark.parametrize(
    ("sell", "package"),
    [(by_hand, "x402-fetch"), (selling_by_pypi, "@x402/fetch")],
    ids=["v1", "v2"],
)
def test_the_npm_client_pays_on_solana(
    shop: Shop, sold: selling.Shop, python: str, sell: Sell, package: str
) -> None:
    with sell(python, sold) as url:
        page = bought_by_npm(url, key_of(shop), package, solana_node=shop.node.url)
    assert page == SECRET
    check_paid(shop)


def key_of(shop: Shop) -> str:
    """The payer's key, as wallets export it."""
    return base58.b58encode(bytes(shop.payer)).decode()


def check_paid(shop: Shop) -> None:
    """Check that the money came, once, and is in the books. The wallet had one unit before."""
    assert shop.node.balance(shop.wallet) == PRICE_UNITS + 1
    payment = X402Payment.objects.get()
    assert (payment.units, payment.payer) == (PRICE_UNITS, str(shop.payer.pubkey()))
