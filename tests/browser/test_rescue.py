"""I paid but nothing happens, in a real browser: with scripts, without them, and as people see the answers."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from checkouts.models import BuyerReport, Checkout
from checkouts.rescue.rules import VERDICTS, Case
from checkouts.states import CheckoutStatus
from tests.browser.test_screenshots import faults
from tests.checkouts.factories import (
    make_completed,
    make_expired,
    make_page_checkout,
    make_seen,
    make_underpaid,
    move,
    pay,
)
from tests.checkouts.questions import UNKNOWN
from wallets.models import Transfer

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

RECIPIENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


def report(checkout: Checkout, case: Case, **details: Any) -> Checkout:
    """File an answer under a hash that the page's address can name."""
    values: dict[str, Any] = {"case": case, "amount": "49.00 USDC"}
    BuyerReport.objects.create(
        merchant_id=checkout.merchant_id,
        mode=checkout.mode,
        checkout=checkout,
        tx_hash=UNKNOWN,
        chain="" if case in {Case.NOT_FOUND, Case.UNREACHABLE} else "base",
        verdict=VERDICTS[case],
        details=values | details,
        reported_at=timezone.now(),
        looked_at=timezone.now(),
    )
    return checkout


def _short() -> Checkout:
    checkout = make_underpaid()
    Transfer.objects.update(tx_hash=UNKNOWN)
    return report(checkout, Case.SHORT, amount="20.00 USDC")


def _confirming() -> Checkout:
    checkout = make_seen()
    Transfer.objects.update(tx_hash=UNKNOWN)
    return report(checkout, Case.CONFIRMING)


def _credited() -> Checkout:
    checkout = make_completed(redirect_url="")
    Transfer.objects.update(tx_hash=UNKNOWN)
    return report(checkout, Case.CREDITED)


ANSWERS: dict[str, Callable[[], Checkout]] = {
    "credited": _credited,
    "confirming": _confirming,
    "short": _short,
    "late": lambda: report(make_expired(), Case.LATE, late_seconds=245),
    "extra": lambda: report(make_completed(), Case.EXTRA),
    "wrong-network": lambda: report(make_page_checkout(), Case.WRONG_NETWORK),
    "fake": lambda: report(make_page_checkout(), Case.FAKE_TOKEN, amount=""),
    "other": lambda: report(make_page_checkout(), Case.OTHER_ADDRESS, recipient=RECIPIENT),
    "not-found": lambda: report(make_page_checkout(), Case.NOT_FOUND),
    "unreachable": lambda: report(make_page_checkout(), Case.UNREACHABLE, silent=["ton", "tron"]),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_is_whole_on_every_screen_and_clean_for_axe(name: str, still_page: Page, live_server: Any) -> None:
    checkout = ANSWERS[name]()
    still_page.goto(f"{live_server.url}/c/{checkout.code}?found={UNKNOWN}")
    expect(still_page.locator("#answer")).to_be_focused()
    assert faults(still_page, f"rescue-{name}") == []


@pytest.mark.parametrize(("name", "make"), [("form", make_page_checkout), ("form-expired", make_expired)])
def test_the_form_is_whole_on_every_screen_and_clean_for_axe(
    name: str, make: Callable[[], Checkout], still_page: Page, live_server: Any
) -> None:
    still_page.goto(f"{live_server.url}/c/{make().code}")
    summary = still_page.get_by_text("Paid but not showing up?")
    if summary.count():
        summary.click()
    expect(still_page.get_by_label("Transaction hash or explorer link")).to_be_visible()
    assert faults(still_page, f"rescue-{name}") == []


def test_a_buyer_asks_by_keyboard_and_reads_the_answer_at_once(page: Page, live_server: Any) -> None:
    checkout = make_page_checkout()
    page.goto(f"{live_server.url}/c/{checkout.code}")
    page.get_by_text("Paid but not showing up?").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type(UNKNOWN)
    page.keyboard.press("Enter")
    expect(page.locator("#answer")).to_be_focused()
    expect(page.locator("#answer h2")).to_have_text("We could not search every network")
    page.reload()
    assert BuyerReport.objects.count() == 1
    expect(page.get_by_label("Transaction hash or explorer link")).to_have_value(UNKNOWN)


def test_a_hash_that_is_none_is_corrected_in_its_field(page: Page, live_server: Any, complaints: list[str]) -> None:
    checkout = make_page_checkout()
    page.goto(f"{live_server.url}/c/{checkout.code}")
    page.get_by_text("Paid but not showing up?").click()
    field = page.get_by_label("Transaction hash or explorer link")
    field.fill("my payment")
    field.press("Enter")
    expect(field).to_be_focused()
    expect(field).to_have_value("my payment")
    expect(field).to_have_accessible_description(re.compile("doesn't look like a transaction hash"))
    assert "payment" not in page.url
    assert faults(page, "rescue-corrected") == []
    move(checkout, CheckoutStatus.PROCESSING)
    expect(page.get_by_role("heading", name="Payment seen")).to_be_visible()
    expect(field).to_have_value("my payment")
    complaints.clear()  # the 400 of the answer


def test_what_a_buyer_types_survives_news(page: Page, live_server: Any) -> None:
    checkout = make_page_checkout()
    page.goto(f"{live_server.url}/c/{checkout.code}")
    page.get_by_text("Paid but not showing up?").click()
    field = page.get_by_label("Transaction hash or explorer link")
    field.press_sequentially("0x12")
    with transaction.atomic():
        pay(checkout, 20_000_000, confirmations=12)
        move(checkout, CheckoutStatus.UNDERPAID)
    expect(page.get_by_role("heading", name="Almost there")).to_be_visible()
    expect(field).to_be_focused()
    field.press_sequentially("34")
    expect(field).to_have_value("0x1234")
    expect(page.locator(".rescue")).to_have_attribute("open", "")


def test_an_answer_follows_the_payment_and_nothing_is_said_twice(page: Page, live_server: Any) -> None:
    checkout = make_page_checkout()
    report(checkout, Case.READING)
    page.add_init_script(
        "window.said = []; document.addEventListener('DOMContentLoaded', () =>"
        " new MutationObserver(() => { const words = announcer.textContent;"
        " if (words) said.push(words); })"
        ".observe(document.getElementById('announcer'), { childList: true }))"
    )
    page.goto(f"{live_server.url}/c/{checkout.code}?found={UNKNOWN}")
    expect(page.locator("#answer")).to_contain_text("usually credit it within a minute")
    with transaction.atomic():
        pay(checkout, tx_hash=UNKNOWN)
        move(checkout, CheckoutStatus.PROCESSING)
    expect(page.locator("#answer")).to_contain_text("the network is confirming it")
    with transaction.atomic():
        Transfer.objects.update(state="confirmed", confirmed_at=timezone.now())
        move(checkout, CheckoutStatus.COMPLETED)
    expect(page.locator("#answer")).to_contain_text("We received your payment")
    said = page.evaluate("said")
    assert len(said) == len(set(said)) == 2
    expect(page.locator("[data-redirect-seconds]")).to_have_count(0)


def test_without_scripts_the_form_asks_and_the_page_answers(
    open_context: Callable[..., BrowserContext], live_server: Any
) -> None:
    page = open_context(java_script_enabled=False).new_page()
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    page.get_by_text("Paid but not showing up?").click()
    page.get_by_label("Transaction hash or explorer link").fill(f"https://basescan.org/tx/{UNKNOWN}")
    page.get_by_role("button", name="Find payment").click()
    expect(page.locator("#answer")).to_contain_text("Search again in a minute")
    BuyerReport.objects.update(looked_at=timezone.now() - timedelta(minutes=1))
    page.get_by_role("button", name="Search again").click()
    expect(page.locator("#answer")).to_contain_text("Search again in a minute")
    assert BuyerReport.objects.count() == 1


def test_after_too_many_searches_the_hash_stays_and_the_button_comes_back(
    page: Page, live_server: Any, complaints: list[str]
) -> None:
    page.clock.install()
    page.goto(f"{live_server.url}/c/{make_expired().code}")
    field, button = (
        page.get_by_label("Transaction hash or explorer link"),
        page.get_by_role("button", name="Find payment"),
    )
    # Twelve, in case that a minute begins between them.
    for _ in range(12):
        if page.get_by_text("Too many searches").count():
            break
        field.fill(UNKNOWN)
        button.click()
        page.wait_for_load_state()
    expect(page.get_by_text("Too many searches")).to_be_visible()
    expect(field).to_have_value(UNKNOWN)
    expect(button).to_be_disabled()
    page.clock.run_for(61_000)
    expect(page.get_by_text("Too many searches")).to_have_count(0)
    expect(button).to_be_enabled()
    expect(field).to_have_value(UNKNOWN)
    complaints.clear()  # the 429
