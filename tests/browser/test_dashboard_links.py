"""Payment links in the dashboard, in a browser: one from the first press to its first payment, and how the pages look."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from checkouts.states import CheckoutStatus
from checkouts.testmode import play_due_steps
from links.models import LinkTemplate, PaymentLink
from links.states import LinkStatus, LinkType
from tests.browser.conftest import PHONE
from tests.browser.dashboard import look
from tests.dashboard.people import Desk
from tests.links.factories import (
    make_donation,
    make_link,
    make_link_checkout,
    make_paid_invoice,
    make_subscriber,
    make_subscription_link,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

GONE = "Failed to load resource: the server responded with a status of 410 (Gone)"


@pytest.fixture
def subscribed(owner_in_test_mode: Desk) -> PaymentLink:
    """A subscription link with somebody who paid and somebody who did not, below some links of other types."""
    make_paid_invoice(owner_in_test_mode.merchant, title="Invoice 2026-118: espresso machine service")
    make_donation(owner_in_test_mode.merchant)
    link = make_subscription_link(
        owner_in_test_mode.merchant,
        description="A bag of this month's roast, and a letter about it.",
        product_ref="beans-monthly",
        redirect_url="https://shop.example/thanks",
    )
    make_subscriber(link, email="ada@example.test")
    make_subscriber(link, paid=False)
    make_link_checkout(link, CheckoutStatus.PENDING)
    workshop = make_link(owner_in_test_mode.merchant, amount=Decimal("1240.00"))
    make_link_checkout(workshop)
    return link


def test_a_link_is_made_paid_and_archived(
    owner_in_test_mode: Desk,
    open_desk: Callable[..., Page],
    live_server: LiveServer,
    complaints: list[str],
    settings: Any,
) -> None:
    settings.LINK_HOST = settings.CHECKOUT_HOST = live_server.url
    page = open_desk(owner_in_test_mode, "dashboard_links", viewport=PHONE)
    page.get_by_role("main").get_by_role("link", name="New link").click()
    page.get_by_role("link", name="Donation").click()
    page.get_by_label("Title").fill("Plant a coffee tree")
    page.get_by_label("Minimum amount").fill("5")
    page.get_by_label("Suggested amounts").fill("10, 25")
    page.get_by_role("button", name="Create link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Plant a coffee tree")
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Open page").click()
    payer = opened.value
    payer.get_by_role("button", name="$10").click()
    payer.wait_for_url("**/c/**")
    assert play_due_steps(now=timezone.now() + timedelta(seconds=6)) == 1
    page.reload()
    expect(page.get_by_text("$10.00")).to_be_visible()
    expect(page.get_by_text("Completed")).to_be_visible()
    page.get_by_role("button", name="Archive").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Archive").click()
    expect(page.get_by_text("The link is archived")).to_be_visible()
    payer.goto(page.locator(".share__link").first.inner_text())
    expect(payer.get_by_role("heading", name="This link is closed")).to_be_visible()
    complaints.remove(GONE)


@pytest.mark.parametrize("name", ["dashboard_links", "dashboard_new_link"])
def test_the_list_and_the_choice_are_accessible_and_fit_the_screen(
    name: str, owner_in_test_mode: Desk, subscribed: PaymentLink, open_desk: Callable[..., Page]
) -> None:
    LinkTemplate.objects.create(
        merchant=owner_in_test_mode.merchant,
        mode=subscribed.mode,
        title="Cupping workshop",
        type=LinkType.CUSTOM,
        amount=Decimal(40),
        description="Two hours, six coffees",
    )
    PaymentLink.objects.create(
        public_id="lnk_test_paused",
        merchant=owner_in_test_mode.merchant,
        mode=owner_in_test_mode.mode,
        title="Gift card",
        amount=50,
        status=LinkStatus.PAUSED,
    )
    page = open_desk(owner_in_test_mode, name, device_scale_factor=2)
    assert look(page, name.replace("_", "-")) == []


def test_the_page_and_the_forms_of_a_link_are_accessible_and_fit_the_screen(
    owner_in_test_mode: Desk, subscribed: PaymentLink, open_desk: Callable[..., Page]
) -> None:
    arguments = {"link_id": subscribed.public_id}
    page = open_desk(owner_in_test_mode, "dashboard_link", arguments, device_scale_factor=2)
    assert look(page, "dashboard-link") == []
    page.get_by_role("link", name="Edit").click()
    assert look(page, "dashboard-edit-link") == []


def test_a_first_visit_is_accessible_and_fits_the_screen(
    owner_in_test_mode: Desk, open_desk: Callable[..., Page]
) -> None:
    page = open_desk(owner_in_test_mode, "dashboard_links", device_scale_factor=2)
    assert look(page, "dashboard-links-first") == []
