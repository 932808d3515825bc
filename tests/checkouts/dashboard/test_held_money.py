"""Money of a checkout that waits in the inbox is on the checkout's own page, with what can be done about it."""

from typing import Any

import pytest

from checkouts.models import InboxItem
from checkouts.states import InboxAct
from tests.checkouts.inboxes import extra_item, late_for, late_item
from tests.checkouts.watcher import DOLLAR
from tests.dashboard.inboxes import DECIDE, ITEM, carry_out, decide, reverse_a_payment
from tests.dashboard.people import Desk
from tests.factories import make_checkout

pytestmark = pytest.mark.django_db


def checkout_page(desk: Desk, item: InboxItem) -> Any:
    """The page of an item's checkout."""
    assert item.checkout is not None
    return desk.get("dashboard_checkout", checkout_id=item.checkout.public_id)


def acts(page: Any) -> list[list[str]]:
    """The acts that are offered, by item."""
    return [[act for act, _ in one.acts] for one in page.context["detail"].waiting]


def test_an_expired_checkout_with_money_offers_to_accept_it(owner: Desk) -> None:
    item = late_item(merchant=owner.merchant)
    page = checkout_page(owner, item)
    assert acts(page) == [["accept_late", "refunded", "dismiss"]]
    assert owner.url(ITEM, item_id=item.pk) in page.text
    assert f'action="{owner.url(DECIDE, item_id=item.pk)}"' in page.text
    assert "It came 31 min after it expired." in page.text
    [money] = page.context["detail"].waiting
    sure = owner.get(DECIDE, f"?act=accept_late&seen={money.seen}", item_id=item.pk)
    assert "Accept 25.00 USDC that came late?" in sure.text


def test_late_money_that_is_short_is_not_offered_to_be_accepted(owner: Desk) -> None:
    item = late_item(late=20 * DOLLAR, merchant=owner.merchant)
    assert acts(checkout_page(owner, item)) == [["refunded", "dismiss"]]
    assert item.checkout is not None
    late_for(item.checkout, 5 * DOLLAR)
    both = ["accept_late", "refunded", "dismiss"]
    assert acts(checkout_page(owner, item)) == [both, both]


def test_money_that_was_not_needed_and_alarms_are_shown_too(owner: Desk) -> None:
    extra = extra_item(merchant=owner.merchant)
    assert acts(checkout_page(owner, extra)) == [["refunded", "dismiss"]]
    alarm = checkout_page(owner, reverse_a_payment(owner))
    assert acts(alarm) == [["dismiss"]]
    text = " ".join(alarm.text.split())
    assert 'took <span class="number">25.00 USDC</span> on Base back' in text
    assert "waits in your inbox" not in text
    assert "Hold the goods back" in text


def test_what_is_decided_offers_nothing_more_and_then_is_gone(owner: Desk) -> None:
    item = late_item(merchant=owner.merchant)
    decide(owner, item, InboxAct.ACCEPT_LATE)
    page = checkout_page(owner, item)
    assert acts(page) == [[]]
    assert "Being accepted late." in page.text
    carry_out()
    assert acts(checkout_page(owner, item)) == []


def test_a_viewer_sees_the_money_and_no_act(owner: Desk, viewer: Desk) -> None:
    item = late_item(merchant=owner.merchant)
    page = checkout_page(viewer, item)
    assert viewer.url(ITEM, item_id=item.pk) in page.text
    assert "Accept late payment" not in page.text


def test_a_checkout_without_money_in_the_inbox_shows_none(owner: Desk) -> None:
    late_item(merchant=owner.merchant)
    other = make_checkout(owner.merchant)
    page = owner.get("dashboard_checkout", checkout_id=other.public_id)
    assert acts(page) == []
    assert "waiting-" not in page.text
