"""Forms that ask for money to be paid: what they say beforehand, and what they call their fields."""

import pytest

from accounts.states import Mode, Role
from tests.dashboard.people import Desk, make_desk
from tests.factories import WALLET, make_wallet

pytestmark = pytest.mark.django_db

WATCHED = {"chain": "base", "address": WALLET, "label": "", "tags": ""}
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


@pytest.mark.parametrize(
    ("page", "kind", "typed", "error"),
    [
        ("dashboard_branding", {}, {"accent": "red"}, "Accent colour must be a colour"),
        ("dashboard_branding", {}, {"support_url": "none"}, "Where buyers get help must be an"),
        ("dashboard_watch_wallet", {}, WATCHED | {"address": "0x1"}, "The address must"),
        ("dashboard_watch_wallet", {}, WATCHED | {"tags": "x" * 41}, "Must have 40"),
        ("dashboard_webhook_url", {}, {"url": "https://10.0.0.1/"}, "URL must be a"),
        (
            "dashboard_new_checkout",
            {},
            {"amount": "1000000.01", "expires_in": "1800"},
            "Amount in USD must be from 0.10 to 1,000,000.00.",
        ),
        (
            "dashboard_new_link_of",
            {"kind": "donation"},
            {"title": "Tips", "max_amount": "2000", "suggested_amounts": "3000"},
            "Suggested amounts must be from 0.10 to 2,000.00.",
        ),
    ],
)
def test_each_form_says_what_is_wrong_in_its_own_words(
    owner: Desk, page: str, kind: dict[str, str], typed: dict[str, str], error: str
) -> None:
    answer = owner.post(page, typed, **kind)
    assert answer.status_code == 422
    [[said]] = answer.context["form"].errors.values()
    assert said.startswith(error)


@pytest.mark.parametrize(
    ("page", "kind"), [("dashboard_new_checkout", {}), ("dashboard_new_link_of", {"kind": "custom"})]
)
def test_a_form_writes_the_largest_amount_as_all_amounts_are(owner: Desk, page: str, kind: dict[str, str]) -> None:
    make_wallet(owner.merchant)
    assert "From 0.10 to 1,000,000.00" in owner.get(page, **kind).text
