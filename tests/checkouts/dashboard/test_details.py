"""The page of a checkout: its timeline, the acts that fit its state, the team's note, and line items."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import AuditEntry
from checkouts.dashboard.details import Detail
from checkouts.models import Checkout, TeamNote
from checkouts.models.notes import MOST_LETTERS
from checkouts.selectors import checkout_object, checkout_row
from gateway.core import json
from tests.checkouts.arrivals import Till
from tests.checkouts.inboxes import late_item
from tests.checkouts.watcher import DOLLAR, attribute, pay
from tests.dashboard.people import Desk
from tests.factories import NOON, make_checkout
from tests.webhooks.factories import make_endpoint
from webhooks.models import Delivery
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db

TWO = '{"line_items": [{"name": "Ticket", "quantity": 2, "unit_price": "12.50"}]}'


def page_of(desk: Desk, checkout: Checkout) -> str:
    text: str = desk.get("dashboard_checkout", checkout_id=checkout.public_id).text
    return " ".join(text.split())


def detail(desk: Desk, checkout: Checkout) -> Detail:
    page = desk.get("dashboard_checkout", checkout_id=checkout.public_id)
    found: Detail = page.context["detail"]
    return found


def write(desk: Desk, checkout: Checkout, text: str) -> Any:
    return desk.post(
        "dashboard_checkout_note", {"text": text}, checkout_id=checkout.public_id
    )


def test_the_timeline_leads_from_creation_to_the_webhook(owner: Desk) -> None:
    make_endpoint(owner.merchant)
    checkout = make_checkout(owner.merchant)
    pay(checkout)
    Delivery.objects.update(
        status=DeliveryStatus.DELIVERED, finished_at=NOON + timedelta(minutes=2)
    )
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


def test_late_money_leads_to_its_inbox_item(owner: Desk) -> None:
    item = late_item(merchant=owner.merchant)
    assert item.checkout is not None
    page = page_of(owner, item.checkout)
    url = owner.url("dashboard_inbox_item", item_id=item.pk)
    assert page.count(f'href="{url}"') == 2
    assert "Accept late payment…" in page
    assert "Payment moved to the inbox" in page


def test_a_webhook_that_waits_says_when_it_is_tried_again(owner: Desk) -> None:
    make_endpoint(owner.merchant)
    checkout = make_checkout(owner.merchant)
    pay(checkout)
    last = detail(owner, checkout).steps[-1]
    assert last.title == "Webhook checkout.completed: next attempt"
    assert last.tone == "next"


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


def test_a_viewer_reads_a_note_and_writes_none(viewer: Desk) -> None:
    checkout = make_checkout(viewer.merchant)
    TeamNote.objects.create(
        checkout=checkout, text="Ask Ann", author=viewer.user, written_at=NOON
    )
    page = page_of(viewer, checkout)
    assert "Ask Ann" in page
    assert "Edit note" not in page
    assert write(viewer, checkout, "Mine").status_code == 403
    assert TeamNote.objects.get().text == "Ask Ann"


def test_a_stranger_writes_no_note(stranger: Desk) -> None:
    checkout = make_checkout(stranger.merchant)
    assert write(stranger, checkout, "Hello").status_code == 404
    assert not TeamNote.objects.exists()


def test_buyers_webhooks_and_the_api_never_have_the_note(
    owner: Desk, client: Any
) -> None:
    checkout = make_checkout(owner.merchant)
    write(owner, checkout, "A secret remark")
    row = checkout_row(owner.merchant.pk, owner.mode, checkout.public_id)
    assert b"secret remark" not in json.dumps(checkout_object(row))
    assert b"secret remark" not in client.get(f"/c/{checkout.code}").content


def test_line_items_are_listed_with_their_sum(owner: Desk) -> None:
    exact = make_checkout(owner.merchant, metadata=TWO)
    page = page_of(owner, exact)
    assert "Ticket" in page
    assert "2 × 12.50" in page
    assert "The checkout asks for" not in page
    other = make_checkout(owner.merchant, metadata=TWO, amount=Decimal("30.00"))
    assert "The checkout asks for 30.00 USD" in page_of(owner, other)
