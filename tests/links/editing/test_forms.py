"""What a link and a template may be, and what a change must leave."""

from typing import Any

import pytest

from accounts.states import Mode
from links.editing.service import create_link, delete_template
from links.models import LinkTemplate, PaymentLink
from links.serializers import NewLink
from tests.checkouts.schema import alter
from tests.contract.client import ApiClient
from tests.factories import NOON
from tests.links.bodies import CUSTOM, DONATION, SUBSCRIPTION, change, created
from tests.links.factories import make_link, make_template

pytestmark = pytest.mark.django_db


def test_a_subscription_is_monthly_unless_it_says_otherwise(tester: ApiClient) -> None:
    specified = CUSTOM | {"type": "subscription", "currency": "USD", "metadata": {}}
    assert created(tester, specified)["interval"] == "month"
    assert created(tester, specified | {"interval": "week"})["interval"] == "week"


def test_references_are_found_in_metadata_as_for_checkouts(tester: ApiClient) -> None:
    link = created(tester, CUSTOM | {"metadata": {"user_id": 7, "package_code": "gold"}})
    assert (link["customer_ref"], link["product_ref"]) == ("7", "gold")


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        ({"amount": "25"}, (400, "parameter_missing", "title")),
        (CUSTOM | {"title": "  "}, (400, "parameter_missing", "title")),
        (CUSTOM | {"title": "x" * 121}, (400, "parameter_too_long", "title")),
        (CUSTOM | {"title": 5}, (400, "parameter_invalid", "title")),
        ({"title": "Tea"}, (400, "parameter_missing", "amount")),
        (CUSTOM | {"type": "invoice", "amount": None}, (400, "parameter_missing", "amount")),
        (CUSTOM | {"amount": 25}, (400, "amount_not_string", "amount")),
        (CUSTOM | {"amount": "25.001"}, (400, "amount_invalid", "amount")),
        (CUSTOM | {"amount": "0.09"}, (400, "amount_out_of_range", "amount")),
        (CUSTOM | {"amount": "9" * 16}, (400, "amount_out_of_range", "amount")),
        (DONATION | {"min_amount": "9" * 400}, (400, "amount_out_of_range", "min_amount")),
        (DONATION | {"suggested_amounts": ["9" * 16 + ".5"]}, (400, "amount_out_of_range", "suggested_amounts")),
        (CUSTOM | {"currency": "EUR"}, (400, "currency_unsupported", "currency")),
        (CUSTOM | {"type": "gift"}, (400, "parameter_invalid", "type")),
        (CUSTOM | {"type": []}, (400, "parameter_invalid", "type")),
        (CUSTOM | {"metadata": []}, (400, "parameter_invalid", "metadata")),
        (CUSTOM | {"metadata": {"a": "x" * 4096}}, (400, "metadata_too_large", "metadata")),
        (CUSTOM | {"min_amount": "5"}, (400, "parameter_invalid", "min_amount")),
        (CUSTOM | {"suggested_amounts": ["5"]}, (400, "parameter_invalid", "suggested_amounts")),
        (CUSTOM | {"interval": "week"}, (400, "parameter_invalid", "interval")),
        (CUSTOM | {"redirect_url": "shop"}, (400, "url_invalid", "redirect_url")),
        (CUSTOM | {"webhook_url": "https://10.0.0.1/"}, (400, "url_forbidden", "webhook_url")),
        (DONATION | {"min_amount": "9", "max_amount": "8"}, (400, "parameter_invalid", "max_amount")),
        (
            DONATION | {"min_amount": "9", "suggested_amounts": ["10", "8"]},
            (400, "amount_out_of_range", "suggested_amounts"),
        ),
        (DONATION | {"max_amount": "9", "amount": "10"}, (400, "amount_out_of_range", "amount")),
        (DONATION | {"suggested_amounts": ["5"] * 7}, (400, "parameter_invalid", "suggested_amounts")),
        (DONATION | {"suggested_amounts": [5]}, (400, "amount_not_string", "suggested_amounts")),
        (SUBSCRIPTION | {"interval": "day"}, (400, "parameter_invalid", "interval")),
        (CUSTOM | {"template": "ltp_nobodys"}, (404, "resource_missing", "template")),
    ],
)
def test_what_a_link_cannot_be_is_refused_by_name(
    tester: ApiClient, body: dict[str, Any], refusal: tuple[int, str, str]
) -> None:
    assert tester.post("/links", body).refusal == refusal
    assert not PaymentLink.objects.exists()


def test_a_donation_may_leave_the_amount_to_the_payer(tester: ApiClient) -> None:
    link = created(
        tester, DONATION | {"min_amount": "5", "max_amount": "500", "suggested_amounts": ["10", "10.0", "25"]}
    )
    assert (link["amount"], link["min_amount"], link["max_amount"]) == (None, "5.00", "500.00")
    assert link["suggested_amounts"] == ["10.00", "25.00"]


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
def test_a_change_obeys_the_rules_of_a_new_link(tester: ApiClient, fields: dict[str, Any], param: str) -> None:
    link = created(tester, CUSTOM)
    answer = change(tester, link, **fields)
    assert (answer.status, answer.error["param"]) == (400, param)
    assert tester.get(f"/links/{link['id']}").body == link


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        ({}, (400, "parameter_missing", "status")),
        ({"status": "open"}, (400, "status_invalid", "status")),
        ({"status": ["active"]}, (400, "status_invalid", "status")),
    ],
)
def test_an_unknown_status_is_refused(tester: ApiClient, body: dict[str, Any], refusal: tuple[int, str, str]) -> None:
    link = make_link(tester.merchant)
    path = f"/links/{link.public_id}/status"
    assert tester.send("PATCH", path, body).refusal == refusal


def test_nulls_in_a_change_leave_what_cannot_be_changed(tester: ApiClient) -> None:
    link = created(tester, SUBSCRIPTION)
    nulls = dict.fromkeys(("type", "currency", "interval", "description"))
    assert change(tester, link, **nulls).body == link | {
        "updated_at": tester.get(f"/links/{link['id']}").body["updated_at"]
    }


@pytest.mark.parametrize(
    ("body", "param"), [({}, "title"), ({"title": "a", "amount": 5}, "amount"), ({"title": "a", "type": "b"}, "type")]
)
def test_a_template_obeys_the_rules_of_its_fields(tester: ApiClient, body: dict[str, Any], param: str) -> None:
    assert tester.post("/link_templates", body).error["param"] == param


@pytest.mark.parametrize("value", ["yes", 1])
def test_escrow_of_a_link_is_a_boolean(value: Any, tester: ApiClient) -> None:
    answer = tester.post("/links", CUSTOM | {"escrow": value})
    assert answer.refusal == (400, "parameter_invalid", "escrow")


# Templates: saved defaults that links are made from.


def made_of(seller: ApiClient, body: dict[str, Any]) -> dict[str, Any]:
    answer = seller.post("/links", body)
    assert answer.status == 201, answer.body
    link: dict[str, Any] = answer.body
    return link


def test_a_template_gives_what_the_new_link_does_not_say(tester: ApiClient) -> None:
    template = tester.post(
        "/link_templates", {"title": "Workshop", "amount": "40", "type": "invoice", "metadata": {"a": 1.0}}
    ).body
    link = made_of(tester, {"template": template["id"], "title": "Mine"})
    assert (link["title"], link["amount"], link["type"]) == ("Mine", "40.00", "invoice")
    assert (link["metadata"], link["template"]) == ({"a": 1.0}, template["id"])
    assert tester.get("/link_templates").body["data"] == [template]
    assert tester.get(f"/link_templates/{template['id']}").body == template


def test_null_says_nothing_so_that_the_template_does(tester: ApiClient) -> None:
    values = {"title": "Workshop", "amount": "40", "type": "donation", "description": "At noon", "metadata": {"a": 1}}
    template = tester.post("/link_templates", values).body
    plain = made_of(tester, {"template": template["id"]})
    nulls = made_of(tester, {"template": template["id"]} | dict.fromkeys([*values, "currency", "max_amount"]))
    own = {"id", "url", "share_text", "created_at", "updated_at"}
    assert {name for name in plain if plain[name] != nulls[name]} <= own
    # A text that says that there is none.
    assert made_of(tester, {"template": template["id"], "description": ""})["description"] is None


def test_a_deleted_template_leaves_its_links(tester: ApiClient) -> None:
    template = tester.post("/link_templates", {"title": "Workshop", "amount": "40"}).body
    link = made_of(tester, {"template": template["id"]})
    path = f"/link_templates/{template['id']}"
    answer = tester.send("DELETE", path)
    assert answer.body == {"id": template["id"], "deleted": True}
    assert not LinkTemplate.objects.exists()
    assert tester.send("DELETE", path).status == 404
    kept = tester.get(f"/links/{link['id']}").body
    assert kept == link | {"template": None}


def test_a_link_of_a_template_that_was_just_deleted_is_made_without_it() -> None:
    template = make_template()
    LinkTemplate.objects.all().delete()
    wanted = NewLink.read({"title": "Workshop", "amount": "40"})
    link = create_link(template.merchant_id, Mode.LIVE, wanted, template=template, now=NOON)
    # What would wait for the commit, now.
    alter("SET CONSTRAINTS ALL IMMEDIATE")
    link.refresh_from_db()
    assert link.template is None
    delete_template(template, now=NOON)
