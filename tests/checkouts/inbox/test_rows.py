"""What an item says of its money, and which checkouts are near it."""

from datetime import timedelta

import pytest
from django.db import transaction

from accounts.states import Mode
from checkouts.inbox.evidence import suggestion_of
from checkouts.inbox.queries import near_checkouts
from checkouts.inbox.rows import choices_of
from checkouts.inbox.service import acts_of
from checkouts.lifecycle.moves import expire
from checkouts.models import Checkout, InboxItem
from checkouts.states import CheckoutStatus, InboxAct, InboxReason
from tests.checkouts.inboxes import LATER, late_item
from tests.checkouts.watcher import DOLLAR, Watcher, attribute
from tests.dashboard.inboxes import ITEM
from tests.dashboard.people import Desk
from tests.factories import make_checkout
from wallets.models import Transfer

pytestmark = pytest.mark.django_db


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


def test_a_checkout_that_is_paid_in_full_is_neither_near_nor_suggested(owner: Desk, item: InboxItem) -> None:
    paid = make_checkout(
        owner.merchant, amount=25, amount_received=25, status=CheckoutStatus.PROCESSING, order_ref="order-paid"
    )
    assert "order-paid" not in owner.get(ITEM, item_id=item.pk).text
    InboxItem.objects.filter(pk=item.pk).update(checkout=paid, reason=InboxReason.EXTRA)
    item.refresh_from_db()
    assert suggestion_of(item, set(InboxAct), None) is None
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
