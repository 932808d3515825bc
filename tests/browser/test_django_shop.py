"""A buyer pays in a Django shop that sells by django-payments and our provider, in test mode: everything is what the demo runs."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.clients.django_shop import Shop, order_of, selling
from tests.demo.lending import Demos
from tests.demo.running import ask
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("demo")]

PLAYED_WITHIN_MS = 90_000


@pytest.fixture(scope="module")
def demo(demos: Demos) -> dict[str, Any]:
    """The demo's addresses and keys."""
    document: dict[str, Any] = json.loads((demos.lend().var / "demo.json").read_text())
    return document


@pytest.fixture(scope="module")
def shop(demo: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A shop with the demo's test key."""
    folder = tmp_path_factory.mktemp("shop")
    with selling(folder, demo["base_url"], demo["test_key"], demo["webhook_secret"]) as running:
        yield running


def buy(page: Page, shop: Shop, demo: dict[str, Any], variant: str = "florin") -> None:
    """Order, and come to the payment page."""
    page.goto(shop.url)
    page.get_by_role("button", name=f"Buy ({variant})").click()
    page.wait_for_url(f"{demo['base_url']}/c/**")


def test_a_buyer_pays_and_the_shop_thanks_and_was_told_once(
    shop: Shop, demo: dict[str, Any], open_context: Callable[..., BrowserContext]
) -> None:
    page = open_context().new_page()
    buy(page, shop, demo)
    expect(page.get_by_text("Two cups of tea")).to_be_visible()
    # In test mode the price is paid after five seconds, and the page leads back.
    page.wait_for_url(f"{shop.url}/orders/**", timeout=PLAYED_WITHIN_MS)
    expect(page.get_by_text("Thank you. Your tea is on its way.")).to_be_visible()
    order = order_of(page.url)
    facts = shop.facts(order)
    assert (facts["status"], facts["captured"], facts["changes"]) == ("confirmed", "25.00", ["confirmed"])
    status, checkout = ask(demo["base_url"], "GET", f"/api/v1/checkouts/{facts['checkout']}", key=demo["test_key"])
    assert (status, checkout["status"], checkout["references"]["order_ref"]) == (200, "completed", order)


def test_a_buyer_who_closes_the_page_has_paid_too_and_is_refunded(
    shop: Shop, demo: dict[str, Any], open_context: Callable[..., BrowserContext]
) -> None:
    page = open_context().new_page()
    buy(page, shop, demo)
    there = page.url
    page.go_back()
    # The order is in no address yet: the shop's is the one that the checkout leads back to.
    status, found = ask(demo["base_url"], "GET", "/api/v1/checkouts?limit=5", key=demo["test_key"])
    assert status == 200
    [order] = [one["references"]["order_ref"] for one in found["data"] if there.startswith(one["checkout_url"])]
    page.close()
    wait_until(lambda: shop.facts(order)["status"] == "confirmed", pause=0.5)

    refunded = shop.refund(order)
    assert refunded.returncode == 0, refunded.stderr
    facts = shop.facts(order)
    assert (facts["changes"], facts["captured"]) == (["confirmed", "refunded"], "0.00")
    path = f"/api/v1/refunds?reference={order}-25.00-all"
    status, refunds = ask(demo["base_url"], "GET", path, key=demo["test_key"])
    assert status == 200
    [refund] = refunds["data"]
    assert (refund["status"], refund["claim_url"]) == ("open", refunded.stdout.strip())


def test_a_buyer_who_does_not_pay_in_time_is_told_by_the_shop(
    shop: Shop, demo: dict[str, Any], open_context: Callable[..., BrowserContext]
) -> None:
    order, sent = shop.order("unpaid")
    assert sent.headers["Location"].startswith(f"{demo['base_url']}/c/")
    wait_until(lambda: shop.facts(order)["status"] == "rejected", pause=0.5)
    page = open_context().new_page()
    page.goto(f"{shop.url}/orders/{order}/")
    expect(page.get_by_text("You did not pay in time. Order again.")).to_be_visible()
