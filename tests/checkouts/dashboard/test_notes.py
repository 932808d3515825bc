"""The team's note about a checkout: who writes it, who reads it, and who never does."""

from typing import Any

import pytest

from accounts.models import AuditEntry
from checkouts.models import MOST_LETTERS, Checkout, TeamNote
from checkouts.selectors import checkout_object, checkout_row
from gateway.core import json
from tests.checkouts.dashboard.opened import page_of
from tests.dashboard.people import Desk
from tests.factories import NOON, make_checkout

pytestmark = pytest.mark.django_db


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


def test_a_viewer_reads_a_note_and_writes_none(viewer: Desk) -> None:
    checkout = make_checkout(viewer.merchant)
    TeamNote.objects.create(checkout=checkout, text="Ask Ann", author=viewer.user, written_at=NOON)
    page = page_of(viewer, checkout)
    assert "Ask Ann" in page
    assert "Edit note" not in page
    assert write(viewer, checkout, "Mine").status_code == 403
    assert TeamNote.objects.get().text == "Ask Ann"


def test_a_stranger_writes_no_note(stranger: Desk) -> None:
    checkout = make_checkout(stranger.merchant)
    assert write(stranger, checkout, "Hello").status_code == 404
    assert not TeamNote.objects.exists()


def test_buyers_webhooks_and_the_api_never_have_the_note(owner: Desk, client: Any) -> None:
    checkout = make_checkout(owner.merchant)
    write(owner, checkout, "A secret remark")
    row = checkout_row(owner.merchant.pk, owner.mode, checkout.public_id)
    assert b"secret remark" not in json.dumps(checkout_object(row))
    assert b"secret remark" not in client.get(f"/c/{checkout.code}").content
