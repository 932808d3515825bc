"""Buyers, merchants, operators and programs read the same sentences about the same disruption."""

from html import unescape
from typing import Any

import pytest
from django.test import Client

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.states import CheckoutException
from gateway.core.api.scopes import Scope
from gateway.status.views import current_report
from settlements.models import GasAccount
from tests.checkouts.factories import make_chains_well, make_completed, make_page_checkout
from tests.contract.client import ApiClient
from tests.dashboard.inboxes import reverse_a_payment
from tests.dashboard.people import Desk
from tests.factories import NOON, make_key, make_live_chain, make_wallet
from tests.webhooks.factories import make_endpoint, new_event
from webhooks.endpoints.service import disable_endpoint
from webhooks.health import FAILED_TOO_LONG
from webhooks.models import Endpoint
from webhooks.outbox.events import publish

pytestmark = pytest.mark.django_db

TROUBLES = [
    (
        {"halted_reason": "a fork", "height": 186},
        "Base contradicts what it told us.",
        "We stopped reading it at block 186.",
    ),
    ({"head_at": NOON, "due_at": None}, "Base is not answering.", "We read what we missed as soon as it answers."),
    ({"head": 99}, "Base is delayed.", "We are catching up with it."),
    ({"disagreeing_since": NOON}, "Two sources of Base disagree.", "We compare the sources until they agree."),
]


@pytest.mark.parametrize(("trouble", "heading", "doing"), TROUBLES)
def test_everybody_reads_the_same_about_a_chain(
    trouble: dict[str, Any],
    heading: str,
    doing: str,
    client: Client,
    owner: Desk,
    operators_browser: Client,
    settings: Any,
) -> None:
    make_chains_well(settings)
    make_wallet(owner.merchant)
    make_live_chain("base", **trouble)
    checkout = make_page_checkout()
    current_report.cache_clear()
    pages = [
        client.get(f"/c/{checkout.code}?chain=base").text,
        client.get("/status").text,
        owner.get("dashboard_overview").text,
        operators_browser.get("/operator/health/").text,
    ]
    for page in map(unescape, pages):
        assert heading in page
        assert doing in page
    [of_status] = client.get("/status.json").json()["disruptions"]
    base = client.get("/api/v1/chains").json()["data"][0]["disruption"]
    [of_key] = disruptions_of(owner.merchant)
    for told in (of_status, base, of_key):
        assert told["heading"] == heading
        assert told["doing"].startswith(doing)


def disruptions_of(merchant: Merchant) -> list[dict[str, Any]]:
    """What a live key of the merchant is told."""
    _, secret = make_key(merchant, Mode.LIVE, Scope.CHECKOUTS_READ, Scope.WEBHOOKS_READ)
    answer = ApiClient(key=secret).get("/disruptions")
    assert answer.status == 200
    found: list[dict[str, Any]] = answer.body["data"]
    return found


def assert_all_read(pages: list[str], told: dict[str, Any], *names: str) -> None:
    """The sentences that a key is told are on each of the pages."""
    for page in map(unescape, pages):
        assert [told[name] for name in names if told[name] not in page] == []


def paid_and_told(owner: Desk, endpoint: Endpoint) -> Checkout:
    """A paid checkout of the merchant, with an event that waits for the endpoint."""
    checkout = make_completed(merchant=owner.merchant, order_ref="order-1")
    told = {"subject_id": checkout.public_id, "occurrence": f"{checkout.public_id}:1", "url": endpoint.url}
    publish([new_event(owner.merchant, **told)], now=NOON)
    return checkout


def test_everybody_reads_the_same_about_a_reversed_payment(
    client: Client, owner: Desk, operators_browser: Client, settings: Any
) -> None:
    make_chains_well(settings)
    make_wallet(owner.merchant)
    checkout = reverse_a_payment(owner).checkout
    assert checkout is not None
    Checkout.objects.filter(pk=checkout.pk).update(exception=CheckoutException.REVERSED)
    [told] = disruptions_of(owner.merchant)
    assert (told["kind"], told["chain"], told["orders_at_risk"]) == ("reversed", None, 1)
    pages = [owner.get("dashboard_overview").text, operators_browser.get("/operator/health/").text]
    assert_all_read(pages, told, "heading", "meaning", "doing")
    buyers = unescape(client.get(f"/c/{checkout.code}").text)
    assert "The network reversed this payment" in buyers
    assert_all_read([buyers], told, "meaning", "doing")
    assert "Talk to the shop before you send anything again." in buyers


@pytest.mark.parametrize("is_off", [False, True])
def test_everybody_reads_the_same_about_a_server_that_does_not_answer(
    client: Client, owner: Desk, operators_browser: Client, settings: Any, *, is_off: bool
) -> None:
    make_wallet(owner.merchant)
    endpoint = make_endpoint(owner.merchant, consecutive_failures=5, failing_since=NOON)
    checkout = paid_and_told(owner, endpoint)
    make_chains_well(settings)
    if is_off:
        disable_endpoint(endpoint, reason=FAILED_TOO_LONG, now=NOON)
    [told] = disruptions_of(owner.merchant)
    assert told["kind"] == ("endpoint_off" if is_off else "endpoint_failing")
    assert (told["endpoint_id"], told["orders_at_risk"]) == ("whe_default", 1)
    pages = [
        client.get(f"/c/{checkout.code}").text,
        owner.get("dashboard_overview").text,
        operators_browser.get("/operator/health/").text,
    ]
    assert_all_read(pages, told, "heading", "meaning", "doing")
    assert "You have paid. Keep this page, and don't pay again." in unescape(pages[0])


def test_everybody_reads_the_same_about_gas_that_is_nearly_used_up(
    client: Client, owner: Desk, operators_browser: Client, settings: Any
) -> None:
    make_chains_well(settings)
    settings.GAS_FREE, settings.GAS_KEYS = ["base"], [f"0x{'11' * 32}"]
    make_wallet(owner.merchant)
    GasAccount.objects.create(chain="base", address="0xGas", balance_wei=1, balance_at=NOON, low_told_at=NOON)
    [told] = disruptions_of(owner.merchant)
    assert (told["kind"], told["chain"], told["orders_at_risk"]) == ("gas_low", "base", 0)
    checkout = make_page_checkout(owner.merchant)
    pages = [
        client.get(f"/c/{checkout.code}?chain=base").text,
        owner.get("dashboard_overview").text,
        operators_browser.get("/operator/health/").text,
    ]
    assert_all_read(pages, told, "heading", "meaning", "doing")
    # Without it the buyer pays the fee, and gas is no concern.
    settings.GAS_FREE = []
    assert told["heading"] not in unescape(client.get(f"/c/{checkout.code}?chain=base").text)


def test_a_buyer_is_told_of_no_server_once_one_took_the_event(client: Client, owner: Desk, settings: Any) -> None:
    make_chains_well(settings)
    well = make_endpoint(owner.merchant)
    make_endpoint(
        owner.merchant, "http://127.0.0.1:10/", is_default=False, public_id="whe_books", consecutive_failures=5
    )
    checkout = paid_and_told(owner, well)
    well.deliveries.update(status="delivered", is_due=False, finished_at=NOON)
    assert "does not answer our webhooks" not in unescape(client.get(f"/c/{checkout.code}").text)


def test_an_endpoint_that_its_merchant_disabled_worries_no_buyer(client: Client, owner: Desk, settings: Any) -> None:
    make_chains_well(settings)
    endpoint = make_endpoint(owner.merchant)
    disable_endpoint(endpoint, reason="By ann@shop.example.", now=NOON)
    checkout = paid_and_told(owner, endpoint)
    assert "switched off" not in unescape(client.get(f"/c/{checkout.code}").text)
