"""What the inbox offers first follows from evidence: nothing is selected beforehand, and each confirmation says what happens."""

import re
from datetime import timedelta

import pytest
from django.db import connection, transaction

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.inbox.queries import InboxTab, items_in, near_checkouts
from checkouts.inbox.rows import choices_of
from checkouts.inbox.service import acts_of
from checkouts.inbox.stories import story_of
from checkouts.inbox.suggestions import suggestion_of
from checkouts.lifecycle.moves import expire
from checkouts.models import Checkout, InboxItem
from checkouts.states import CheckoutStatus, InboxAct, InboxReason
from gateway.core.api.pagination import PAGE_ROWS
from tests.checkouts.arrivals import SUFFIX, reserve
from tests.checkouts.inboxes import LATER, extra_item, late_item
from tests.checkouts.watcher import DOLLAR, Watcher, attribute
from tests.dashboard.inboxes import DECIDE, ITEM
from tests.dashboard.people import Desk
from tests.factories import NOON, make_checkout
from wallets.models import Transfer

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


def test_late_money_that_is_short_is_accepted_as_full_payment_first(owner: Desk) -> None:
    item = late_item(late=20 * DOLLAR, merchant=owner.merchant)
    page = page_of(owner, item)
    assert primary_acts(page) == ["accept_late"]
    assert "5.00 USD is missing." in words_of(page)


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
            "The checkout will have 25.00 of 30.00 USD. It stays open, and its page asks the buyer for 5.00.",
        ),
        "act=accept_late": ("L-1", "A new checkout with the same price and references receives 25.00 of 25.00 USD."),
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


# What an item says of its money, and which checkouts are near it.


def test_a_token_of_eighteen_decimals_is_shown_to_the_last_unit_and_not_credited(owner: Desk, item: InboxItem) -> None:
    Transfer.objects.filter(pk=item.transfer_id).update(chain="base", token="DAI", units=25 * 10**18 + 1)
    InboxItem.objects.filter(pk=item.pk).update(reason=InboxReason.WRONG_TOKEN)
    item = InboxItem.objects.get()
    assert "25.000000000000000001 DAI" in owner.get("dashboard_inbox").text
    assert InboxAct.CREDIT not in acts_of(item)
    assert item.transfer.priced_units == 25_000_000
    page = owner.client.get(owner.url(ITEM, item_id=item.pk))
    assert "25.000000000000000001" in page.content.decode()


def test_the_list_says_what_came_and_why_in_words(owner: Desk, item: InboxItem) -> None:
    page = owner.get("dashboard_inbox")
    assert page.status_code == 200
    assert "25.00 USDC" in page.text
    assert "Its checkout was already paid" in page.text
    assert item.checkout is not None
    assert item.checkout.public_id in page.text
    assert owner.url(ITEM, item_id=item.pk) in page.text


def test_late_money_says_how_late_and_returned_money_that_it_returned(owner: Desk) -> None:
    late = late_item(merchant=owner.merchant)
    assert "31 min after it expired." in owner.get(ITEM, item_id=late.pk).text
    checkout, watcher = make_checkout(owner.merchant), Watcher(height=900)
    transfer = watcher.sees(checkout)
    attribute()
    watcher.loses(transfer)
    attribute()
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=LATER)
    watcher.finds_again(transfer)
    attribute()
    page = owner.get("dashboard_inbox").text
    assert "A reorganisation took this transfer, and it returned after" in page
    assert "31 min after it expired." in page


def test_an_item_shows_evidence_and_checkouts_of_a_near_price(owner: Desk, item: InboxItem) -> None:
    near = make_checkout(owner.merchant, amount=24, order_ref="o-24", customer_ref="c1")
    make_checkout(owner.merchant, amount=90, order_ref="order-90")
    InboxItem.objects.filter(pk=item.pk).update(
        candidates=[{"checkout": near.public_id, "why_not": "not the only one"}]
    )
    page = owner.get(ITEM, item_id=item.pk).text
    assert item.transfer.tx_hash in page
    assert item.transfer.sender in page
    assert f"https://basescan.org/tx/{item.transfer.tx_hash}" in page
    assert "Not the only one." in page
    assert "1.00 more than it needs" in page
    assert "Customer c1" in page
    assert "order-90" not in page


@pytest.mark.parametrize(
    ("later", "age"),
    [
        (timedelta(0), "made as the money came"),
        (timedelta(milliseconds=999), "made as the money came"),
        (timedelta(seconds=1), "made after the money came"),
        (timedelta(seconds=-1), "made 1 s before the money came"),
    ],
)
def test_a_checkout_of_the_blocks_own_second_was_not_made_after_the_money(
    item: InboxItem, later: timedelta, age: str
) -> None:
    came_at = item.transfer.block_time
    checkout = make_checkout(created_at=came_at + later)
    [choice] = choices_of(item.transfer, [checkout], {})
    assert choice.age == age


@pytest.mark.parametrize(("seconds", "age"), [(60, "made as the money came"), (61, "made after the money came")])
def test_a_checkout_whose_exact_amount_came_has_a_minute_as_the_rule_gives_it(
    item: InboxItem, seconds: int, age: str
) -> None:
    Transfer.objects.filter(pk=item.transfer_id).update(units=25 * DOLLAR + SUFFIX)
    item.transfer.refresh_from_db()
    checkout = make_checkout(created_at=item.transfer.block_time + timedelta(seconds=seconds))
    reserve(checkout)
    [choice] = choices_of(item.transfer, [checkout], {})
    assert (choice.is_exact, choice.age) == (True, age)


def test_a_checkout_that_is_paid_in_full_is_neither_near_nor_suggested(owner: Desk, item: InboxItem) -> None:
    paid = make_checkout(
        owner.merchant, amount=25, amount_received=25, status=CheckoutStatus.PROCESSING, order_ref="order-paid"
    )
    assert "order-paid" not in owner.get(ITEM, item_id=item.pk).text
    InboxItem.objects.filter(pk=item.pk).update(checkout=paid, reason=InboxReason.EXTRA)
    item.refresh_from_db()
    assert suggestion_of(item, story_of(item, now=NOON)) is None
    [choice] = choices_of(item.transfer, [paid], {})
    assert (choice.difference, choice.fits) == ("needs nothing more", False)


def test_near_checkouts_are_live_ones_of_this_merchant_nearest_first(owner: Desk) -> None:
    seat = owner.get("dashboard_inbox").wsgi_request.seat
    prices = (30, 26, 25, 22, 60)
    made = {price: make_checkout(owner.merchant, amount=price) for price in prices}
    make_checkout(owner.merchant, amount=25, status=CheckoutStatus.EXPIRED)
    make_checkout(owner.merchant, amount=25, mode=Mode.TEST)
    make_checkout(amount=25)
    partly = make_checkout(owner.merchant, amount=100, amount_received=75, status=CheckoutStatus.UNDERPAID)
    found = near_checkouts(seat, 25 * DOLLAR)
    assert {c.pk for c in found[:2]} == {made[25].pk, partly.pk}
    assert [c.pk for c in found[2:]] == [made[26].pk, made[22].pk, made[30].pk]
    assert made[25].pk not in {c.pk for c in near_checkouts(seat, 25 * DOLLAR, but=[made[25].pk])}


def test_an_amount_that_no_column_holds_is_near_nothing(owner: Desk, item: InboxItem) -> None:
    Transfer.objects.filter(pk=item.transfer_id).update(units=2**255)
    assert owner.get(ITEM, item_id=item.pk).status_code == 200
    assert owner.get("dashboard_inbox").status_code == 200


# What the inbox asks the database is answered from indexes, however many items there are.


ITEMS = 10_000
_TRANSFERS = """
    INSERT INTO wallets_transfer (chain, tx_hash, position, token, token_address, units, sender, recipient, deposit_id,
        labels, merchant_id, mode, block_height, block_hash, block_time, state, detected_at, confirmed_at)
    SELECT chain, tx_hash || n, position, token, token_address, units, sender, recipient, deposit_id,
        labels, merchant_id, mode, block_height, block_hash, block_time, state, detected_at, confirmed_at
    FROM wallets_transfer CROSS JOIN generate_series(1, %s) n WHERE id = %s
"""
# One in twenty is open.
_ITEMS = """
    INSERT INTO checkouts_inboxitem
        (merchant_id, mode, transfer_id, reason, explanation, candidates, status, created_at)
    SELECT merchant_id, mode, id, 'unmatched', '', '[]',
        CASE WHEN id %% 20 = 0 THEN 'open' ELSE 'dismissed' END, now()
    FROM wallets_transfer WHERE id > %s
"""


def fill(merchant: Merchant) -> None:
    """Give a merchant as many items as it gathers in years."""
    newest = extra_item(merchant=merchant).transfer_id
    with connection.cursor() as cursor:
        cursor.execute(_TRANSFERS, [ITEMS, newest])
        cursor.execute(_ITEMS, [newest])


@pytest.mark.parametrize("tab", [InboxTab.OPEN, InboxTab.DOING])
def test_what_is_open_is_found_without_reading_what_is_resolved(tab: InboxTab, owner: Desk, stranger: Desk) -> None:
    fill(owner.merchant)
    fill(stranger.user.memberships.get().merchant)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    seat = owner.get("dashboard_inbox").wsgi_request.seat
    plan = items_in(seat, tab).order_by("-pk")[:PAGE_ROWS].explain()
    assert "inbox_open" in plan
    assert "Seq Scan on checkouts_inboxitem" not in plan
    assert "Seq Scan on wallets_transfer " not in plan
