"""The page on which an owner closes the account: what is open, the export, the name to type, and what comes after."""

import re

import pytest

from accounts.models import AuditEntry, Merchant
from accounts.states import Mode, Role
from checkouts.models import Checkout
from links.models import PaymentLink
from tests.accounts.logins import is_logged_in
from tests.dashboard.people import Desk, log_in, make_desk
from tests.factories import make_checkout, make_wallet
from tests.links.factories import make_link
from wallets.models import DepositTotal

pytestmark = pytest.mark.django_db
FIELDS_OF_LINK = {"title": "Tea", "amount": "25.00"}
ROW = re.compile(r'<a href="[^"]+">([^<]+)</a>\s*</td>\s*<td[^>]*>([^<]*)</td>')


def close(desk: Desk, name: str | None = None) -> int:
    """Send the form; return the answer's status."""
    typed = desk.merchant.name if name is None else name
    status: int = desk.post("dashboard_close_account", {"name": typed}).status_code
    return status


def open_things(desk: Desk) -> dict[str, str]:
    return dict(ROW.findall(desk.get("dashboard_closing").text))


def test_what_is_open_is_listed_first(owner: Desk, merchant: Merchant) -> None:
    assert set(open_things(owner).values()) == {"0", "0.00"}
    make_checkout(merchant)
    make_checkout(merchant)
    make_link(merchant, mode=Mode.LIVE)
    # What ended, is a test, or is another merchant's is not open here.
    make_link(merchant, mode=Mode.LIVE, status="archived")
    make_checkout(merchant, mode=Mode.TEST)
    make_checkout()
    DepositTotal.objects.create(
        merchant=merchant, purpose="checkout", chain="base", token="USDC", received=30_000_000, flushed=5_500_000
    )
    assert open_things(owner) == {
        "Open checkouts": "2",
        "Active payment links": "1",
        "Money at deposit addresses, USD": "24.50",
        "Webhooks not delivered yet": "0",
        "Inbox items": "0",
    }
    page = owner.get("dashboard_closing").text
    assert page.index("What is still open") < page.index("Download everything")
    assert page.index("Download everything") < page.index("Close this account")


def test_the_name_closes_the_account_and_logs_out(owner: Desk, merchant: Merchant, viewer: Desk) -> None:
    answer = owner.post("dashboard_close_account", {"name": merchant.name})
    assert (answer.status_code, answer["Location"]) == (302, "/account/login/")
    merchant.refresh_from_db()
    assert merchant.closed_at
    entry = AuditEntry.objects.get(action="merchant.closed")
    assert (entry.actor, entry.address) == (owner.user, "127.0.0.1")
    assert not is_logged_in(viewer.client)
    assert not is_logged_in(owner.client)
    login = owner.client.get("/account/login/")
    assert "is closed. You are logged out." in login.content.decode()


@pytest.mark.parametrize("name", ["", "x", "halden roasters"])
def test_another_name_closes_nothing(name: str, owner: Desk, merchant: Merchant) -> None:
    assert close(owner, name) == 422
    merchant.refresh_from_db()
    assert merchant.closed_at is None
    assert is_logged_in(owner.client)


@pytest.mark.parametrize("role", [Role.ADMIN, Role.VIEWER])
def test_nobody_else_sees_the_page_or_closes(role: Role, merchant: Merchant) -> None:
    desk = make_desk(merchant, role)
    assert desk.get("dashboard_closing").status_code == 403
    assert close(desk) == 403
    assert "Close account" not in desk.get("dashboard_data_export").text
    merchant.refresh_from_db()
    assert merchant.closed_at is None


def test_the_export_leads_an_owner_there(owner: Desk) -> None:
    assert owner.url("dashboard_closing") in owner.get("dashboard_data_export").text


def test_another_merchants_account_does_not_exist(stranger: Desk, merchant: Merchant) -> None:
    assert stranger.get("dashboard_closing").status_code == 404
    assert close(stranger) == 404
    merchant.refresh_from_db()
    assert merchant.closed_at is None


def test_closing_asks_for_a_proof_of_who_it_is(merchant: Merchant) -> None:
    desk = make_desk(merchant, fresh=False)
    assert desk.get("dashboard_closing").status_code == 200
    assert close(desk) == 302
    merchant.refresh_from_db()
    assert merchant.closed_at is None


def test_whoever_logs_in_again_reads_that_it_is_closed_and_makes_nothing(owner: Desk, merchant: Merchant) -> None:
    make_wallet(merchant)
    close(owner)
    owner.client = log_in(owner.user)
    assert "This account was closed on" in owner.get("dashboard_overview").text
    assert "Close this account" not in owner.get("dashboard_closing").text
    assert close(owner) == 302
    assert is_logged_in(owner.client)
    owner.mode = Mode.TEST
    form = {"amount": "25.00", "expires_in": "3600", "test_scenario": "completed"}
    made = owner.post("dashboard_new_checkout", form)
    assert (made.status_code, Checkout.objects.count()) == (409, 0)
    assert "account is closed" in made.text
    made = owner.post("dashboard_new_link_of", FIELDS_OF_LINK, kind="custom")
    assert (made.status_code, PaymentLink.objects.count()) == (409, 0)
    assert "account is closed" in made.text
    Merchant.objects.update(closed_at=None)
    assert owner.post("dashboard_new_checkout", form).status_code == 302
    made = owner.post("dashboard_new_link_of", FIELDS_OF_LINK, kind="custom")
    assert made.status_code == 302
