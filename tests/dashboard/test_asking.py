"""Forms that ask for money to be paid: what they say beforehand, and what they call their fields."""

import pytest

from accounts.states import Mode, Role
from tests.dashboard.people import Desk, make_desk
from tests.factories import make_wallet

pytestmark = pytest.mark.django_db

MISSING = "You have no receiving wallet yet."


def pages(desk: Desk) -> list[str]:
    checkout = desk.get("dashboard_new_checkout").text
    return [checkout, desk.get("dashboard_new_link_of", kind="donation").text]


def test_a_missing_wallet_is_told_before_a_form_is_filled_in(owner: Desk) -> None:
    link = f'href="{owner.url("dashboard_receiving_wallets")}">Add a receiving wallet'
    for page in pages(owner):
        assert MISSING in page
        assert link in page
    make_wallet(owner.merchant)
    assert not any(MISSING in page for page in pages(owner))


def test_an_admin_is_sent_to_an_owner(admin: Desk) -> None:
    for page in pages(admin):
        assert "Ask an owner of your team" in page
        assert "Add a receiving wallet" not in page


def test_test_mode_needs_no_wallet() -> None:
    desk = make_desk(role=Role.OWNER, mode=Mode.TEST)
    assert not any(MISSING in page for page in pages(desk))


def test_a_form_names_its_fields_by_their_labels(owner: Desk) -> None:
    filled = {"title": "Tips", "min_amount": "20", "max_amount": "10"}
    page = owner.post("dashboard_new_link_of", filled, kind="donation")
    assert page.status_code == 422
    assert "Maximum amount must be at least the minimum amount." in page.text
    assert "max_amount must" not in page.text
    bad = {"amount": "25.001", "expires_in": "1800"}
    page = owner.post("dashboard_new_checkout", bad)
    [error] = page.context["form"].errors["amount"]
    assert error.startswith("Amount in USD ")
