"""Checkouts in the dashboard, in a browser: the first one completing while somebody looks, and what the pages look like."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.states import Mode
from checkouts.inbox.acceptances import apply_acceptances
from checkouts.inbox.undo import UNDO_SPAN
from checkouts.models import Checkout
from checkouts.testmode import play_due_steps
from mails.models import OutgoingMail
from tests.browser.conftest import DESKTOP, PHONE
from tests.browser.dashboard import look
from tests.checkouts.dashboard.opened import tell
from tests.checkouts.factories import (
    make_completed,
    make_expired,
    make_overpaid,
    make_page_checkout,
    make_seen,
    make_underpaid,
)
from tests.dashboard.people import Desk, make_desk
from tests.factories import make_wallet

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]


@pytest.fixture
def busy() -> Desk:
    """An owner whose merchant has a checkout in each state."""
    desk = make_desk()
    for make in (make_expired, make_underpaid, make_seen, make_overpaid):
        make(merchant=desk.merchant, order_ref=f"HR-{make.__name__[5:]}")
    make_completed(merchant=desk.merchant, order_ref="HR-20481")
    make_completed(merchant=desk.merchant, order_ref="HR-held", escrow=True)
    make_page_checkout(desk.merchant, order_ref="")
    return desk


def test_the_first_test_checkout_completes_on_screen(open_desk: Callable[..., Page]) -> None:
    desk = make_desk(mode=Mode.TEST)
    page = open_desk(desk, "dashboard_checkouts")
    expect(page.get_by_role("heading", name="No checkouts yet")).to_be_visible()
    page.get_by_role("main").get_by_role("link", name="New checkout").click()
    page.get_by_label("Amount in USD").fill("25.00")
    page.get_by_text("References, time to pay").click()
    page.get_by_label("Order reference").fill("first-1")
    page.get_by_role("button", name="Create checkout").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("25.00 USD")
    expect(page.get_by_text("Waiting for 25.00 USD")).to_be_visible()
    address = page.url
    assert play_due_steps(now=timezone.now() + timedelta(seconds=6)) == 1
    expect(page.get_by_text("25.00 USDC seen on Base")).to_be_visible()
    live = page.locator("#live")
    expect(live.get_by_text("Completed").first).to_be_visible()
    expect(page.locator("#announcer")).to_contain_text("Completed")
    assert page.url == address
    # Seldom from now on: a network may reverse its payment.
    expect(page.locator('#live[hx-trigger="every 10s"]')).to_have_count(1)


def test_on_a_phone_filters_are_behind_a_button_and_in_the_address(
    busy: Desk, open_desk: Callable[..., Page], live_server: Any
) -> None:
    page = open_desk(busy, "dashboard_checkouts", viewport=PHONE)
    amount = page.get_by_label("Amount", exact=True)
    expect(amount).to_be_hidden()
    page.locator("summary", has_text="Filter").click()
    amount.fill("~50")
    page.locator(".filters").get_by_role("button", name="Filter").click()
    page.wait_for_url(re.compile(r"amount=(~|%7E)50"))
    # What narrows the list is shown, and another click removes a chip.
    expect(amount).to_be_visible()
    chips = page.get_by_role("navigation", name="Filters")
    chips.get_by_role("link", name="Overpaid").click()
    page.wait_for_url(re.compile("outcome=overpaid"))
    assert "amount=" in page.url
    expect(page.get_by_role("link", name="HR-overpaid")).to_be_visible()
    chips.get_by_role("link", name=re.compile("Overpaid.*remove")).click()
    expect(page.get_by_role("link", name="HR-20481")).to_be_visible()
    assert look(page, "dashboard-checkouts-filtered", narrowest=320) == []
    page.goto(live_server.url + busy.url("dashboard_checkouts"))
    page.set_viewport_size(DESKTOP)
    expect(amount).to_be_visible()


@pytest.mark.parametrize("name", ["dashboard_payments", "dashboard_deliveries", "dashboard_audit_log"])
def test_on_a_phone_the_filters_of_other_lists_are_behind_a_button_too(
    name: str, busy: Desk, open_desk: Callable[..., Page]
) -> None:
    tell(Checkout.objects.get(order_ref="HR-20481"), "https://hooks.example/")
    page = open_desk(busy, name, viewport=PHONE)
    form, button = page.locator(".fold--filters form"), page.locator(".fold--filters > summary")
    expect(form).to_be_hidden()
    button.click()
    expect(form).to_be_visible()
    page.set_viewport_size(DESKTOP)
    expect(button).to_be_hidden()
    expect(form).to_be_visible()
    page.reload()
    expect(form).to_be_visible()


def test_a_checkout_leads_to_its_customer_who_gets_a_note(busy: Desk, open_desk: Callable[..., Page]) -> None:
    paid = Checkout.objects.get(order_ref="HR-20481").public_id
    page = open_desk(busy, "dashboard_checkout", {"checkout_id": paid}, device_scale_factor=2)
    page.get_by_role("link", name="Same customer reference").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("secret-customer")
    page.get_by_text("Add a note").click()
    page.get_by_role("textbox", name="Note").fill("Orders for two shops")
    page.get_by_role("button", name="Save note").click()
    expect(page.get_by_text("Orders for two shops").first).to_be_visible()
    assert look(page, "dashboard-customer", narrowest=320) == []
    page.get_by_role("main").get_by_role("link", name="Customers").click()
    expect(page.get_by_role("link", name="secret-customer")).to_be_visible()
    assert look(page, "dashboard-customers", narrowest=320) == []


def test_on_a_phone_a_checkout_is_made_noted_and_cancelled(open_desk: Callable[..., Page]) -> None:
    page = open_desk(make_desk(mode=Mode.TEST), "dashboard_reports", viewport=PHONE, timezone_id="Asia/Kolkata")
    page.get_by_role("banner").get_by_role("link", name="New checkout").click()
    page.get_by_label("Amount in USD").fill("25")
    page.get_by_role("button", name="Create checkout").click()
    expect(page.get_by_role("status")).to_contain_text("Checkout created")
    page.get_by_text("Add a note").click()
    page.get_by_role("textbox", name="Note").fill("Ines pays at the counter")
    page.get_by_role("button", name="Save note").click()
    expect(page.get_by_text("Ines pays at the counter").first).to_be_visible()
    first = page.locator("#live time").first
    first.hover()
    expect(first).to_have_attribute("title", re.compile(r"GMT\+5:30, your time$"))
    until = page.locator("time[data-local=short]").first
    expect(until).to_contain_text("GMT+5:30")
    expect(until).to_have_attribute("title", re.compile(r" UTC$"))
    page.get_by_role("button", name="Cancel checkout…").click()
    dialog = page.get_by_role("dialog", name="Cancel this checkout?")
    dialog.get_by_role("button", name="Not now").click()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Cancel checkout…").click()
    dialog.get_by_role("button", name="Cancel checkout").click()
    expect(page.locator("#live").get_by_text("Cancelled").first).to_be_visible()
    assert look(page, "dashboard-checkout-cancelled") == []


def test_money_in_escrow_is_released_on_screen(open_desk: Callable[..., Page]) -> None:
    desk = make_desk()
    held = make_completed(merchant=desk.merchant, escrow=True)
    arguments = {"checkout_id": held.public_id}
    page = open_desk(desk, "dashboard_checkout", arguments, device_scale_factor=2)
    escrow = page.get_by_role("region", name="Escrow")
    expect(escrow.get_by_text("Held in escrow", exact=True)).to_be_visible()
    assert look(page, "dashboard-escrow-held") == []
    page.get_by_role("button", name="Release…").click()
    dialog = page.get_by_role("dialog", name="Release this money?")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Not now").click()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Release…").click()
    dialog.get_by_role("button", name="Release").click()
    expect(page.get_by_text("Released by")).to_contain_text(desk.user.email)
    expect(page.get_by_role("button", name="Release…")).to_have_count(0)
    assert look(page, "dashboard-escrow-released") == []


def test_a_short_payment_is_accepted_undone_and_accepted_again_on_screen(open_desk: Callable[..., Page]) -> None:
    desk = make_desk()
    short = make_underpaid(merchant=desk.merchant)
    arguments = {"checkout_id": short.public_id}
    page = open_desk(desk, "dashboard_checkout", arguments, device_scale_factor=2)
    expect(page.get_by_role("heading", name="29.00 USD is missing")).to_be_visible()
    assert look(page, "dashboard-short") == []
    page.get_by_role("button", name="Accept as paid…").click()
    dialog = page.get_by_role("dialog", name="Accept 20.00 as full payment?")
    expect(dialog).to_be_visible()
    assert look(page, "dashboard-short-sure") == []
    dialog.get_by_role("button", name="Accept as paid").click()
    expect(page.get_by_text("Being accepted as paid")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", name="29.00 USD is missing")).to_be_visible()
    page.get_by_role("button", name="Accept as paid…").click()
    dialog.get_by_role("button", name="Accept as paid").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    assert look(page, "dashboard-short-waiting") == []
    assert apply_acceptances(now=timezone.now() + UNDO_SPAN) == 1
    # The page looks by itself what came of it.
    expect(page.locator("#standing").get_by_text("Accepted, part paid")).to_be_visible()
    expect(page.get_by_text("Being accepted as paid")).to_have_count(0)
    assert look(page, "dashboard-short-accepted") == []


def test_on_a_phone_a_receipt_is_sent_to_the_buyer_at_the_counter(
    open_desk: Callable[..., Page], complaints: list[str]
) -> None:
    desk = make_desk()
    paid = make_completed(merchant=desk.merchant, customer_email="")
    arguments = {"checkout_id": paid.public_id}
    page = open_desk(desk, "dashboard_checkout", arguments, viewport=PHONE)
    page.get_by_role("link", name="Send receipt").click()
    field = page.get_by_label("E-mail address of the buyer")
    expect(field).to_have_value("")
    field.fill("ines@counter")
    page.get_by_role("button", name="Send receipt").click()
    expect(field).to_have_value("ines@counter")
    expect(page.get_by_text("Enter a valid email address.")).to_be_visible()
    assert "status of 422" in complaints.pop()
    assert look(page, "dashboard-send-receipt") == []
    field.fill("ines@counter.example")
    page.get_by_role("button", name="Send receipt").click()
    expect(page.get_by_role("status")).to_contain_text("ines@counter.example")
    assert OutgoingMail.objects.get().recipient == "ines@counter.example"


def test_a_search_leads_to_the_checkout_from_any_page(busy: Desk, open_desk: Callable[..., Page]) -> None:
    page = open_desk(busy, "dashboard_team", viewport=PHONE)
    page.get_by_role("searchbox", name="Search").fill("HR-20481")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("49.00 USD")


@pytest.mark.parametrize("mode", [Mode.LIVE, Mode.TEST])
def test_on_a_phone_a_new_checkout_asks_for_the_amount_and_its_button_is_in_view(
    mode: Mode, open_desk: Callable[..., Page]
) -> None:
    desk = make_desk(mode=mode)
    make_wallet(desk.merchant)
    page = open_desk(desk, "dashboard_new_checkout", viewport={"width": 390, "height": 740})
    expect(page.get_by_label("Amount in USD")).to_be_focused()
    expect(page.get_by_label("Order reference")).to_be_hidden()
    expect(page.get_by_role("button", name="Create checkout")).to_be_in_viewport(ratio=1)


def test_a_checkouts_code_fills_a_phone_and_its_link_is_shared(open_desk: Callable[..., Page]) -> None:
    desk = make_desk(mode=Mode.TEST)
    page = open_desk(desk, "dashboard_new_checkout", viewport=PHONE)
    page.add_init_script("Navigator.prototype.share = async (given) => { window.shared = given; };")
    page.get_by_label("Amount in USD").fill("25")
    page.get_by_role("button", name="Create checkout").click()
    address = page.locator(".share__link").inner_text()
    page.get_by_role("button", name="Share…").click()
    assert page.evaluate("window.shared") == {"url": address}
    page.get_by_role("button", name="Full screen").click()
    large = page.get_by_role("dialog", name="25.00 USD")
    expect(large.get_by_role("img", name="QR code of the link")).to_be_in_viewport(ratio=1)
    assert play_due_steps(now=timezone.now() + timedelta(seconds=6)) == 1
    # It stays open while it is paid, and says so.
    expect(large.get_by_text("Completed")).to_be_visible()
    large.get_by_role("button", name="Close").click()
    expect(large).to_be_hidden()


def test_the_list_is_accessible_and_fits_the_screen(busy: Desk, open_desk: Callable[..., Page]) -> None:
    page = open_desk(busy, "dashboard_checkouts", device_scale_factor=2)
    assert look(page, "dashboard-checkouts") == []


@pytest.mark.parametrize("name", ["dashboard_checkouts", "dashboard_new_checkout"])
def test_pages_of_a_new_merchant_are_accessible_and_fit_the_screen(name: str, open_desk: Callable[..., Page]) -> None:
    page = open_desk(make_desk(mode=Mode.TEST), name, device_scale_factor=2)
    assert look(page, f"{name}-first") == []


@pytest.mark.parametrize("make", [make_page_checkout, make_seen, make_overpaid])
def test_a_checkouts_page_is_accessible_and_fits_the_screen(
    make: Callable[..., Checkout], open_desk: Callable[..., Page]
) -> None:
    desk = make_desk()
    checkout = make(merchant=desk.merchant)
    tell(checkout)
    arguments = {"checkout_id": checkout.public_id}
    page = open_desk(desk, "dashboard_checkout", arguments, device_scale_factor=2)
    assert look(page, f"dashboard-{make.__name__}") == []
