"""What people come for most often, and how many clicks it takes from the first page after the login.

Before is commit 1103c22, measured in the same way: clicks or taps, and after a plus sign what is typed or chosen.

| task                                   | desk before | desk now | phone before | phone now |
|----------------------------------------|-------------|----------|--------------|-----------|
| take a payment in person               | 2 + 1       | 2 + 1    | 4 + 1        | 2 + 1     |
| the same, with a paired till           |             |          |              | 1 + 1     |
| find a payment by its hash             | 1 + 1       | 0 + 1    | 1 + 1        | 0 + 1     |
| put a stray payment right              | 4           | 2        | 4            | 2         |
| see why a webhook failed, and resend   | 4           | 5        | 5            | 6         |
| the same, of a payment one knows       | 3           | 3        | 3            | 3         |
| the same, while it fails: the banner   |             | 2        |              | 2         |
| invite an admin                        | 2 + 2       | 3 + 2    | 3 + 2        | 4 + 2     |
| a month's file for the accountant      |             | 3        |              | 4         |

A refund, from the request until the chain paid it, is counted in test_eight_situations.py; the till in test_till.py.

A closed group of the sidebar costs one click. Before, a phone's only button for a checkout was on the page of receiving
wallets once something was paid, and the search did not find money in the inbox.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from accounts.models import Invitation
from accounts.states import Role
from checkouts.inbox.service import apply_decisions
from checkouts.inbox.undo import UNDO_SPAN
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from tests.browser.conftest import DESKTOP, PHONE
from tests.browser.test_screenshots import scanned
from tests.checkouts.dashboard.opened import tell
from tests.checkouts.factories import make_completed, make_seen
from tests.checkouts.inboxes import late_item
from tests.dashboard.people import Desk, make_desk
from tests.factories import make_wallet
from tests.webhooks.factories import make_attempt, make_deliveries, make_endpoint, make_failed
from tests.webhooks.receiver import Receiver
from tests.webhooks.senders import sending
from webhooks.endpoints.secrets import ensure_secret
from webhooks.models import Delivery
from webhooks.states import DeliveryStatus

# How a page is opened on each, for Playwright.
SCREENS: dict[str, dict[str, Any]] = {
    "desk": {"viewport": DESKTOP},
    "phone": {"viewport": PHONE, "has_touch": True, "is_mobile": True},
}


@dataclass
class Hand:
    """A person's hand on a page. `clicks` are clicks or taps, `fields` are texts typed and options chosen.

    A field counts once, with the click into it and the Enter key that may end it.
    """

    page: Page
    touches: bool = False
    clicks: int = 0
    fields: int = 0

    def click(self, part: Locator) -> None:
        """Click it once, or tap it."""
        self.clicks += 1
        if self.touches:
            part.tap()
        else:
            part.click()

    def press(self, name: str) -> None:
        """Click the page's only button of that name."""
        self.click(self.page.get_by_role("button", name=name, exact=True))

    def follow(self, name: str) -> None:
        """Click the page's only link of that name, outside of the sidebar."""
        outside = self.page.get_by_role("main").or_(self.page.get_by_role("banner"))
        self.click(outside.get_by_role("link", name=name))

    def fill(self, field: Locator, text: str) -> None:
        """Type into a field."""
        self.fields += 1
        field.fill(text)

    def choose(self, field: Locator, option: str) -> None:
        """Choose an option of a list."""
        self.fields += 1
        field.select_option(option)

    def go(self, group: str, name: str) -> None:
        """Follow an entry of the sidebar; opens the menu and the group where the entry is hidden."""
        bar = self.page.get_by_role("navigation", name="Main")
        entry = bar.get_by_role("link", name=name)
        if not bar.is_visible():
            self.press("Menu")
        if not entry.is_visible():
            self.click(bar.get_by_text(group, exact=True))
        self.click(entry)


def log_in_hand(open_desk: Callable[..., Page], desk: Desk, screen: str) -> Hand:
    """Return a hand at the first page after the login, on a screen of `SCREENS`."""
    page = open_desk(desk, "dashboard_overview", **SCREENS[screen])
    return Hand(page, touches=screen == "phone")


pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

OpenDesk = Callable[..., Page]


def most_clicks(*, desk: int, phone: int) -> pytest.MarkDecorator:
    """Do the task on each screen, in so many clicks at most."""
    cases = [("desk", desk), ("phone", phone)]
    return pytest.mark.parametrize(("screen", "most"), cases)


@pytest.fixture
def desk() -> Desk:
    """An owner who can be paid, with some payments made."""
    desk = make_desk()
    make_wallet(desk.merchant)
    make_completed(merchant=desk.merchant, order_ref="HR-20481")
    make_seen(merchant=desk.merchant, order_ref="HR-20482")
    return desk


@most_clicks(desk=2, phone=2)
def test_a_payment_is_taken_in_person(screen: str, most: int, desk: Desk, open_desk: OpenDesk) -> None:
    hand = log_in_hand(open_desk, desk, screen)
    hand.follow("New checkout")
    hand.fill(hand.page.get_by_label("Amount in USD"), "4.50")
    hand.press("Create checkout")
    code = hand.page.locator(".share__code")
    expect(code).to_be_in_viewport(ratio=1)
    checkout = Checkout.objects.get(amount="4.50")
    assert scanned(hand.page, ".share__code").endswith(f"/c/{checkout.code}")
    assert hand.clicks <= most
    assert hand.fields == 1


@most_clicks(desk=0, phone=0)
def test_a_payment_is_found_by_its_hash(screen: str, most: int, desk: Desk, open_desk: OpenDesk) -> None:
    paid = Checkout.objects.get(order_ref="HR-20481")
    tx_hash = paid.payments.get().transfer.tx_hash
    hand = log_in_hand(open_desk, desk, screen)
    box = hand.page.get_by_role("searchbox")
    hand.fill(box, tx_hash)
    box.press("Enter")
    # The only hit opens itself; a hash is cut in the middle, and its link has the whole one.
    expect(hand.page).to_have_url(re.compile(f"/{paid.public_id}/"))
    expect(hand.page.locator(f'a[href*="{tx_hash}"]').first).to_be_visible()
    assert hand.clicks <= most
    assert hand.fields == 1


@most_clicks(desk=2, phone=2)
def test_a_stray_payment_is_put_right(screen: str, most: int, desk: Desk, open_desk: OpenDesk) -> None:
    late_item(merchant=desk.merchant, order_ref="HR-20399")
    hand = log_in_hand(open_desk, desk, screen)
    hand.follow("Accept late payment…")
    hand.press("Accept late payment")
    expect(hand.page.get_by_role("status")).to_contain_text("It takes effect in")
    assert apply_decisions(now=timezone.now() + UNDO_SPAN) == 1
    taken = Checkout.objects.filter(order_ref="HR-20399").latest("pk")
    assert taken.status == CheckoutStatus.COMPLETED
    assert hand.clicks <= most
    assert hand.fields == 0


@most_clicks(desk=5, phone=6)
def test_a_webhook_that_failed_is_explained_and_sent_again(
    screen: str, most: int, desk: Desk, open_desk: OpenDesk, receiver: Receiver
) -> None:
    ensure_secret(desk.merchant, now=timezone.now())
    endpoint = make_endpoint(desk.merchant, receiver.url)
    make_deliveries(endpoint, 2)
    Delivery.objects.update(status=DeliveryStatus.DELIVERED, is_due=False)
    [failed] = make_failed(endpoint)
    hand = log_in_hand(open_desk, desk, screen)
    hand.go("Developers", "Webhooks")
    hand.follow("Deliveries")
    row = hand.page.get_by_role("row").filter(has_text="Failed")
    hand.click(row.get_by_role("link"))
    live = hand.page.locator("#live")
    expect(live).to_contain_text("500 Internal Server Error")
    expect(live).to_contain_text("out of coffee")
    hand.press("Send again")
    with sending():
        expect(live).to_contain_text("200 OK")
    assert len(receiver.got) == 1
    failed.refresh_from_db()
    assert failed.status == DeliveryStatus.DELIVERED
    assert hand.clicks <= most
    assert hand.fields == 0


@most_clicks(desk=2, phone=2)
def test_the_banner_about_a_failing_endpoint_leads_to_its_delivery_and_it_is_sent_again(
    screen: str, most: int, desk: Desk, open_desk: OpenDesk, receiver: Receiver
) -> None:
    ensure_secret(desk.merchant, now=timezone.now())
    now = timezone.now()
    endpoint = make_endpoint(desk.merchant, receiver.url, consecutive_failures=5, failing_since=now)
    [failing] = make_deliveries(endpoint)
    make_attempt(failing)
    Delivery.objects.update(tries=5, next_attempt_at=now + timedelta(hours=1), is_due=False)
    hand = log_in_hand(open_desk, desk, screen)
    hand.follow("Open the failing delivery")
    live = hand.page.locator("#live")
    expect(live.locator(".badge").first).to_contain_text("Failing, try 6 at")
    expect(live).to_contain_text("out of coffee")
    hand.press("Send again")
    with sending():
        expect(live).to_contain_text("200 OK")
    failing.refresh_from_db()
    assert failing.status == DeliveryStatus.DELIVERED
    assert hand.clicks <= most
    assert hand.fields == 0


@most_clicks(desk=3, phone=3)
def test_a_known_payments_webhook_is_explained_and_sent_again(
    screen: str, most: int, desk: Desk, open_desk: OpenDesk, receiver: Receiver
) -> None:
    ensure_secret(desk.merchant, now=timezone.now())
    failed = tell(Checkout.objects.get(order_ref="HR-20481"), receiver.url)
    make_attempt(failed)
    Delivery.objects.update(status=DeliveryStatus.FAILED, is_due=False, tries=12, finished_at=timezone.now())
    hand = log_in_hand(open_desk, desk, screen)
    hand.follow("HR-20481")
    hand.follow("checkout.completed")
    live = hand.page.locator("#live")
    expect(live).to_contain_text("500 Internal Server Error")
    expect(live).to_contain_text("out of coffee")
    hand.press("Send again")
    expect(live.locator(".badge").first).to_have_text("Waiting")
    failed.refresh_from_db()
    assert failed.status == DeliveryStatus.PENDING
    assert hand.clicks <= most
    assert hand.fields == 0


@most_clicks(desk=3, phone=4)
def test_a_months_file_goes_to_the_accountant(screen: str, most: int, desk: Desk, open_desk: OpenDesk) -> None:
    hand, now = log_in_hand(open_desk, desk, screen), timezone.now()
    hand.go("Money", "For the accountant")
    with hand.page.expect_download() as download:
        hand.click(hand.page.get_by_role("link", name=f"CSV of {now:%B %Y}"))
    assert download.value.suggested_filename == f"florin-accountant-live-{now:%Y-%m}.csv"
    assert hand.clicks <= most
    assert hand.fields == 0


@most_clicks(desk=3, phone=4)
def test_an_admin_is_invited(screen: str, most: int, desk: Desk, open_desk: OpenDesk) -> None:
    hand = log_in_hand(open_desk, desk, screen)
    hand.go("Business", "Team")
    hand.fill(hand.page.get_by_label("E-mail"), "ines@halden.example")
    hand.choose(hand.page.get_by_label("Role", exact=True), "admin")
    hand.press("Send invitation")
    row = hand.page.get_by_role("row", name="ines@halden.example")
    expect(row).to_contain_text("Admin")
    invitation = Invitation.objects.get()
    assert (invitation.email, invitation.role) == ("ines@halden.example", Role.ADMIN)
    assert hand.clicks <= most
    assert hand.fields == 2
