"""What the inbox offers first follows from evidence: nothing is selected beforehand, and each confirmation says what happens."""

import re

import pytest

from checkouts.models import InboxItem
from checkouts.states import InboxReason
from tests.checkouts.inboxes import extra_item, late_item
from tests.checkouts.watcher import DOLLAR
from tests.dashboard.inboxes import DECIDE, ITEM
from tests.dashboard.people import Desk
from tests.factories import make_checkout

pytestmark = pytest.mark.django_db

_PRIMARY = re.compile(r'<button class="button button--primary"[^>]*value="([a-z_]+)"')


def page_of(desk: Desk, item: InboxItem, query: str = "") -> str:
    """An item's page."""
    return str(desk.get(ITEM, query, item_id=item.pk).text)


def main_part(page: str) -> str:
    """The page without the bars around it, which have buttons of their own."""
    return page.split("<main")[1].split("</main>")[0]


def primary_acts(page: str) -> list[str]:
    """The acts whose buttons stand out."""
    return _PRIMARY.findall(main_part(page))


def words_of(page: str) -> str:
    """The main part's text, each run of white space one space."""
    return " ".join(re.sub(r"<[^>]*>", "", main_part(page)).split())


def tied_item(desk: Desk) -> InboxItem:
    """25 USDC that fit two open checkouts equally."""
    item = extra_item(merchant=desk.merchant)
    fits = [make_checkout(desk.merchant, order_ref=f"T-{n}") for n in (1, 2)]
    item.reason, item.checkout = InboxReason.AMBIGUOUS, None
    item.candidates = [{"checkout": each.public_id, "why_not": "not the only one"} for each in fits]
    item.save()
    return item


def test_nothing_is_selected_beforehand(owner: Desk) -> None:
    tied, extra = tied_item(owner), extra_item(merchant=owner.merchant)
    for item, query in ((tied, ""), (tied, "?q=T-1"), (extra, "")):
        page = page_of(owner, item, query)
        assert page.count('type="radio"') == 2
        assert " checked" not in page


def test_checkouts_that_fit_equally_suggest_none(owner: Desk) -> None:
    page = page_of(owner, tied_item(owner))
    assert "2 checkouts fit." in page
    assert "Probably for" not in page
    # The button of what somebody selects, which sends nothing without a selection.
    assert primary_acts(page) == ["credit"]
    assert "required" in page.split('type="radio"')[1].split(">")[0]


def test_a_near_price_is_no_evidence(owner: Desk) -> None:
    item = extra_item(merchant=owner.merchant)
    make_checkout(owner.merchant, order_ref="near")
    page = page_of(owner, item)
    assert "near" in page
    assert primary_acts(page) == []


def test_late_money_that_is_enough_is_accepted_first(owner: Desk) -> None:
    item = late_item(merchant=owner.merchant)
    make_checkout(owner.merchant, order_ref="same price")
    page = page_of(owner, item)
    assert primary_acts(page) == ["accept_late"]
    assert "Accept this late payment" in page
    assert "Or credit another checkout" in page


def test_late_money_that_is_short_suggests_nothing(owner: Desk) -> None:
    item = late_item(late=20 * DOLLAR, merchant=owner.merchant)
    assert primary_acts(page_of(owner, item)) == []


def test_the_open_checkout_that_the_rules_name_is_credited_first(owner: Desk) -> None:
    item = extra_item(merchant=owner.merchant)
    named = make_checkout(owner.merchant, order_ref="W-1")
    item.reason, item.checkout = InboxReason.WRONG_NETWORK, named
    item.save()
    page = page_of(owner, item)
    assert "Probably for W-1" in words_of(page)
    assert primary_acts(page) == ["credit"]
    # Once, as the suggestion, and not among the others as well.
    assert page.count(f'value="{named.public_id}"') == 1


def test_a_viewer_sees_the_evidence_and_no_button(owner: Desk, viewer: Desk) -> None:
    page = page_of(viewer, late_item(merchant=owner.merchant))
    assert "Accept this late payment" in page
    assert primary_acts(page) == []


def test_each_confirmation_repeats_amount_checkout_and_consequence(owner: Desk) -> None:
    late = late_item(merchant=owner.merchant, order_ref="L-1")
    wanted = make_checkout(owner.merchant, order_ref="W-1", amount=30)
    said = {
        f"act=credit&checkout={wanted.public_id}": (
            "W-1",
            "The checkout will have 25.00 of 30.00 USD. It stays open: 5.00 is missing.",
        ),
        "act=accept_late": ("L-1", "A new checkout with the same price and references receives 25.00 of 25.00 USD."),
        "act=refunded": ("L-1", "No checkout changes."),
        "act=dismiss": ("L-1", "The money stays in your wallet."),
    }
    for query, (checkout, effect) in said.items():
        words = words_of(owner.get(DECIDE, f"?seen=0&{query}", item_id=late.pk).text)
        assert "Amount 25.00 USDC on Base" in words, query
        assert checkout in words, query
        assert effect in words, query


def test_a_confirmation_says_that_no_checkout_is_known(owner: Desk) -> None:
    item = tied_item(owner)
    words = words_of(owner.get(DECIDE, "?seen=0&act=dismiss", item_id=item.pk).text)
    assert "Probably for None is known" in words
