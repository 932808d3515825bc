"""`GET /disruptions`: what disrupts a merchant's payments now, with its orders at risk."""

from datetime import timedelta
from typing import Any

import pytest

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.scopes import Scope
from tests.checkouts import watcher
from tests.checkouts.factories import make_chains_well
from tests.contract.client import Answer, ApiClient, client_of
from tests.factories import NOON, make_checkout, make_key, make_live_chain, make_merchant, make_wallet
from tests.webhooks.factories import make_deliveries, make_endpoint

pytestmark = pytest.mark.django_db

PATH = "/disruptions"


@pytest.fixture
def seller(settings: Any) -> ApiClient:
    """A live key of a merchant with a wallet on Base, while all is well."""
    make_chains_well(settings)
    merchant = make_merchant()
    make_wallet(merchant)
    return client_of(merchant, Mode.LIVE)


def merchant_of(client: ApiClient) -> Merchant:
    assert client.merchant is not None
    return client.merchant


def told(answer: Answer) -> list[tuple[Any, ...]]:
    """What is told: kind, chain, endpoint and the orders at risk."""
    assert answer.status == 200
    return [
        tuple(one[name] for name in ("kind", "chain", "endpoint_id", "orders_at_risk")) for one in answer.body["data"]
    ]


def with_scopes(client: ApiClient, *scopes: Scope) -> ApiClient:
    """A live key of the same merchant, which may do no more than this."""
    _, secret = make_key(merchant_of(client), Mode.LIVE, *scopes)
    return ApiClient(key=secret, merchant=client.merchant)


def test_nothing_is_told_while_all_is_well(seller: ApiClient) -> None:
    assert seller.get(PATH).body == {"data": []}


def test_orders_in_doubt_on_a_halted_chain_come_first(seller: ApiClient) -> None:
    first, second = (watcher.pay(make_checkout(merchant_of(seller))) for _ in range(2))
    watcher.pay(make_checkout(make_merchant("Other")))
    make_live_chain("base", halted_reason="a fork", doubted_above=first.block_height, height=second.block_height)
    make_endpoint(merchant_of(seller), consecutive_failures=5, failing_since=NOON)
    answer = seller.get(PATH)
    assert told(answer) == [("halted", "base", None, 1), ("endpoint_failing", None, "whe_default", 0)]
    halted = answer.body["data"][0]
    assert halted["advice"] == "Do not ship orders paid on Base since 20 Nov, 12:01 UTC (1 payment)."
    assert halted["since"] == "2026-11-20T12:01:00.000000Z"
    assert halted["block"] == second.block_height


def test_a_chain_that_does_not_answer_puts_open_checkouts_of_the_merchant_at_risk(seller: ApiClient) -> None:
    for merchant in (merchant_of(seller), merchant_of(seller), make_merchant("Other")):
        make_checkout(merchant)
    make_checkout(merchant_of(seller), offers={})
    make_live_chain("base", head_at=NOON - timedelta(days=1), due_at=None)
    assert told(seller.get(PATH)) == [("down", "base", None, 2)]


def test_a_chain_that_concerns_no_wallet_and_no_payment_of_the_merchant_is_not_told(seller: ApiClient) -> None:
    make_live_chain("tron", head_at=NOON - timedelta(days=1), due_at=None)
    assert told(seller.get(PATH)) == []


def test_each_endpoint_is_told_with_the_events_that_wait_for_it(seller: ApiClient) -> None:
    default = make_endpoint(merchant_of(seller), consecutive_failures=5, failing_since=NOON)
    make_endpoint(
        merchant_of(seller), "http://127.0.0.1:10/", is_default=False, public_id="whe_erp", disabled_at=NOON, events=[]
    )
    make_deliveries(default, 2)
    assert told(seller.get(PATH)) == [
        ("endpoint_failing", None, "whe_default", 2),
        ("endpoint_off", None, "whe_erp", 0),
    ]


def test_a_key_that_may_not_read_endpoints_is_told_only_that_one_fails(seller: ApiClient) -> None:
    default = make_endpoint(merchant_of(seller), consecutive_failures=5, failing_since=NOON)
    make_endpoint(
        merchant_of(seller),
        "http://127.0.0.1:10/",
        is_default=False,
        public_id="whe_erp",
        consecutive_failures=5,
        events=[],
    )
    make_deliveries(default, 2)
    make_checkout(merchant_of(seller))
    make_live_chain("base", head_at=NOON - timedelta(days=1), due_at=None)
    assert told(with_scopes(seller, Scope.CHECKOUTS_READ).get(PATH)) == [
        ("down", "base", None, 1),
        ("endpoint_failing", None, None, 0),
    ]
    both = with_scopes(seller, Scope.CHECKOUTS_READ, Scope.WEBHOOKS_READ)
    assert [one[2] for one in told(both.get(PATH))] == [None, "whe_default", "whe_erp"]


def test_a_test_key_is_told_of_test_mode_alone(seller: ApiClient) -> None:
    tester = client_of(merchant_of(seller), Mode.TEST)
    make_live_chain("base", head_at=NOON - timedelta(days=1), due_at=None)
    make_endpoint(merchant_of(seller), consecutive_failures=5, failing_since=NOON)
    assert told(tester.get(PATH)) == []
    make_endpoint(merchant_of(seller), "http://127.0.0.1:11/", mode=Mode.TEST, consecutive_failures=5)
    assert told(tester.get(PATH)) == [("endpoint_failing", None, "whe_default", 0)]


def test_nothing_is_told_of_another_merchants_endpoints(seller: ApiClient) -> None:
    make_endpoint(make_merchant("Other"), consecutive_failures=5, failing_since=NOON)
    assert told(seller.get(PATH)) == []
