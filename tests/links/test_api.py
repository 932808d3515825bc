"""The link API: links are made, changed and switched, and the audit log says by whom."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEntry
from checkouts.states import CheckoutStatus
from links.models import PaymentLink
from links.tokens import FORM_LASTS, StaleFormError, form_name, new_form, subscription_id_of
from tests.contract.client import ApiClient
from tests.factories import NOON, make_checkout
from tests.links.bodies import CUSTOM, DONATION, SUBSCRIPTION, change, created
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


def test_an_address_that_is_allowed_no_more_stops_no_other_change(tester: ApiClient) -> None:
    path = f"/links/{make_link(tester.merchant, webhook_url='https://10.0.0.1/').public_id}"
    changed = tester.send("PATCH", path, {"title": "Coffee"})
    assert (changed.status, changed.body["webhook_url"]) == (200, "https://10.0.0.1/")
    sent = tester.send("PATCH", path, {"webhook_url": "https://10.0.0.1/"})
    assert sent.refusal == (400, "url_forbidden", "webhook_url")
    assert tester.send("PATCH", path, {"webhook_url": None}).body["webhook_url"] is None


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


# A link as the API shows it.


def test_the_address_holds_a_code_that_is_not_the_id(tester: ApiClient) -> None:
    link = created(tester, CUSTOM)
    host, _, code = link["url"].rpartition("/p/")
    assert host == django_settings.LINK_HOST
    assert len(code) == 26
    assert code not in link["id"]


def test_the_share_text_says_who_asks_for_what_and_where(tester: ApiClient) -> None:
    link = created(tester, CUSTOM | {"amount": "1250"})
    assert link["share_text"] == f"Tea by Halden Roasters, $1,250.00 {link['url']}"
    donation = created(tester, DONATION)
    assert "Give to Halden Roasters: Trees" in donation["share_text"]


def test_metadata_keeps_its_order_and_its_numbers(tester: ApiClient) -> None:
    body = b'{"title":"Tea","amount":"25","metadata":{"z":1.10,"a":12345678901234567890}}'
    answer = tester.post("/links", body)
    assert b'"metadata":{"z":1.10,"a":12345678901234567890}' in answer.raw


# Lists of links, and what each link brought in.


def test_the_list_is_newest_first_and_pages_by_offset_and_by_key(tester: ApiClient) -> None:
    ids = [make_link(tester.merchant).public_id for _ in range(5)][::-1]
    paused = make_link(tester.merchant, status="paused").public_id

    def listed(**query: Any) -> list[str]:
        return [link["id"] for link in tester.get("/links", query).body["data"]]

    assert listed() == [paused, *ids]
    assert listed(status="active", limit=2, offset=1) == ids[1:3]
    assert listed(starting_after=ids[2]) == ids[3:]
    assert tester.get("/links", {"status": "paused"}).body["total"] == 1
    assert "total" not in tester.get("/links", {"include_total": "false"}).body
    for query in ({"starting_after": "lnk_test_x"}, {"status": "open"}, {"limit": 0}):
        assert tester.get("/links", query).status == 400


def test_a_link_whose_status_changed_still_marks_a_position_in_the_list(tester: ApiClient) -> None:
    first, *rest = [make_link(tester.merchant).public_id for _ in range(3)][::-1]
    assert tester.send("PATCH", f"/links/{first}/status", {"status": "paused"}).status == 200
    answer = tester.get("/links", {"status": "active", "starting_after": first})
    assert (answer.status, [link["id"] for link in answer.body["data"]]) == (200, rest)
    theirs = make_link().public_id
    refused = tester.get("/links", {"status": "active", "starting_after": theirs})
    assert refused.refusal == (400, "parameter_invalid", "starting_after")


def test_payments_and_sums_count_completed_checkouts_alone(tester: ApiClient) -> None:
    link = make_link(tester.merchant)
    make_link_checkout(link)
    make_link_checkout(link, amount_received=Decimal("25.003700"))
    for status in CheckoutStatus:
        if status != CheckoutStatus.COMPLETED:
            make_link_checkout(link, status, amount_received=Decimal(7))
    make_link_checkout(link, exception="reversed", amount_received=Decimal(0))
    make_link_checkout(make_link(tester.merchant))
    body = tester.get(f"/links/{link.public_id}").body
    assert (body["payments_count"], body["amount_collected"]) == (2, "50.003700")
    listed = {link["id"]: link for link in tester.get("/links").body["data"]}
    assert listed[link.public_id] == body


def test_late_money_that_was_accepted_counts_too(tester: ApiClient) -> None:
    link = make_invoice(tester.merchant)
    expired = make_link_checkout(link, CheckoutStatus.EXPIRED)
    make_checkout(
        link.merchant, mode=link.mode, status=CheckoutStatus.COMPLETED, replaces=expired, amount_received=Decimal(25)
    )
    body = tester.get(f"/links/{link.public_id}").body
    assert (body["payments_count"], body["amount_collected"]) == (1, "25.000000")
    assert "This invoice is paid" in Client().get(f"/p/{link.code}").content.decode()


def test_a_list_asks_the_database_as_often_for_twenty_links_as_for_one(tester: ApiClient) -> None:
    def questions() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert tester.get("/links").status == 200
        return len(asked)

    make_link_checkout(make_link(tester.merchant))
    questions()
    few = questions()
    for _ in range(19):
        make_link_checkout(make_link(tester.merchant))
    # The key is remembered for seconds only.
    questions()
    assert questions() == few


def test_a_nul_in_an_id_is_not_found(tester: ApiClient) -> None:
    assert tester.get("/links/%00").status == 404


# Signed texts: forms of a page, and personal links.


def test_each_opened_page_has_a_form_of_its_own() -> None:
    first, second = new_form("7h3k"), new_form("7h3k")
    assert form_name(first, "7h3k") == form_name(first, "7h3k")
    assert form_name(first, "7h3k") != form_name(second, "7h3k")


def test_a_form_is_of_one_link() -> None:
    with pytest.raises(StaleFormError):
        form_name(new_form("7h3k"), "other")


def test_a_form_lasts_a_day() -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        token = new_form("7h3k")
        clock.shift(FORM_LASTS)
        assert form_name(token, "7h3k")
        clock.shift(timedelta(seconds=2))
        with pytest.raises(StaleFormError):
            form_name(token, "7h3k")


@pytest.mark.parametrize("token", ["", "sub_1", "sub_1:forged"])
def test_what_we_did_not_sign_is_nobodys_link(token: str) -> None:
    assert subscription_id_of(token) is None
