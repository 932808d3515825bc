"""The operator's pages in a browser, under the strict policy: any complaint of the browser's fails the test."""

from collections.abc import Callable
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import generate_totp_secret
from django.conf import settings as django_settings
from playwright.sync_api import BrowserContext, Page, expect

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.models import AuditEntry, FiatInterest, User
from accounts.states import Mode
from tests.accounts.logins import totp_code
from tests.browser import axe
from tests.browser.dashboard import look
from tests.dashboard.people import PASSWORD, make_member
from tests.factories import NOON, make_merchant
from tests.gateway.operator.people import log_in_by_factor, make_operator

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGES = {
    "index": "/operator/",
    "health": "/operator/health/",
    "merchants": "/operator/accounts/merchant/",
    "people": "/operator/accounts/user/",
    "waitlist": "/operator/accounts/fiatinterest/",
    "differences": "/operator/wallets/sourcedifference/",
    "audit": "/operator/accounts/auditentry/",
}


@pytest.fixture
def desk(open_context: Callable[..., BrowserContext], live_server: Any) -> Callable[[User], Page]:
    """Open a browser in which an operator is logged in."""

    def open_one(user: User) -> Page:
        context = open_context(reduced_motion="reduce", base_url=live_server.url)
        cookie = log_in_by_factor(user).cookies[django_settings.SESSION_COOKIE_NAME]
        context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": live_server.url}])
        return context.new_page()

    return open_one


def test_each_page_can_be_read_in_every_size_and_theme(desk: Callable[[User], Page], complaints: list[str]) -> None:
    merchant = make_merchant("Halden Roasters")
    FiatInterest.objects.create(merchant=merchant, mode=Mode.LIVE, email="ines@halden.example", created_at=NOON)
    operator = make_operator()
    waits = FiatInterest.objects.get()
    entry = record(None, action="person.deactivated", now=NOON, actor=Actor(operator))
    merchant_page = f"{PAGES['merchants']}{merchant.pk}/"
    page = desk(operator)
    pages = PAGES | {
        "merchant": f"{merchant_page}change/",
        "look-at": f"{merchant_page}look/",
        "person": f"{PAGES['people']}{operator.pk}/change/",
        "waits": f"{PAGES['waitlist']}{waits.pk}/change/",
        "entry": f"{PAGES['audit']}{entry.pk}/change/",
    }
    for name, path in pages.items():
        page.goto(path)
        assert complaints == [], name
        assert look(page, f"operator-{name}") == [], name
        assert axe.violations(page, rules=["target-size"]) == [], name
        # axe's own: it reads what a style sheet imports by writing it into the page.
        complaints.clear()


def test_a_plan_is_set_and_a_person_put_out(desk: Callable[[User], Page], complaints: list[str]) -> None:
    merchant = make_merchant("Halden Roasters")
    member = make_member(merchant)
    page = desk(make_operator())
    page.goto(PAGES["merchants"])
    page.get_by_role("link", name="Halden Roasters").last.click()
    page.get_by_label("Plan:", exact=True).select_option("growth")
    assert complaints == []
    assert look(page, "operator-merchant") == []
    # axe's own: it reads what a style sheet imports by writing it into the page.
    complaints.clear()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("was changed successfully")).to_be_visible()
    page.goto(PAGES["people"] + f"?q={member.public_id}")
    page.locator("input[name=_selected_action]").check()
    page.locator("select[name=action]").select_option("deactivate")
    page.get_by_role("button", name="Go").click()
    expect(page.get_by_text("Changed: 1.")).to_be_visible()
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["merchant.plan_set", "person.deactivated"]


def test_an_operator_looks_at_a_merchants_pages_and_stops(desk: Callable[[User], Page], complaints: list[str]) -> None:
    merchant = make_merchant("Halden Roasters")
    page = desk(make_operator())
    page.goto(f"{PAGES['merchants']}{merchant.pk}/change/")
    page.get_by_role("link", name="Look at this merchant's pages").click()
    assert complaints == []
    assert look(page, "operator-look") == []
    # axe's own, as above.
    complaints.clear()
    page.get_by_label("Reason").fill("They asked why an order is late")
    page.get_by_role("button", name="Look").click()
    banner = page.get_by_role("complementary", name="Operator")
    expect(banner).to_contain_text("looking at Halden Roasters as an operator")
    assert look(page, "dashboard-looked-at") == []
    banner.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("You stopped impersonating")).to_be_visible()
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["operator.looked", "operator.stopped"]


def test_an_operator_comes_in_by_the_only_login_with_password_and_code(
    open_context: Callable[..., BrowserContext], live_server: Any
) -> None:
    key = generate_totp_secret()
    operator = make_operator(key=key)
    page = open_context(base_url=live_server.url).new_page()
    page.goto("/operator/health/")
    page.get_by_label("E-mail").fill(operator.email)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()
    page.get_by_label("Code").fill(totp_code(key))
    page.get_by_role("button", name="Log in", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Installation health")
