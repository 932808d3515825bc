"""The pages of links in a real browser: every face on every screen, and three journeys from page to payment."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from checkouts.models import Checkout
from checkouts.page.qr import qr_svg
from checkouts.testmode import play_due_steps
from links.models import PaymentLink, Subscription
from links.tokens import personal_url
from tests.browser.test_screenshots import faults, scanned
from tests.links.factories import (
    make_donation,
    make_invoice,
    make_link,
    make_paid_invoice,
    make_subscriber,
    make_subscription_link,
)
from tests.waiting import wait_until
from tests.webhooks.factories import make_endpoint
from tests.webhooks.receiver import Receiver, receiving
from tests.webhooks.senders import sending
from webhooks.endpoints.secrets import ensure_secret

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

TEXT = "Two hours, six coffees, one notebook. Bring your own cup."
FACES: dict[str, Callable[[], PaymentLink]] = {
    "custom": lambda: make_link(description=TEXT),
    "invoice": lambda: make_invoice(title="Invoice 2026-117: roasting, 40 kg"),
    "donation": lambda: make_donation(description=TEXT),
    "subscription": lambda: make_subscription_link(description=TEXT),
    "paid": make_paid_invoice,
    "paused": lambda: make_link(status="paused"),
    "archived": lambda: make_link(status="archived"),
    "long": lambda: make_link(title="W" * 120, description="long " * 50),
}


# A sheet clips what is too wide for it, so that the page itself never is.
CUT_OFF = """
[...document.querySelectorAll(".sheet")].flatMap((sheet) => {
  const edge = sheet.getBoundingClientRect().right;
  return [...sheet.querySelectorAll("*")]
    .filter((part) => part.getBoundingClientRect().right > edge)
    .map((part) => part.outerHTML.slice(0, 80));
})
"""


def personal_path(subscription: Subscription) -> str:
    return re.sub(r"^\w+://[^/]+", "", personal_url(subscription))


def _subscriber(days_ago: int) -> Subscription:
    subscription = make_subscriber(email="ada@example.test")
    Checkout.objects.update(paid_at=timezone.now() - timedelta(days=days_ago))
    return subscription


# How many days ago a month was paid.
PERSONAL = {"thanked": 0, "running": 10, "ending": 26, "ended": 40}


@pytest.mark.parametrize("face", [*FACES, *PERSONAL])
def test_every_face_is_whole_on_every_screen_and_clean_for_axe(
    face: str, live_server: Any, open_context: Callable[..., BrowserContext], complaints: list[str]
) -> None:
    page = open_context(reduced_motion="reduce").new_page()
    path = personal_path(_subscriber(PERSONAL[face])) if face in PERSONAL else f"/p/{FACES[face]().code}"
    page.goto(live_server.url + path)
    assert faults(page, f"link-{face}", script=CUT_OFF) == []
    if face == "archived":
        assert any("410" in text for text in complaints)
        complaints.clear()


def play() -> None:
    """Let the checkout that was made complete, as the worker would within seconds."""
    assert play_due_steps(now=timezone.now() + timedelta(seconds=6))


@pytest.fixture
def shop(settings: Any) -> Iterator[Receiver]:
    """The server of the merchants whose links are paid."""
    settings.WEBHOOK_ALLOW_LOOPBACK = True
    with receiving() as receiver:
        yield receiver


def heard_by(shop: Receiver, link: PaymentLink) -> PaymentLink:
    """Have the shop hear of what is paid through a link."""
    make_endpoint(link.merchant, shop.url, mode=link.mode)
    ensure_secret(link.merchant, now=timezone.now())
    return link


def await_webhook(shop: Receiver, link: PaymentLink) -> None:
    """Send what waits; the shop hears of one payment, and through which link it came."""
    with sending():
        wait_until(lambda: shop.got)
    [event] = [json.loads(got.body) for got in shop.got]
    assert event["type"] == "checkout.completed"
    assert event["data"]["metadata"]["link_id"] == link.public_id


def test_a_donor_presses_one_amount_and_is_asked_to_pay_it(page: Page, live_server: Any, shop: Receiver) -> None:
    link = heard_by(shop, make_donation())
    page.goto(f"{live_server.url}/p/{link.code}")
    page.get_by_role("button", name="$25", exact=True).click()
    expect(page).to_have_url(re.compile(r"/c/[0-9a-z]{26}$"))
    expect(page.get_by_text("$25.00")).to_be_visible()
    play()
    expect(page.get_by_role("heading", name="Payment complete")).to_be_visible()
    await_webhook(shop, link)


def test_a_donor_writes_an_amount_corrects_it_and_goes_on(page: Page, live_server: Any, complaints: list[str]) -> None:
    page.goto(f"{live_server.url}/p/{make_donation().code}")
    field = page.get_by_label("Amount in US dollars")
    field.fill("3")
    field.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("from $5.00 to $500.00")
    expect(field).to_have_value("3")
    field.fill("42,50")
    page.get_by_role("button", name="Continue to payment").click()
    expect(page.get_by_text("$42.50")).to_be_visible()
    complaints.clear()  # the 400 of the first try


def test_reloading_and_going_back_make_no_second_checkout(page: Page, live_server: Any) -> None:
    page.goto(f"{live_server.url}/p/{make_link().code}")
    page.get_by_role("button", name="Base").dblclick()
    expect(page).to_have_url(re.compile(r"/c/"))
    page.reload()
    assert Checkout.objects.count() == 1


def test_an_invoice_is_paid_and_closes_itself(page: Page, live_server: Any, shop: Receiver) -> None:
    link = heard_by(shop, make_invoice())
    address = f"{live_server.url}/p/{link.code}"
    page.goto(address)
    page.get_by_role("button", name="Base").click()
    expect(page).to_have_url(re.compile(r"/c/"))
    play()
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_have_text("This invoice is paid")
    await_webhook(shop, link)


def test_a_subscriber_comes_back_to_the_personal_page_and_renews(
    page: Page, live_server: Any, settings: Any, shop: Receiver
) -> None:
    settings.LINK_HOST = settings.CHECKOUT_HOST = live_server.url
    link = heard_by(shop, make_subscription_link())
    page.goto(f"{live_server.url}/p/{link.code}")
    page.get_by_label("E-mail for reminders").fill("ada@example.test")
    page.get_by_role("button", name="Continue to payment").click()
    expect(page).to_have_url(re.compile(r"/c/"))
    play()
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you", timeout=20_000)
    expect(page).to_have_url(re.compile(r"/p/\w+/s/.*status=completed$"))
    await_webhook(shop, link)
    expect(page.get_by_role("link", name="View receipt")).to_be_visible()
    expect(page.get_by_role("button", name="Pay the next period")).to_have_count(0)
    Checkout.objects.update(paid_at=timezone.now() - timedelta(days=26))
    page.reload()
    page.get_by_role("button", name="Pay the next period, $25.00").click()
    expect(page).to_have_url(re.compile(r"/c/"))
    assert Checkout.objects.count() == 2


def test_the_pages_work_by_keyboard_alone(page: Page, live_server: Any) -> None:
    page.goto(f"{live_server.url}/p/{make_link().code}")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to payment")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/c/"))


def test_the_pages_work_without_javascript(live_server: Any, open_context: Callable[..., BrowserContext]) -> None:
    page = open_context(java_script_enabled=False).new_page()
    page.goto(f"{live_server.url}/p/{make_donation().code}")
    page.get_by_role("button", name="$10", exact=True).click()
    expect(page.get_by_text("$10.00").first).to_be_visible()


def test_a_camera_reads_the_svg_code(open_context: Callable[..., BrowserContext], tmp_path: Any) -> None:
    address = "https://pay.example/p/0123456789abcdefghjkmnpqrs"
    drawing = tmp_path / "qr.svg"
    drawing.write_bytes(qr_svg(address))
    page = open_context(viewport={"width": 600, "height": 600}).new_page()
    page.goto(drawing.as_uri())
    assert scanned(page, "svg") == address
