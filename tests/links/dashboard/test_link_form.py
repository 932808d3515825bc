"""The form of a link asks what a type has; what the API refuses stands at its field."""

import pytest

from accounts.states import Mode
from links.models import PaymentLink
from links.states import LinkStatus, LinkType
from tests.dashboard.people import Desk
from tests.links.dashboard.filled import FIELDS, METADATA, MORE, acts, make

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("kind", LinkType)
def test_the_form_of_each_type_makes_what_it_says(kind: LinkType, owner_in_test_mode: Desk) -> None:
    page = owner_in_test_mode.get("dashboard_new_link_of", kind=kind)
    own = set(FIELDS[kind]) | set(MORE)
    asked = {field.name for field in page.context["form"]}
    others = {"webhook_url", "escrow", "template", "save_as_template"}
    assert own <= asked <= own | others
    answer = make(owner_in_test_mode, kind)
    link = PaymentLink.objects.get()
    assert answer["Location"] == owner_in_test_mode.url("dashboard_link", link_id=link.public_id)
    assert (link.type, link.mode, link.status) == (kind, Mode.TEST, LinkStatus.ACTIVE)
    assert link.metadata == METADATA.replace(" ", "")
    assert link.description == "First line\nsecond"
    if kind == LinkType.DONATION:
        assert link.suggested_amounts == ["10.00", "25.00", "100.00"]
    assert acts(owner_in_test_mode) == [("payment_link.created", owner_in_test_mode.user.email)]
    page = owner_in_test_mode.client.get(answer["Location"]).text
    assert f"/p/{link.code}" in page
    assert "No payments yet" in page


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        (LinkType.CUSTOM, "title", " "),
        (LinkType.CUSTOM, "title", "x" * 121),
        (LinkType.CUSTOM, "amount", ""),
        (LinkType.CUSTOM, "amount", "1e3"),
        (LinkType.CUSTOM, "metadata", "{"),
        (LinkType.CUSTOM, "metadata", "[1]"),
        (LinkType.CUSTOM, "metadata", '{"a": "' + "x" * 4096 + '"}'),
        (LinkType.CUSTOM, "redirect_url", "javascript:alert(1)"),
        (LinkType.CUSTOM, "webhook_url", "http://127.0.0.1/hook"),
        (LinkType.DONATION, "max_amount", "4"),
        (LinkType.DONATION, "suggested_amounts", "10, 501"),
        (LinkType.DONATION, "suggested_amounts", "5 6 7 8 9 10 11"),
        (LinkType.SUBSCRIPTION, "interval", "day"),
    ],
)
def test_what_the_api_refuses_stands_at_its_field(
    kind: LinkType, field: str, value: str, owner_in_test_mode: Desk
) -> None:
    answer = make(owner_in_test_mode, kind, **{field: value})
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert not PaymentLink.objects.exists()
    # What is wrong is not folded away.
    assert answer.context["form"].more_is_open
