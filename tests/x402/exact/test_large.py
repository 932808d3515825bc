"""A seller's signed payments are not begun while one node's word is all there is for a large sum."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from localnet.anvil import Anvil
from localnet.authorizations import authorize
from settlements.models import GasTransaction
from tests.contract.client import ApiClient
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.payers import pay_to_of
from x402.models import X402Payment

pytestmark = pytest.mark.django_db
UNITS = 10_000
DOLLAR = 1_000_000


@pytest.fixture
def sold(base_node: Anvil, exact_seller: ApiClient, usdc: str, settings: Any) -> X402Payment:
    """A payment that is a large sum by itself, known from one of two nodes."""
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": f"{base_node.url},{base_node.url}/"}
    assert settle(exact_seller, body_of(authorize(base_node, pay_to_of(exact_seller), UNITS), usdc))["success"]
    X402Payment.objects.update(units=10_000 * DOLLAR)
    return X402Payment.objects.get()


def answers(node: Anvil, seller: ApiClient, usdc: str) -> tuple[bool, bool]:
    """Whether another payment is valid, and settles."""
    body = body_of(authorize(node, pay_to_of(seller), UNITS), usdc)
    told, done = verify(seller, body), settle(seller, body)
    if not told["isValid"]:
        reasons = told["invalidReason"], done["errorReason"], done["transaction"]
        assert reasons == ("unexpected_verify_error", "unexpected_settle_error", "")
        assert GasTransaction.objects.count() == 1
    return told["isValid"], done["success"]


def test_nothing_is_sent_until_a_second_node_knows_what_was_sold(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, sold: X402Payment
) -> None:
    assert answers(base_node, exact_seller, usdc) == (False, False)
    X402Payment.objects.update(witnessed_at=timezone.now())
    assert answers(base_node, exact_seller, usdc) == (True, True)


def test_a_large_sum_of_an_hour_ago_stops_nothing(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, sold: X402Payment
) -> None:
    X402Payment.objects.update(verified_at=timezone.now() - timedelta(minutes=61))
    assert answers(base_node, exact_seller, usdc) == (True, True)


@pytest.mark.parametrize("change", [{"BASE_RPC_URLS": ""}, {"BASE_LARGE_AMOUNT_USD": "0"}])
def test_with_one_node_or_no_limit_nothing_waits(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, sold: X402Payment, settings: Any, change: dict[str, str]
) -> None:
    only = {name: value or base_node.url for name, value in change.items()}
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | only
    assert answers(base_node, exact_seller, usdc) == (True, True)
