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


def test_a_template_is_saved_begun_from_and_forgotten(owner_in_test_mode: Desk) -> None:
    make(owner_in_test_mode, LinkType.CUSTOM, save_as_template="on")
    template = LinkTemplate.objects.get()
    assert (template.title, template.amount) == ("Cupping", Decimal("40.00"))
    choice = owner_in_test_mode.get("dashboard_new_link").text
    query = f"?template={template.public_id}"
    address = owner_in_test_mode.url("dashboard_new_link_of", kind="custom") + query
    assert address in choice
    form = owner_in_test_mode.client.get(address).context["form"]
    filled = {field.name: field.value() or "" for field in form}
    assert "123456789012345678901234567890" in filled["metadata"]
    owner_in_test_mode.post("dashboard_new_link_of", filled | {"title": "Again"}, kind="custom")
    again = PaymentLink.objects.get(title="Again")
    assert (again.template, again.metadata) == (template, template.metadata)
    owner_in_test_mode.post("dashboard_delete_link_template", template_id=template.public_id)
    again.refresh_from_db()
    assert again.template is None
    assert [action for action, _ in acts(owner_in_test_mode)] == [
        "link_template.created",
        "payment_link.created",
        "payment_link.created",
        "link_template.deleted",
    ]


def test_a_form_whose_template_is_gone_still_makes_its_link(owner_in_test_mode: Desk) -> None:
    make(owner_in_test_mode, LinkType.CUSTOM, template="ltp_gone")
    assert PaymentLink.objects.get().template is None


def test_a_link_is_changed_and_what_was_not_touched_stays(owner_in_test_mode: Desk) -> None:
    link = make_donation(owner_in_test_mode.merchant, customer_ref="cus-1", metadata=METADATA)
    answer = edited(owner_in_test_mode, link, title="Plant two trees", max_amount="")
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


def test_a_paid_invoice_keeps_its_price(owner_in_test_mode: Desk) -> None:
    link = make_paid_invoice(owner_in_test_mode.merchant)
    answer = edited(owner_in_test_mode, link, amount="30.00")
    assert answer.status_code == 409
    assert list(answer.context["form"].errors) == ["amount"]
    link.refresh_from_db()
    assert link.amount == Decimal("25.00")
    assert acts(owner_in_test_mode) == []


def test_an_old_form_does_not_undo_what_somebody_else_changed(owner_in_test_mode: Desk) -> None:
    link = make_link(owner_in_test_mode.merchant)
    stale = link.updated_at.isoformat()
    assert edited(owner_in_test_mode, link, title="Theirs").status_code == 302
    answer = edited(owner_in_test_mode, link, title="Ours", seen=stale)
    assert answer.status_code == 409
    assert "Another team member has changed this link" in answer.text
    link.refresh_from_db()
    assert link.title == "Theirs"
