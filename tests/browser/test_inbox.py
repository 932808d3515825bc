"""The inbox in a real browser: somebody resolves an item, changes their mind, and what every page looks like."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from accounts.audit.actors import Actor
from accounts.states import Role
from checkouts.inbox.service import apply_decisions, decide_item
from checkouts.models import Checkout, InboxDecision, InboxItem
from checkouts.states import CheckoutStatus, InboxAct, InboxReason, RescueVerdict
from tests.browser.dashboard import log_in_browser, look
from tests.checkouts.arrivals import Till, reserve
from tests.checkouts.inboxes import extra_item, late_item
from tests.checkouts.watcher import DOLLAR, SOON, attribute, pay, status_of
from tests.dashboard.inboxes import make_report
from tests.dashboard.people import Desk, make_desk
from tests.factories import make_checkout
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def open_inbox(open_context: Callable[..., BrowserContext], live_server: Any) -> Callable[..., Page]:
    """Open a page of the inbox as somebody; `query` belongs to the address, further options are Playwright's."""

    def open_one(desk: Desk, item: InboxItem | None = None, *, query: str = "", **options: Any) -> Page:
        context = open_context(**({"reduced_motion": "reduce"} | options))
        log_in_browser(context, live_server.url, desk.user)
        page = context.new_page()
        where = desk.url("dashboard_inbox_item", item_id=item.pk) if item else desk.url("dashboard_inbox")
        page.goto(live_server.url + where + query)
        return page

    return open_one


def ambiguous_item(desk: Desk) -> tuple[InboxItem, Checkout]:
    """25 USDC that two checkouts could be meant by, and one of them."""
    item = extra_item(merchant=desk.merchant, order_ref="HR-20466")
    first, second = (
        make_checkout(desk.merchant, order_ref=f"HR-{number}", customer_ref=customer)
        for number, customer in ((20477, "mara@halden"), (20478, ""))
    )
    item.reason, item.checkout = InboxReason.AMBIGUOUS, None
    item.explanation = "2 live checkouts of this price"
    item.candidates = [
        {"checkout": each.public_id, "why_not": "not the only one of this price"} for each in (first, second)
    ]
    item.save()
    return item, second


def credit(page: Page, order_ref: str) -> None:
    page.get_by_label(order_ref).check()
    page.get_by_role("button", name="Credit the selected checkout").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(order_ref)
    page.get_by_role("button", name="Credit 25.00 USDC", exact=True).click()


def test_an_item_is_credited_undone_and_credited_again_until_it_takes_effect(
    owner: Desk, open_inbox: Callable[..., Page]
) -> None:
    _, wanted = ambiguous_item(owner)
    page = open_inbox(owner)
    page.get_by_role("link", name="25.00 USDC").click()
    credit(page, "HR-20478")
    expect(page.get_by_role("status")).to_contain_text("It takes effect in")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Nothing has changed, and the item is open")).to_be_visible()
    assert status_of(wanted) == CheckoutStatus.PENDING
    credit(page, "HR-20478")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    soon = timezone.now() + timedelta(seconds=2)
    InboxDecision.objects.filter(undone_at=None).update(due_at=soon)
    page.reload()
    wait_until(lambda: apply_decisions(now=timezone.now()) == 1)
    # The page looks by itself what came of it.
    expect(page.get_by_text("It took effect.")).to_be_visible()
    expect(page.get_by_text("Credited", exact=True)).to_be_visible()
    assert status_of(wanted) == CheckoutStatus.COMPLETED


def test_after_a_device_slept_no_time_is_left_to_undo(owner: Desk, open_inbox: Callable[..., Page]) -> None:
    item, wanted = ambiguous_item(owner)
    decide_item(item, act=InboxAct.CREDIT, checkout=wanted, now=timezone.now(), actor=Actor(owner.user))
    page = open_inbox(owner, item)
    expect(page.get_by_role("status")).to_contain_text("It takes effect in")
    # A minute goes by on the wall, and none for `performance.now()`; then the page is seen again.
    page.evaluate("(() => { const now = Date.now; Date.now = () => now() + 60_000; })()")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_role("status")).to_contain_text("It takes effect now")


def test_without_scripts_an_item_is_decided_and_undone(owner: Desk, open_inbox: Callable[..., Page]) -> None:
    item, _ = ambiguous_item(owner)
    page = open_inbox(owner, item, java_script_enabled=False)
    page.get_by_role("button", name="Dismiss").click()
    page.get_by_role("button", name="Dismiss").click()
    expect(page.get_by_text("It takes effect at")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Not credited", exact=True)).to_be_visible()


def test_the_slower_of_two_people_reads_what_the_faster_one_did(
    owner: Desk, open_inbox: Callable[..., Page], complaints: list[str]
) -> None:
    item, _ = ambiguous_item(owner)
    page = open_inbox(owner, item)
    page.get_by_role("button", name="Dismiss").click()
    colleague = make_desk(owner.merchant, Role.ADMIN).user
    decide_item(item, act=InboxAct.DISMISS, now=timezone.now(), actor=Actor(colleague))
    page.get_by_role("button", name="Dismiss").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(f"{colleague.email} decided about this before you")
    # The browser notes that the answer was a 409.
    complaints.clear()


def _list(desk: Desk) -> tuple[InboxItem | None, str]:
    ambiguous_item(desk)
    extra_item(units=49_000_201, merchant=desk.merchant)
    late_item(merchant=desk.merchant, order_ref="HR-20399")
    shipped = make_checkout(desk.merchant, order_ref="HR-20110")
    InboxItem.objects.create(
        merchant=desk.merchant,
        mode=desk.mode,
        transfer=pay(shipped),
        checkout=shipped,
        reason=InboxReason.REVERSED,
        explanation="a reorganisation removed this transfer after the checkout completed",
        created_at=timezone.now(),
    )
    return None, ""


def _item(desk: Desk) -> tuple[InboxItem | None, str]:
    item, _ = ambiguous_item(desk)
    make_checkout(desk.merchant, amount=24, order_ref="HR-20479", description="Beans")
    item.transfer.labels = ["thanks for the coffee"]
    item.transfer.save()
    return item, ""


def _late(desk: Desk) -> tuple[InboxItem | None, str]:
    widest = f"chk_live_{26 * 'w'}"
    return late_item(before=10 * DOLLAR, late=15 * DOLLAR, merchant=desk.merchant, public_id=widest), ""


def _named(desk: Desk) -> tuple[InboxItem | None, str]:
    item, named = ambiguous_item(desk)
    item.reason, item.checkout, item.candidates = InboxReason.WRONG_NETWORK, named, []
    item.explanation = "USDT on base was not offered for this checkout"
    item.save()
    return item, ""


def _pending(desk: Desk) -> tuple[InboxItem | None, str]:
    item, wanted = ambiguous_item(desk)
    # Far away, so that every picture shows the same page.
    decide_item(item, act=InboxAct.CREDIT, checkout=wanted, now=timezone.now(), actor=Actor(desk.user))
    InboxDecision.objects.update(due_at=timezone.now() + timedelta(hours=1))
    return item, ""


def _sure(desk: Desk) -> tuple[InboxItem | None, str]:
    item, wanted = ambiguous_item(desk)
    return item, f"decide/?act=credit&seen=0&checkout={wanted.public_id}"


def _refund(desk: Desk) -> tuple[InboxItem | None, str]:
    return ambiguous_item(desk)[0], "decide/?act=refunded&seen=0"


def _reports(desk: Desk) -> tuple[InboxItem | None, str]:
    item = extra_item(merchant=desk.merchant, order_ref="HR-20466")
    assert item.checkout is not None
    make_report(item.checkout, item.transfer.tx_hash)
    return None, "reports/"


def _reported(desk: Desk) -> InboxItem:
    """60 that came for 62.0032, of the wallet's own chain, and its buyer named the transaction."""
    till = Till(desk.merchant)
    checkout = till.checkout("62.00", order_ref="HR-62")
    reserve(checkout, 3_200, reserved_at=SOON - timedelta(seconds=20))
    transfer = till.sees(60 * DOLLAR)
    till.confirms()
    attribute()
    report = make_report(checkout, transfer.tx_hash)
    type(report).objects.filter(pk=report.pk).update(chain="ethereum", verdict=RescueVerdict.WAITING)
    return InboxItem.objects.get(transfer=transfer)


def _evidence(desk: Desk) -> tuple[InboxItem | None, str]:
    _reported(desk)
    _list(desk)
    late_item(late=20 * DOLLAR, merchant=desk.merchant, order_ref="HR-20400")
    return None, ""


def _evidence_item(desk: Desk) -> tuple[InboxItem | None, str]:
    return _reported(desk), ""


def _accept_short(desk: Desk) -> tuple[InboxItem | None, str]:
    item = _reported(desk)
    named = Checkout.objects.get(order_ref="HR-62")
    return item, f"decide/?act=credit&seen=0&accepted=60.000000&checkout={named.public_id}"


def _many(desk: Desk) -> tuple[InboxItem | None, str]:
    items = [late_item(merchant=desk.merchant), late_item(late=20 * DOLLAR, merchant=desk.merchant), _reported(desk)]
    return None, f"decide/?act=suggested&{'&'.join(f'item={item.pk}' for item in items)}"


def _doing(desk: Desk) -> tuple[InboxItem | None, str]:
    for _ in range(2):
        item = extra_item(merchant=desk.merchant)
        decide_item(item, act=InboxAct.DISMISS, now=timezone.now(), actor=Actor(desk.user))
    InboxDecision.objects.update(due_at=timezone.now() + timedelta(hours=1))
    return None, "?tab=doing"


def _empty(_: Desk) -> tuple[InboxItem | None, str]:
    return None, ""


SCENES = {
    "list": _list,
    "empty": _empty,
    "item": _item,
    "late": _late,
    "named": _named,
    "pending": _pending,
    "sure": _sure,
    "refund": _refund,
    "reports": _reports,
    "evidence": _evidence,
    "evidence-item": _evidence_item,
    "evidence-sure": _accept_short,
    "many": _many,
    "doing": _doing,
}


@pytest.mark.parametrize("name", SCENES)
def test_pages_are_accessible_and_fit_the_screen(name: str, owner: Desk, open_inbox: Callable[..., Page]) -> None:
    item, query = SCENES[name](owner)
    page = open_inbox(owner, item, query=query, device_scale_factor=2)
    assert look(page, f"inbox-{name}", narrowest=320) == []
