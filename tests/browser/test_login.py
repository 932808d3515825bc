"""People in a real browser: signing up, second factors, passkeys, being locked out, joining a team."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from accounts.login.people import vouch_for
from accounts.models import User
from accounts.states import Role
from tests.accounts.logins import code_in, last_mail, link_in, totp_code
from tests.browser.dashboard import log_in_browser, look
from tests.dashboard.people import PASSWORD, make_desk, make_member
from tests.factories import make_merchant, make_user
from tests.gateway.operator.people import make_operator
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

GOOD = "a long enough sentence"
EMAIL = "ada@example.test"


@pytest.fixture
def site(live_server: Any) -> str:
    """Where the pages are: by name, for a passkey belongs to one."""
    address = str(live_server.url)
    assert "localhost" in address
    return address


@pytest.fixture
def person() -> User:
    """Somebody with a password."""
    user = make_user(EMAIL)
    vouch_for(user)
    return user


def log_in(page: Page, site: str, email: str, password: str) -> None:
    page.goto(f"{site}/account/login/")
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in", exact=True).click()


def inside(page: Page) -> None:
    """Wait for the dashboard."""
    expect(page.get_by_label("Sidebar")).to_contain_text("Halden Roasters")


def heading(page: Page, words: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(words)


def test_from_signing_up_to_the_dashboard(page: Page, site: str) -> None:
    page.goto(f"{site}/account/login/")
    page.get_by_role("link", name="Create an account").click()
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label("E-mail address").fill(EMAIL)
    page.get_by_label("Password").fill(GOOD)
    page.get_by_role("button", name="Create account").click()
    heading(page, "Look into your mail")
    assert look(page, "account-code") == []
    page.get_by_label("Code").fill(code_in(last_mail(EMAIL)))
    page.get_by_role("button", name="Confirm").click()
    heading(page, "Your business")
    assert look(page, "dashboard-new-merchant") == []
    page.get_by_label("Name of your business").fill("Halden Roasters")
    page.get_by_role("button", name="Continue").click()
    inside(page)


def test_five_wrong_passwords_and_the_page_says_how_long_to_wait(page: Page, site: str, person: User) -> None:
    for _ in range(5):
        log_in(page, site, EMAIL, "wrong")
        expect(page.get_by_role("alert")).to_contain_text("is wrong")
    log_in(page, site, EMAIL, PASSWORD)
    expect(page.get_by_role("alert")).to_contain_text("Wait 15 minutes")


def test_an_authenticator_app_is_set_up_and_asked_for(
    page: Page, site: str, person: User, open_context: Callable[..., BrowserContext]
) -> None:
    make_member_of_something(person)
    log_in(page, site, EMAIL, PASSWORD)
    page.goto(f"{site}/account/security/")
    page.get_by_role("link", name="Set up the app").click()
    key = page.locator("#totp-key").inner_text()
    page.get_by_label("Authenticator code").fill(totp_code(key))
    page.get_by_role("button", name="Set it up").click()
    heading(page, "Recovery codes")
    assert look(page, "account-recovery-codes") == []
    page.get_by_role("button", name="Copy codes").click()
    recovery = page.locator(".codes li").first.inner_text()
    wait_until(lambda: recovery in page.evaluate("navigator.clipboard.readText()"))

    other = open_context().new_page()
    log_in(other, site, EMAIL, PASSWORD)
    heading(other, "One more step")
    assert look(other, "account-second-step") == []
    other.get_by_label("Code").fill(recovery)
    other.get_by_role("button", name="Log in", exact=True).click()
    inside(other)


def make_member_of_something(person: User) -> None:
    make_merchant().memberships.create(user=person, role=Role.OWNER)


@pytest.fixture
def device(page: Page) -> Iterator[Any]:
    """A phone or laptop that keeps passkeys and knows its owner."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    added = session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    yield lambda verified: session.send(
        "WebAuthn.setUserVerified", {"authenticatorId": added["authenticatorId"], "isUserVerified": verified}
    )
    session.detach()


def test_a_passkey_is_added_and_logs_in_without_a_password(page: Page, site: str, person: User, device: Any) -> None:
    make_member_of_something(person)
    log_in_browser(page.context, site, person)
    page.goto(f"{site}/account/security/")
    page.get_by_role("link", name="Manage passkeys").click()
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_label("Name").fill("My laptop")
    page.get_by_role("button", name="Add passkey").click()
    heading(page, "Recovery codes")
    page.goto(f"{site}/account/second-factor/webauthn/")
    assert look(page, "account-passkeys") == []
    page.goto(f"{site}/account/second-factor/webauthn/reauthenticate/")
    assert look(page, "account-passkey-again") == []
    page.get_by_role("button", name="Use a passkey").click()
    inside(page)
    page.goto(f"{site}/account/security/")
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("button", name="Log in with a passkey").click()
    inside(page)
    # It is a proof for dangerous acts as well, and a second step after the password.
    page.context.clear_cookies()
    log_in(page, site, EMAIL, PASSWORD)
    heading(page, "One more step")
    page.get_by_role("button", name="Use a passkey").click()
    inside(page)


def test_a_passkey_that_is_refused_says_so(page: Page, site: str, person: User, device: Any) -> None:
    page.goto(f"{site}/account/login/")
    device(False)
    page.get_by_role("button", name="Log in with a passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("The passkey was not used")


def test_an_invited_viewer_joins_and_can_change_nothing(
    page: Page, site: str, open_context: Callable[..., BrowserContext], settings: Any, complaints: list[str]
) -> None:
    settings.SIGNUP_OPEN = False
    desk = make_desk()
    log_in_browser(page.context, site, desk.user)
    page.goto(site + desk.url("dashboard_team"))
    page.get_by_label("E-mail address").fill(EMAIL)
    page.get_by_role("button", name="Send invitation").click()
    expect(page.get_by_role("status")).to_contain_text("was invited")

    guest = open_context().new_page()
    guest.goto(site + link_in(last_mail(EMAIL)))
    guest.get_by_role("link", name="Create an account").click()
    expect(guest.get_by_label("E-mail address")).to_be_disabled()
    guest.get_by_label("Password").fill(GOOD)
    guest.get_by_role("button", name="Create account").click()
    guest.get_by_role("button", name="Join").click()
    inside(guest)
    for name in ("Send invitation", "Change", "Remove"):
        expect(guest.get_by_role("button", name=name, exact=True)).to_have_count(0)
    answer = guest.evaluate(
        """async (address) => {
          const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
          const body = new URLSearchParams({ csrfmiddlewaretoken: token, email: "x@example.test", role: "owner" });
          return (await fetch(address, { method: "POST", body })).status;
        }""",
        desk.url("dashboard_invite"),
    )
    assert answer == 403
    # The browser complains about what the test asked for.
    wait_until(lambda: any("403" in one for one in complaints))
    complaints.clear()


OUTSIDE = [
    "login/",
    "signup/",
    "password/reset/",
    "password/reset/done/",
    "password/reset/key/x-y/",
    "inactive/",
    "logout/",
    "invitation/x/",
]
INSIDE = [
    "security/",
    "sessions/",
    "password/change/",
    "email/",
    "reauthenticate/",
    "second-factor/totp/activate/",
    "second-factor/webauthn/",
    "second-factor/webauthn/add/",
]


def look_at(page: Page, site: str, path: str) -> list[str]:
    """What is wrong with a page of /account/."""
    page.goto(f"{site}/account/{path}")
    return look(page, "account-" + path.strip("/").replace("/", "-"))


def test_pages_before_the_dashboard_are_accessible_and_fit_the_screen(
    page: Page, site: str, complaints: list[str]
) -> None:
    for path in OUTSIDE:
        assert look_at(page, site, path) == [], path
    complaints[:] = [one for one in complaints if "409" not in one]


def test_pages_of_a_person_are_accessible_and_fit_the_screen(page: Page, site: str) -> None:
    log_in_browser(page.context, site, make_member(make_merchant()))
    for path in INSIDE:
        assert look_at(page, site, path) == [], path


@pytest.mark.parametrize("path", ["totp/deactivate/", "recovery-codes/generate/"])
def test_pages_of_a_second_factor_are_accessible_and_fit_the_screen(path: str, page: Page, site: str) -> None:
    log_in_browser(page.context, site, make_operator())
    assert look_at(page, site, f"second-factor/{path}") == []
    assert page.url.endswith(path)
