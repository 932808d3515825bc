"""The link API: what a link is made of, what is refused, and what it brought in."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEntry
from checkouts.states import CheckoutStatus
from links.models import PaymentLink
from tests.contract.client import ApiClient
from tests.factories import make_checkout
from tests.links.factories import (
    make_invoice,
    make_link,
    make_link_checkout,
    make_paid_invoice,
)

CUSTOM: dict[str, Any] = {"title": "Tea", "amount": "25.00"}
DONATION: dict[str, Any] = {"title": "Trees", "type": "donation"}
SUBSCRIPTION: dict[str, Any] = CUSTOM | {"type": "subscription", "interval": "month"}
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


def created(seller: ApiClient, body: dict[str, Any]) -> dict[str, Any]:
    answer = seller.post("/links", body)
    assert answer.status == 201, answer.body
    link: dict[str, Any] = answer.body
    return link


def change(seller: ApiClient, link: dict[str, Any], **fields: Any) -> Any:
    return seller.send("PATCH", f"/links/{link['id']}", fields)


def test_a_link_needs_a_title_and_an_amount_and_has_defaults(seller: ApiClient) -> None:
    link = created(seller, CUSTOM)
    assert set(link) == FIELDS
    assert link["id"].startswith("lnk_test_")
    assert (link["type"], link["status"], link["currency"]) == (
        "custom",
        "active",
        "USD",
    )
    assert (link["payments_count"], link["amount_collected"]) == (0, "0.000000")
    assert link["metadata"] == {}
    assert link["livemode"] is False
    assert seller.get(f"/links/{link['id']}").body == link


def test_the_address_holds_a_code_that_is_not_the_id(seller: ApiClient) -> None:
    link = created(seller, CUSTOM)
    host, _, code = link["url"].rpartition("/p/")
    assert host == django_settings.LINK_HOST
    assert len(code) == 26
    assert code not in link["id"]


def test_the_share_text_says_who_asks_for_what_and_where(seller: ApiClient) -> None:
    link = created(seller, CUSTOM | {"amount": "1250"})
    assert link["share_text"] == f"Tea by Halden Roasters, $1,250.00 {link['url']}"
    donation = created(seller, DONATION)
    assert "Give to Halden Roasters: Trees" in donation["share_text"]


def test_metadata_keeps_its_order_and_its_numbers(seller: ApiClient) -> None:
    body = (
        b'{"title":"Tea","amount":"25","metadata":{"z":1.10,"a":12345678901234567890}}'
    )
    answer = seller.post("/links", body)
    assert b'"metadata":{"z":1.10,"a":12345678901234567890}' in answer.raw


def test_a_subscription_is_monthly_unless_it_says_otherwise(seller: ApiClient) -> None:
    specified = CUSTOM | {"type": "subscription", "currency": "USD", "metadata": {}}
    assert created(seller, specified)["interval"] == "month"
    assert created(seller, specified | {"interval": "week"})["interval"] == "week"


def test_references_are_found_in_metadata_as_for_checkouts(seller: ApiClient) -> None:
    link = created(
        seller, CUSTOM | {"metadata": {"user_id": 7, "package_code": "gold"}}
    )
    assert (link["customer_ref"], link["product_ref"]) == ("7", "gold")


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        ({"amount": "25"}, (400, "parameter_missing", "title")),
        (CUSTOM | {"title": "  "}, (400, "parameter_missing", "title")),
        (CUSTOM | {"title": "x" * 121}, (400, "parameter_too_long", "title")),
        (CUSTOM | {"title": 5}, (400, "parameter_invalid", "title")),
        ({"title": "Tea"}, (400, "parameter_missing", "amount")),
        (
            CUSTOM | {"type": "invoice", "amount": None},
            (400, "parameter_missing", "amount"),
        ),
        (CUSTOM | {"amount": 25}, (400, "amount_not_string", "amount")),
        (CUSTOM | {"amount": "25.001"}, (400, "amount_invalid", "amount")),
        (CUSTOM | {"amount": "0.09"}, (400, "amount_out_of_range", "amount")),
        (CUSTOM | {"currency": "EUR"}, (400, "currency_unsupported", "currency")),
        (CUSTOM | {"type": "gift"}, (400, "parameter_invalid", "type")),
        (CUSTOM | {"type": []}, (400, "parameter_invalid", "type")),
        (CUSTOM | {"metadata": []}, (400, "parameter_invalid", "metadata")),
        (
            CUSTOM | {"metadata": {"a": "x" * 4096}},
            (400, "metadata_too_large", "metadata"),
        ),
        (CUSTOM | {"min_amount": "5"}, (400, "parameter_invalid", "min_amount")),
        (
            CUSTOM | {"suggested_amounts": ["5"]},
            (400, "parameter_invalid", "suggested_amounts"),
        ),
        (CUSTOM | {"interval": "week"}, (400, "parameter_invalid", "interval")),
        (CUSTOM | {"redirect_url": "shop"}, (400, "url_invalid", "redirect_url")),
        (
            CUSTOM | {"webhook_url": "https://10.0.0.1/"},
            (400, "url_forbidden", "webhook_url"),
        ),
        (
            DONATION | {"min_amount": "9", "max_amount": "8"},
            (400, "parameter_invalid", "max_amount"),
        ),
        (
            DONATION | {"min_amount": "9", "suggested_amounts": ["10", "8"]},
            (400, "amount_out_of_range", "suggested_amounts"),
        ),
        (
            DONATION | {"max_amount": "9", "amount": "10"},
            (400, "amount_out_of_range", "amount"),
        ),
        (
            DONATION | {"suggested_amounts": ["5"] * 7},
            (400, "parameter_invalid", "suggested_amounts"),
        ),
        (
            DONATION | {"suggested_amounts": [5]},
            (400, "amount_not_string", "suggested_amounts"),
        ),
        (
            SUBSCRIPTION | {"interval": "day"},
            (400, "parameter_invalid", "interval"),
        ),
        (CUSTOM | {"template": "ltp_nobodys"}, (404, "resource_missing", "template")),
    ],
)
def test_what_a_link_cannot_be_is_refused_by_name(
    seller: ApiClient, body: dict[str, Any], refusal: tuple[int, str, str]
) -> None:
    assert seller.post("/links", body).refusal == refusal
    assert not PaymentLink.objects.exists()


def test_a_donation_may_leave_the_amount_to_the_payer(seller: ApiClient) -> None:
    link = created(
        seller,
        DONATION
        | {
            "min_amount": "5",
            "max_amount": "500",
            "suggested_amounts": ["10", "10.0", "25"],
        },
    )
    assert (link["amount"], link["min_amount"], link["max_amount"]) == (
        None,
        "5.00",
        "500.00",
    )
    assert link["suggested_amounts"] == ["10.00", "25.00"]


def test_a_change_touches_what_it_names_and_nothing_else(seller: ApiClient) -> None:
    link = created(seller, SUBSCRIPTION | {"metadata": {"a": 1.50}, "product_ref": "p"})
    answer = change(seller, link, title="Coffee", amount="30")
    assert answer.status == 200
    changed = answer.body
    assert {name for name in FIELDS if changed[name] != link[name]} == {
        "title",
        "amount",
        "updated_at",
        "share_text",
    }
    assert b'"metadata":{"a":1.5}' in answer.raw


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"type": "donation"}, "type"),
        ({"currency": "EUR"}, "currency"),
        ({"interval": "week"}, "interval"),
        ({"amount": None}, "amount"),
        ({"title": ""}, "title"),
        ({"min_amount": "5"}, "min_amount"),
    ],
)
def test_a_change_obeys_the_rules_of_a_new_link(
    seller: ApiClient, fields: dict[str, Any], param: str
) -> None:
    link = created(seller, CUSTOM)
    answer = change(seller, link, **fields)
    assert (answer.status, answer.error["param"]) == (400, param)
    assert seller.get(f"/links/{link['id']}").body == link


def test_the_price_of_an_invoice_stays_while_it_is_being_paid_and_after(
    seller: ApiClient,
) -> None:
    open_one = make_invoice(seller.merchant)
    make_link_checkout(open_one, CheckoutStatus.PENDING)
    paid = make_paid_invoice(seller.merchant)
    for link in (open_one, paid):
        path = f"/links/{link.public_id}"
        answer = seller.send("PATCH", path, {"amount": "26"})
        assert answer.refusal == (409, "state_conflict", "amount")
        assert seller.send("PATCH", path, {"title": "Other"}).status == 200
    fresh = make_invoice(seller.merchant)
    make_link_checkout(fresh, CheckoutStatus.EXPIRED)
    path = f"/links/{fresh.public_id}"
    assert seller.send("PATCH", path, {"amount": "26"}).body["amount"] == "26.00"


def test_changes_by_key_are_in_the_audit_log(seller: ApiClient) -> None:
    link = created(seller, CUSTOM)
    change(seller, link, title="Coffee")
    change(seller, link, title="Coffee")
    paused = seller.send("PATCH", f"/links/{link['id']}/status", {"status": "paused"})
    assert paused.status == 200
    entries = AuditEntry.objects.filter(action__startswith="payment_link.")
    changed, switched = entries.order_by("pk")
    assert (changed.action, switched.action) == (
        "payment_link.changed",
        "payment_link.status_set",
    )
    assert (changed.before, changed.after) == ({"title": "Tea"}, {"title": "Coffee"})
    for entry in (changed, switched):
        assert (entry.object_id, entry.actor) == (link["id"], None)
        assert entry.actor_label.startswith("API key ")
        assert entry.address == seller.address


@pytest.mark.parametrize("before", ["active", "paused", "archived"])
@pytest.mark.parametrize("after", ["active", "paused", "archived"])
def test_any_status_may_change_to_any_other(
    seller: ApiClient, before: str, after: str
) -> None:
    link = make_link(seller.merchant, status=before)
    answer = seller.send("PATCH", f"/links/{link.public_id}/status", {"status": after})
    assert (answer.status, answer.body["status"]) == (200, after)
    assert answer.body == seller.get(f"/links/{link.public_id}").body


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        ({}, (400, "parameter_missing", "status")),
        ({"status": "open"}, (400, "status_invalid", "status")),
        ({"status": ["active"]}, (400, "status_invalid", "status")),
    ],
)
def test_an_unknown_status_is_refused(
    seller: ApiClient, body: dict[str, Any], refusal: tuple[int, str, str]
) -> None:
    link = make_link(seller.merchant)
    path = f"/links/{link.public_id}/status"
    assert seller.send("PATCH", path, body).refusal == refusal


def test_the_list_is_newest_first_and_pages_by_offset_and_by_key(
    seller: ApiClient,
) -> None:
    ids = [make_link(seller.merchant).public_id for _ in range(5)][::-1]
    paused = make_link(seller.merchant, status="paused").public_id

    def listed(**query: Any) -> list[str]:
        return [link["id"] for link in seller.get("/links", query).body["data"]]

    assert listed() == [paused, *ids]
    assert listed(status="active", limit=2, offset=1) == ids[1:3]
    assert listed(starting_after=ids[2]) == ids[3:]
    assert seller.get("/links", {"status": "paused"}).body["total"] == 1
    assert "total" not in seller.get("/links", {"include_total": "false"}).body
    for query in ({"starting_after": "lnk_test_x"}, {"status": "open"}, {"limit": 0}):
        assert seller.get("/links", query).status == 400


def test_payments_and_sums_count_completed_checkouts_alone(seller: ApiClient) -> None:
    link = make_link(seller.merchant)
    make_link_checkout(link)
    make_link_checkout(link, amount_received=Decimal("25.003700"))
    for status in CheckoutStatus:
        if status != CheckoutStatus.COMPLETED:
            make_link_checkout(link, status, amount_received=Decimal(7))
    make_link_checkout(make_link(seller.merchant))
    body = seller.get(f"/links/{link.public_id}").body
    assert (body["payments_count"], body["amount_collected"]) == (2, "50.003700")
    listed = {link["id"]: link for link in seller.get("/links").body["data"]}
    assert listed[link.public_id] == body


def test_late_money_that_was_accepted_counts_too(seller: ApiClient) -> None:
    link = make_invoice(seller.merchant)
    expired = make_link_checkout(link, CheckoutStatus.EXPIRED)
    make_checkout(
        link.merchant,
        mode=link.mode,
        status=CheckoutStatus.COMPLETED,
        replaces=expired,
        amount_received=Decimal(25),
    )
    body = seller.get(f"/links/{link.public_id}").body
    assert (body["payments_count"], body["amount_collected"]) == (1, "25.000000")
    assert "This invoice is paid" in Client().get(f"/p/{link.code}").content.decode()


def test_nulls_in_a_change_leave_what_cannot_be_changed(seller: ApiClient) -> None:
    link = created(seller, SUBSCRIPTION)
    nulls = dict.fromkeys(("type", "currency", "interval", "description"))
    assert change(seller, link, **nulls).body == link | {
        "updated_at": seller.get(f"/links/{link['id']}").body["updated_at"]
    }


def test_a_list_asks_the_database_as_often_for_twenty_links_as_for_one(
    seller: ApiClient,
) -> None:
    def questions() -> int:
        with CaptureQueriesContext(
            connection,
        ) as asked:
            assert seller.get("/links").status == 200
        return len(asked)

    make_link_checkout(make_link(seller.merchant))
    questions()
    few = questions()
    for _ in range(19):
        make_link_checkout(make_link(seller.merchant))
    assert questions() == few


def test_a_nul_in_an_id_is_not_found(seller: ApiClient) -> None:
    assert seller.get("/links/%00").status == 404


def test_times_move_with_changes_alone(seller: ApiClient) -> None:
    link = created(seller, CUSTOM)
    assert link["created_at"] == link["updated_at"]
    PaymentLink.objects.update(
        updated_at=PaymentLink.objects.get().created_at - timedelta(days=1)
    )
    changed = change(seller, link, title="Coffee").body
    assert changed["created_at"] == link["created_at"]
    assert changed["updated_at"] > link["created_at"]
