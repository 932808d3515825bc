"""Forms that ask for money to be paid: what they say beforehand, and what they call their fields."""

import pytest

from accounts.states import Mode, Role
from checkouts.payloads import checkout_url
from tests.checkouts.dashboard.opened import page_of
from tests.checkouts.factories import make_completed
from tests.dashboard.people import Desk, make_desk
from tests.factories import WALLET, make_checkout, make_wallet

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


FOLDED = '<details class="more fold" '


def test_a_new_checkout_shows_few_fields_and_unfolds_the_rest_when_they_matter(owner: Desk) -> None:
    make_wallet(owner.merchant)
    page = owner.get("dashboard_new_checkout")
    assert [field.name for field in page.context["form"].main_fields()] == ["amount", "description"]
    amount, rest = page.text.split(FOLDED)
    assert "autofocus" in amount
    assert not rest.startswith("open")
    assert {"order_ref", "escrow"} <= {field.name for field in page.context["form"].more_fields()}
    # A wrong amount leaves them folded; what was typed into them, or is wrong there, does not.
    sent = {"amount": "0", "expires_in": "1800"}
    for typed, is_open in [({}, False), ({"order_ref": "HR-1"}, True), ({"redirect_url": "none"}, True)]:
        answer = owner.post("dashboard_new_checkout", sent | typed)
        assert answer.status_code == 422
        assert answer.text.split(FOLDED)[1].startswith("open") is is_open


def test_the_page_that_follows_has_the_code_large_and_says_there_how_the_checkout_stands(owner: Desk) -> None:
    checkout = make_checkout(owner.merchant)
    page = page_of(owner, checkout)
    assert 'data-opens="big-code"' in page
    assert f'data-shares="{checkout_url(checkout.code)}"' in page
    assert page.count('id="big-standing"') == 1
    asked = owner.url("dashboard_checkout_live", checkout_id=checkout.public_id)
    assert 'id="big-standing"' in owner.client.get(f"{asked}?code=1").text
    # A page without the code has nothing to put it into.
    assert 'id="big-standing"' not in owner.client.get(asked).text
    assert 'id="big-code"' not in page_of(owner, make_completed(merchant=owner.merchant))
