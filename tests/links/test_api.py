"""The link API: links are made, changed and switched, and the audit log says by whom."""

from datetime import timedelta

import pytest

from accounts.models import AuditEntry
from checkouts.states import CheckoutStatus
from links.models import PaymentLink
from tests.contract.client import ApiClient
from tests.links.bodies import CUSTOM, SUBSCRIPTION, change, created
from tests.links.factories import make_invoice, make_link, make_link_checkout, make_paid_invoice

FIELDS = {
    "id",
    "title",
    "description",
    "amount",
    "currency",
    "type",
    "metadata",
    "status",
    "url",
    "livemode",
    "created_at",
    "updated_at",
    "payments_count",
    "amount_collected",
    "min_amount",
    "max_amount",
    "suggested_amounts",
    "interval",
    "redirect_url",
    "webhook_url",
    "customer_ref",
    "product_ref",
    "escrow",
    "template",
    "share_text",
}


def test_a_link_needs_a_title_and_an_amount_and_has_defaults(tester: ApiClient) -> None:
    link = created(tester, CUSTOM)
    assert set(link) == FIELDS
    assert link["id"].startswith("lnk_test_")
    assert (link["type"], link["status"], link["currency"]) == ("custom", "active", "USD")
    assert (link["payments_count"], link["amount_collected"]) == (0, "0.000000")
    assert link["metadata"] == {}
    assert link["livemode"] is False
    assert tester.get(f"/links/{link['id']}").body == link


def test_a_change_touches_what_it_names_and_nothing_else(tester: ApiClient) -> None:
    link = created(tester, SUBSCRIPTION | {"metadata": {"a": 1.50}, "product_ref": "p"})
    answer = change(tester, link, title="Coffee", amount="30")
    assert answer.status == 200
    changed = answer.body
    assert {name for name in FIELDS if changed[name] != link[name]} == {"title", "amount", "updated_at", "share_text"}
    assert b'"metadata":{"a":1.5}' in answer.raw


def test_the_price_of_an_invoice_stays_while_it_is_being_paid_and_after(tester: ApiClient) -> None:
    open_one = make_invoice(tester.merchant)
    make_link_checkout(open_one, CheckoutStatus.PENDING)
    paid = make_paid_invoice(tester.merchant)
    for link in (open_one, paid):
        path = f"/links/{link.public_id}"
        answer = tester.send("PATCH", path, {"amount": "26"})
        assert answer.refusal == (409, "state_conflict", "amount")
        assert tester.send("PATCH", path, {"title": "Other"}).status == 200
    fresh = make_invoice(tester.merchant)
    make_link_checkout(fresh, CheckoutStatus.EXPIRED)
    path = f"/links/{fresh.public_id}"
    assert tester.send("PATCH", path, {"amount": "26"}).body["amount"] == "26.00"


def test_changes_by_key_are_in_the_audit_log(tester: ApiClient) -> None:
    link = created(tester, CUSTOM)
    change(tester, link, title="Coffee")
    change(tester, link, title="Coffee")
    paused = tester.send("PATCH", f"/links/{link['id']}/status", {"status": "paused"})
    assert paused.status == 200
    entries = AuditEntry.objects.filter(action__startswith="payment_link.")
    changed, switched = entries.order_by("pk")
    assert (changed.action, switched.action) == ("payment_link.changed", "payment_link.status_set")
    assert (changed.before, changed.after) == ({"title": "Tea"}, {"title": "Coffee"})
    for entry in (changed, switched):
        assert (entry.object_id, entry.actor) == (link["id"], None)
        assert entry.actor_label.startswith("API key ")
        assert entry.address == tester.address


@pytest.mark.parametrize("before", ["active", "paused", "archived"])
@pytest.mark.parametrize("after", ["active", "paused", "archived"])
def test_any_status_may_change_to_any_other(tester: ApiClient, before: str, after: str) -> None:
    link = make_link(tester.merchant, status=before)
    answer = tester.send("PATCH", f"/links/{link.public_id}/status", {"status": after})
    assert (answer.status, answer.body["status"]) == (200, after)
    assert answer.body == tester.get(f"/links/{link.public_id}").body


def test_times_move_with_changes_alone(tester: ApiClient) -> None:
    link = created(tester, CUSTOM)
    assert link["created_at"] == link["updated_at"]
    PaymentLink.objects.update(updated_at=PaymentLink.objects.get().created_at - timedelta(days=1))
    changed = change(tester, link, title="Coffee").body
    assert changed["created_at"] == link["created_at"]
    assert changed["updated_at"] > link["created_at"]
