"""Templates: saved defaults that links are made from."""

from typing import Any

from accounts.states import Mode
from gateway.core.web_urls import url_policy
from links.editing.forms import parse_link
from links.editing.service import create_link, delete_template
from links.models import LinkTemplate
from tests.checkouts.schema import alter
from tests.contract.client import ApiClient
from tests.factories import NOON
from tests.links.factories import make_template


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
    wanted = parse_link({"title": "Workshop", "amount": "40"}, url_policy())
    link = create_link(template.merchant_id, Mode.LIVE, wanted, template=template, now=NOON)
    # What would wait for the commit, now.
    alter("SET CONSTRAINTS ALL IMMEDIATE")
    link.refresh_from_db()
    assert link.template is None
    delete_template(template, now=NOON)
