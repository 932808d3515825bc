"""Cancelling an unpaid checkout in the dashboard."""

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import AuditEntry
from checkouts.dashboard.details import CheckoutDetail
from checkouts.line_items import line_items_of
from checkouts.models import MOST_LETTERS, Checkout, TeamNote
from checkouts.selectors import checkout_object, checkout_row
from checkouts.states import CheckoutStatus
from gateway.core import json
from links.models import PaymentLink
from links.states import LinkType
from settlements.models import Hold
from tests.checkouts.arrivals import Till
from tests.checkouts.dashboard.opened import page_of, tell
from tests.checkouts.factories import make_completed, make_expired, make_page_checkout
from tests.checkouts.inboxes import late_item
from tests.checkouts.watcher import DOLLAR, attribute, fresh, pay
from tests.dashboard.people import Desk
from tests.factories import LOCAL_NODES, NOON, make_checkout, make_live_chain, make_wallet
from tests.links.dashboard.filled import edited, make
from tests.webhooks.factories import make_endpoint
from webhooks.models import Delivery
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db


QUESTION = "Cancel this checkout?"


def cancel(desk: Desk, checkout: Checkout) -> Any:
    return desk.post("dashboard_cancel", checkout_id=checkout.public_id)


def test_an_admin_cancels_what_nobody_paid(admin: Desk) -> None:
    checkout = make_checkout(admin.merchant)
    assert QUESTION in page_of(admin, checkout)
    assert cancel(admin, checkout).status_code == 302
    assert fresh(checkout).status == CheckoutStatus.EXPIRED
    entry = AuditEntry.objects.get(action="checkout.cancelled")
    assert (entry.actor, entry.object_id) == (admin.user, checkout.public_id)
    page = page_of(admin, checkout)
    assert "Checkout cancelled." in page
    assert "Money that still comes waits in the inbox" in page
    assert QUESTION not in page
    listed = admin.get("dashboard_checkouts").context["rows"]
    assert [row.badge.label for row in listed] == ["Cancelled"]


def test_what_was_paid_meanwhile_stays_and_says_why(owner: Desk) -> None:
    checkout = make_checkout(owner.merchant)
    pay(checkout)
    assert QUESTION not in page_of(owner, checkout)
    cancel(owner, checkout)
    assert "already" in page_of(owner, checkout)
    assert fresh(checkout).status == CheckoutStatus.COMPLETED


def test_a_viewer_is_not_asked_to_cancel(viewer: Desk) -> None:
    checkout = make_checkout(viewer.merchant)
    assert QUESTION not in page_of(viewer, checkout)


# The page of a checkout: its JSON, late money, and line items.


def test_the_json_of_a_checkout_is_folded(owner: Desk) -> None:
    page = page_of(owner, make_checkout(owner.merchant))
    [attributes] = re.findall(r'<details class="fold-card"([^>]*)>\s*<summary>\s*<h2 id="body-heading">JSON</h2>', page)
    assert "open" not in attributes


TWO = '{"line_items": [{"name": "Ticket", "quantity": 2, "unit_price": "12.50"}]}'


def test_late_money_leads_to_its_inbox_item(owner: Desk) -> None:
    item = late_item(merchant=owner.merchant)
    assert item.checkout is not None
    page = page_of(owner, item.checkout)
    url = owner.url("dashboard_inbox_item", item_id=item.pk)
    assert page.count(f'href="{url}"') == 2
    assert "Accept late payment…" in page
    assert "Payment moved to the inbox" in page


def test_line_items_are_listed_with_their_sum(owner: Desk) -> None:
    exact = make_checkout(owner.merchant, metadata=TWO)
    page = page_of(owner, exact)
    assert "Ticket" in page
    assert "2 × 12.50" in page
    assert "The checkout asks for" not in page
    other = make_checkout(owner.merchant, metadata=TWO, amount=Decimal("30.00"))
    assert "The checkout asks for 30.00 USD" in page_of(owner, other)


# The items that a checkout's metadata names.


@pytest.mark.parametrize(
    "items",
    [
        "null",
        "[]",
        "{}",
        '["Ticket"]',
        '[{"name": "", "unit_price": "1.00"}]',
        '[{"name": "A", "unit_price": 1}]',
        '[{"name": "A", "unit_price": "-1.00"}]',
        '[{"name": "A", "unit_price": "1.001"}]',
        '[{"name": "A", "unit_price": "1e3"}]',
        '[{"name": "A", "unit_price": "9999999999999999"}]',
        '[{"name": "A", "unit_price": "١"}]',
        '[{"name": "A", "unit_price": "1.00", "quantity": 0}]',
        '[{"name": "A", "unit_price": "1.00", "quantity": true}]',
        '[{"name": "A", "unit_price": "1.00"}, {"name": 2, "unit_price": "1.00"}]',
        "[" + ", ".join(['{"name": "A", "unit_price": "1"}'] * 51) + "]",
    ],
)
def test_items_in_another_form_are_left_as_metadata(items: str) -> None:
    assert line_items_of(f'{{"line_items": {items}}}', amount=Decimal(1)) is None


def test_a_quantity_is_one_unless_it_is_given() -> None:
    metadata = '{"line_items": [{"name": "A", "unit_price": "1200"}]}'
    found = line_items_of(metadata, amount=Decimal(1200))
    assert found is not None
    assert found.is_exact
    assert found.total == "1,200.00"
    assert [line.quantity for line in found.lines] == [1]


# The team's note about a checkout: who writes it, who reads it, and who never does.


def write(desk: Desk, checkout: Checkout, text: str) -> Any:
    return desk.post("dashboard_checkout_note", {"text": text}, checkout_id=checkout.public_id)


def test_a_note_is_kept_changed_removed_and_audited(admin: Desk) -> None:
    checkout = make_checkout(admin.merchant)
    texts = ["Called the buyer.\r\nPays on Monday.", "Paid in cash", "Paid in cash", ""]
    for text in texts:
        assert write(admin, checkout, text).status_code == 302
    assert not TeamNote.objects.exists()
    entries = AuditEntry.objects.filter(action="checkout.note_written").order_by("pk")
    assert [(entry.before, entry.after) for entry in entries] == [
        ({"note": ""}, {"note": "Called the buyer.\nPays on Monday."}),
        ({"note": "Called the buyer.\nPays on Monday."}, {"note": "Paid in cash"}),
        ({"note": "Paid in cash"}, {"note": ""}),
    ]
    assert {entry.actor for entry in entries} == {admin.user}


def test_a_note_is_escaped_and_has_a_limit(owner: Desk) -> None:
    checkout = make_checkout(owner.merchant)
    write(owner, checkout, "<b>bold</b>")
    assert "&lt;b&gt;bold&lt;/b&gt;" in page_of(owner, checkout)
    write(owner, checkout, "x" * (MOST_LETTERS + 1))
    assert TeamNote.objects.get().text == "<b>bold</b>"
    assert "Note: Ensure this value has at most" in page_of(owner, checkout)


def test_a_viewer_reads_a_note_and_is_offered_no_form(viewer: Desk) -> None:
    checkout = make_checkout(viewer.merchant)
    TeamNote.objects.create(checkout=checkout, text="Ask Ann", author=viewer.user, written_at=NOON)
    page = page_of(viewer, checkout)
    assert "Ask Ann" in page
    assert "Edit note" not in page


def test_buyers_webhooks_and_the_api_never_have_the_note(owner: Desk, client: Any) -> None:
    checkout = make_checkout(owner.merchant)
    write(owner, checkout, "A secret remark")
    row = checkout_row(owner.merchant.pk, owner.mode, checkout.public_id)
    assert b"secret remark" not in json.dumps(checkout_object(row))
    assert b"secret remark" not in client.get(f"/c/{checkout.code}").content


# What happened to a checkout, step by step.


def detail(desk: Desk, checkout: Checkout) -> CheckoutDetail:
    page = desk.get("dashboard_checkout", checkout_id=checkout.public_id)
    found: CheckoutDetail = page.context["detail"]
    return found


def test_the_timeline_leads_from_creation_to_the_webhook(owner: Desk) -> None:
    make_endpoint(owner.merchant)
    checkout = make_checkout(owner.merchant)
    pay(checkout)
    Delivery.objects.update(status=DeliveryStatus.DELIVERED, finished_at=NOON + timedelta(minutes=2))
    steps = detail(owner, checkout).steps
    assert [step.title for step in steps] == [
        "Checkout created",
        "25.00 USDC seen on Base",
        "25.00 USDC confirmed",
        "Completed",
        "Webhook checkout.completed delivered",
    ]
    assert steps[1].note == "Credited: sent to this checkout's own address"
    links = [step.link.words if step.link else "" for step in steps]
    assert links[3:] == ["Receipt", "Delivery"]
    page = page_of(owner, checkout)
    assert steps[4].link is not None
    assert f'href="{steps[4].link.url}"' in page
    assert "View receipt" in page
    assert "Copy link" not in page


def test_it_says_why_an_exact_amount_was_credited(owner: Desk) -> None:
    till = Till(owner.merchant)
    checkout = till.checkout(suffix=3_700)
    till.sees(25 * DOLLAR + 3_700)
    attribute()
    notes = [step.note for step in detail(owner, checkout).steps]
    assert "Credited: named by its exact amount" in notes
    assert "Asked to pay exactly 25.0037" in notes
    assert "Known by" not in page_of(owner, checkout)


def test_a_webhook_that_waits_says_when_it_is_tried_again(owner: Desk) -> None:
    make_endpoint(owner.merchant)
    checkout = make_checkout(owner.merchant)
    pay(checkout)
    last = detail(owner, checkout).steps[-1]
    assert last.title == "Webhook checkout.completed: next attempt"
    assert last.tone == "next"


# A checkout's webhooks are sent again from its page.


def test_a_webhook_is_sent_again(admin: Desk) -> None:
    done = make_completed(merchant=admin.merchant)
    delivery = tell(done)
    Delivery.objects.update(status=DeliveryStatus.FAILED, finished_at=NOON, tries=9)
    page = admin.get("dashboard_checkout", checkout_id=done.public_id).text
    assert "Webhook checkout.completed failed" in page
    answer = admin.post("dashboard_resend", checkout_id=done.public_id, delivery_id=delivery.public_id)
    assert answer.status_code == 302
    delivery.refresh_from_db()
    assert (delivery.status, delivery.tries) == (DeliveryStatus.PENDING, 0)


def test_the_page_of_an_expired_checkout_looks_again_while_a_webhook_waits(owner: Desk) -> None:
    over = make_expired(merchant=owner.merchant)
    again = owner.url("dashboard_checkout_live", checkout_id=over.public_id)
    assert again not in page_of(owner, over)
    tell(over)
    assert again in page_of(owner, over)
    Delivery.objects.update(status=DeliveryStatus.DELIVERED, finished_at=NOON)
    assert again not in page_of(owner, over)


def test_a_viewer_is_not_offered_to_send_a_webhook_again(viewer: Desk) -> None:
    done = make_completed(merchant=viewer.merchant)
    tell(done)
    page = viewer.get("dashboard_checkout", checkout_id=done.public_id).text
    assert "https://shop.example/hook" in page
    assert "Send again" not in page


def test_only_a_checkouts_own_webhooks_are_sent_again_from_its_page(owner: Desk) -> None:
    mine = make_completed(merchant=owner.merchant)
    foreign = tell(make_completed())
    answer = owner.post("dashboard_resend", checkout_id=mine.public_id, delivery_id=foreign.public_id)
    assert answer.status_code == 404


# Escrow in the dashboard: asking for it, seeing it, releasing it.


def release(desk: Desk, checkout: Checkout) -> Any:
    return desk.post("dashboard_release", checkout_id=checkout.public_id)


def test_the_form_makes_a_checkout_in_escrow(owner: Desk, settings: Any) -> None:
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = dict(LOCAL_NODES)
    make_live_chain("base")
    make_wallet(owner.merchant)
    filled = {"amount": "25.00", "expires_in": "1800"}
    for escrow in ({}, {"escrow": "on"}):
        answer = owner.post("dashboard_new_checkout", filled | escrow)
        assert answer.status_code == 302
    made = Checkout.objects.order_by("pk").values_list("escrow", flat=True)
    assert list(made) == [False, True]
    assert Hold.objects.count() == 1


def test_an_admin_releases_what_is_held(admin: Desk) -> None:
    held = make_completed(merchant=admin.merchant, escrow=True)
    page = page_of(admin, held)
    assert "Held in escrow" in page
    assert "Release this money?" in page
    assert release(admin, held).status_code == 302
    hold = Hold.objects.get()
    assert (hold.released_by, hold.released_actor) == ("member", admin.user)
    entry = AuditEntry.objects.get(action="escrow.released")
    assert (entry.actor, entry.object_id) == (admin.user, held.public_id)
    page = page_of(admin, held)
    assert "The money is released." in page
    assert f"Released by <b>{admin.user.email}</b>" in page
    assert "Release this money?" not in page
    release(admin, held)
    assert AuditEntry.objects.filter(action="escrow.released").count() == 1


def test_a_viewer_sees_that_money_is_held_and_is_not_offered_to_release_it(viewer: Desk) -> None:
    held = make_completed(merchant=viewer.merchant, escrow=True)
    page = page_of(viewer, held)
    assert "Held in escrow" in page
    assert "Release this money?" not in page


def test_nothing_is_released_before_the_end(owner: Desk) -> None:
    held = make_page_checkout(owner.merchant, escrow=True)
    assert "Release this money?" not in page_of(owner, held)
    release(owner, held)
    assert Hold.objects.get().released_at is None
    assert "released once it is completed or expired" in page_of(owner, held)


def test_a_checkout_without_escrow_says_nothing_of_it(owner: Desk) -> None:
    plain = make_completed(merchant=owner.merchant)
    assert "escrow-heading" not in page_of(owner, plain)
    release(owner, plain)
    assert "created without escrow" in page_of(owner, plain)


@pytest.mark.parametrize(("who", "words"), [("external", "a stranger"), ("api", "an API key")])
def test_the_page_says_who_released_it(who: str, words: str, owner: Desk) -> None:
    held = make_completed(merchant=owner.merchant, escrow=True)
    Hold.objects.update(released_at=NOON, released_by=who)
    page = page_of(owner, held)
    assert f"Released by <b>{words}" in page
    assert "Released from escrow" in page
    assert ("the money is there" in page) is (who == "external")


def test_the_list_finds_what_is_held(owner: Desk) -> None:
    held = make_completed(merchant=owner.merchant, escrow=True)
    released = make_completed(merchant=owner.merchant, escrow=True)
    make_completed(merchant=owner.merchant)
    make_completed(escrow=True)
    successor = make_completed(merchant=owner.merchant, replaces=make_expired(merchant=owner.merchant, escrow=True))
    Checkout.objects.filter(pk=successor.pk).update(escrow=True)
    release(owner, released)
    page = owner.get("dashboard_checkouts", "?escrow=held&status=completed")
    found = [row.public_id for row in page.context["rows"]]
    assert found == [successor.public_id, held.public_id]
    assert "escrow=held" in page.context["tabs"][0][1]
    everything = owner.get("dashboard_checkouts", "?escrow=nonsense")
    assert len(everything.context["rows"]) == 5


def test_escrow_of_a_link_is_ticked_in_its_form_and_kept_by_editing(owner: Desk) -> None:
    make(owner, LinkType.CUSTOM, escrow="on")
    link = PaymentLink.objects.get()
    assert link.escrow
    page = owner.get("dashboard_link", link_id=link.public_id).text
    assert "Held until you release it" in page
    assert edited(owner, link, title="Another").status_code == 302
    link.refresh_from_db()
    assert (link.title, link.escrow) == ("Another", True)
