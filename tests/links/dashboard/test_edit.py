"""Links made from templates and changed by hand, audited, and never over somebody else's change."""

from decimal import Decimal
from typing import Any

import pytest

from accounts.models import AuditEntry
from links.models import LinkTemplate, PaymentLink
from links.states import LinkType
from tests.dashboard.people import Desk
from tests.links.dashboard.filled import METADATA, acts, edited, make
from tests.links.factories import make_donation, make_link, make_paid_invoice

pytestmark = pytest.mark.django_db


def test_a_template_is_saved_begun_from_and_forgotten(desk: Desk) -> None:
    make(desk, LinkType.CUSTOM, save_as_template="on")
    template = LinkTemplate.objects.get()
    assert (template.title, template.amount) == ("Cupping", Decimal("40.00"))
    choice = desk.get("dashboard_new_link").text
    query = f"?template={template.public_id}"
    address = desk.url("dashboard_new_link_of", kind="custom") + query
    assert address in choice
    form = desk.client.get(address).context["form"]
    filled = {field.name: field.value() or "" for field in form}
    assert "123456789012345678901234567890" in filled["metadata"]
    desk.post("dashboard_new_link_of", filled | {"title": "Again"}, kind="custom")
    again = PaymentLink.objects.get(title="Again")
    assert (again.template, again.metadata) == (template, template.metadata)
    desk.post("dashboard_delete_link_template", template_id=template.public_id)
    again.refresh_from_db()
    assert again.template is None
    assert [action for action, _ in acts(desk)] == [
        "link_template.created",
        "payment_link.created",
        "payment_link.created",
        "link_template.deleted",
    ]


def test_a_form_whose_template_is_gone_still_makes_its_link(desk: Desk) -> None:
    make(desk, LinkType.CUSTOM, template="ltp_gone")
    assert PaymentLink.objects.get().template is None


def test_a_link_is_changed_and_what_was_not_touched_stays(desk: Desk) -> None:
    link = make_donation(desk.merchant, customer_ref="cus-1", metadata=METADATA)
    answer = edited(desk, link, title="Plant two trees", max_amount="")
    assert answer.status_code == 302
    link.refresh_from_db()
    assert (link.title, link.max_amount) == ("Plant two trees", None)
    assert (link.min_amount, link.customer_ref) == (Decimal("5.00"), "cus-1")
    entry: Any = AuditEntry.objects.get(action="payment_link.changed")
    assert entry.before["title"] == "Plant a coffee tree"
    assert entry.after["title"] == "Plant two trees"
    assert (entry.before["max_amount"], entry.after["max_amount"]) == ("500.00", None)
    assert entry.address == "127.0.0.1"
    assert "min_amount" not in entry.after


def test_a_paid_invoice_keeps_its_price(desk: Desk) -> None:
    link = make_paid_invoice(desk.merchant)
    answer = edited(desk, link, amount="30.00")
    assert answer.status_code == 409
    assert list(answer.context["form"].errors) == ["amount"]
    link.refresh_from_db()
    assert link.amount == Decimal("25.00")
    assert acts(desk) == []


def test_an_old_form_does_not_undo_what_somebody_else_changed(desk: Desk) -> None:
    link = make_link(desk.merchant)
    stale = link.updated_at.isoformat()
    assert edited(desk, link, title="Theirs").status_code == 302
    answer = edited(desk, link, title="Ours", seen=stale)
    assert answer.status_code == 409
    assert "Another team member has changed this link" in answer.text
    link.refresh_from_db()
    assert link.title == "Theirs"
