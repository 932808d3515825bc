"""The merchant's pages of payment links: who sees what, what the forms make, and what is refused as the API refuses it."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.states import Mode, Role
from checkouts.states import CheckoutStatus
from links.models import LinkTemplate, PaymentLink
from links.states import LinkStatus, LinkType
from links.tokens import personal_url
from tests.checkouts.factories import make_chains_well
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON
from tests.links.factories import (
    make_donation,
    make_invoice,
    make_link,
    make_link_checkout,
    make_paid_invoice,
    make_subscriber,
    make_subscription_link,
)

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
FIELDS: dict[LinkType, dict[str, str]] = {
    LinkType.CUSTOM: {"amount": "40.00"},
    LinkType.INVOICE: {"amount": "40", "customer_ref": "cus-7"},
    LinkType.DONATION: {
        "amount": "10",
        "min_amount": "5",
        "max_amount": "500",
        "suggested_amounts": "10, 25;100",
    },
    LinkType.SUBSCRIPTION: {"amount": "9.99", "interval": "year"},
}
METADATA = '{"n": 1.10, "big": 123456789012345678901234567890}'
MORE = {
    "title": "Cupping",
    "description": "First line\r\nsecond",
    "redirect_url": "https://shop.example/thanks",
    "product_ref": "cupping",
    "metadata": METADATA,
}


@pytest.fixture(autouse=True)
def _the_chains_are_well(settings: Any) -> None:
    make_chains_well(settings)


@pytest.fixture
def desk() -> Desk:
    """An owner, in test mode."""
    return make_desk(mode=Mode.TEST)


def listed(desk: Desk, query: str = "") -> list[str]:
    """The titles on a page of the list, in its order."""
    page = desk.get("dashboard_links", query)
    assert page.status_code == 200
    return [row.title for row in page.context["rows"]]


def make(desk: Desk, kind: LinkType, **fields: str) -> Any:
    """Send the form of a new link."""
    filled = MORE | FIELDS[kind] | fields
    return desk.post("dashboard_new_link_of", filled, kind=kind)


def edited(desk: Desk, link: PaymentLink, **changes: str) -> Any:
    """Open the form of a link, change some fields of it as a browser would, and send it."""
    form = desk.get("dashboard_edit_link", link_id=link.public_id).context["form"]
    filled = {field.name: field.value() for field in form}
    filled = {name: value for name, value in filled.items() if value is not None}
    return desk.post("dashboard_edit_link", filled | changes, link_id=link.public_id)


def acts(desk: Desk) -> list[tuple[str, str]]:
    """What the audit log says of links, the oldest first, and who did it."""
    entries = AuditEntry.objects.filter(merchant=desk.merchant, action__contains="link")
    return [(entry.action, entry.actor_label) for entry in entries.order_by("pk")]


def test_the_list_shows_the_merchants_own_of_the_mode_newest_first(
    desk: Desk,
) -> None:
    make_link(desk.merchant, title="First")
    make_link(desk.merchant, title="Second")
    make_link(desk.merchant, title="Real", mode=Mode.LIVE)
    make_link(title="Foreign")
    assert listed(desk) == ["Second", "First"]


def test_tabs_types_and_titles_narrow_the_list(desk: Desk) -> None:
    make_link(desk.merchant, title="Tea")
    make_donation(desk.merchant, title="Trees")
    make_link(desk.merchant, title="Old tea", status=LinkStatus.ARCHIVED)
    make_link(desk.merchant, title="Cold tea", status=LinkStatus.PAUSED)
    assert listed(desk) == ["Trees", "Tea"]
    assert listed(desk, "?status=paused") == ["Cold tea"]
    assert listed(desk, "?status=archived") == ["Old tea"]
    assert listed(desk, "?status=all&q=TEA") == ["Cold tea", "Old tea", "Tea"]
    assert listed(desk, "?type=donation") == ["Trees"]
    assert listed(desk, "?status=nonsense&type=nonsense&q=%00") == ["Trees", "Tea"]
    tabs = desk.get("dashboard_links").context["tabs"]
    assert [tab[3] for tab in tabs] == [2, 1, 1, 4]
    assert "No links match" in desk.get("dashboard_links", "?q=coffee").text


def test_a_row_says_what_a_link_asks_for_and_brought_in(desk: Desk) -> None:
    donation = make_donation(desk.merchant)
    for amount in ("1000.00", "234.50"):
        make_link_checkout(donation, amount=Decimal(amount))
    make_link_checkout(donation, CheckoutStatus.EXPIRED)
    make_paid_invoice(desk.merchant)
    invoice, given = desk.get("dashboard_links").context["rows"]
    assert (given.price, given.limits) == ("", "5.00 to 500.00")
    assert (given.count, given.collected) == (2, "1,234.50")
    assert (invoice.badge.label, invoice.price) == ("Paid", "25.00")


def test_pages_stay_where_they_are_while_links_are_made(desk: Desk) -> None:
    for number in range(30):
        make_link(desk.merchant, title=f"Tea {number:02}")
    older = desk.get("dashboard_links", "?q=tea").context["pager"].older
    make_link(desk.merchant, title="Tea, new")
    assert listed(desk, f"?{older}") == [
        f"Tea {number:02}" for number in range(4, -1, -1)
    ]


@pytest.mark.parametrize("kind", LinkType)
def test_the_form_of_each_type_makes_what_it_says(kind: LinkType, desk: Desk) -> None:
    page = desk.get("dashboard_new_link_of", kind=kind)
    own = set(FIELDS[kind]) | set(MORE)
    asked = {field.name for field in page.context["form"]}
    others = {"webhook_url", "escrow", "template", "save_as_template"}
    assert own <= asked <= own | others
    answer = make(desk, kind)
    link = PaymentLink.objects.get()
    assert answer["Location"] == desk.url("dashboard_link", link_id=link.public_id)
    assert (link.type, link.mode, link.status) == (kind, Mode.TEST, LinkStatus.ACTIVE)
    assert link.metadata == METADATA.replace(" ", "")
    assert link.description == "First line\nsecond"
    if kind == LinkType.DONATION:
        assert link.suggested_amounts == ["10.00", "25.00", "100.00"]
    assert acts(desk) == [("payment_link.created", desk.user.email)]
    page = desk.client.get(answer["Location"]).text
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
    kind: LinkType, field: str, value: str, desk: Desk
) -> None:
    answer = make(desk, kind, **{field: value})
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert not PaymentLink.objects.exists()
    # What is wrong is not folded away.
    assert answer.context["form"].more_is_open


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
    assert "Somebody changed this link in the meantime" in answer.text
    link.refresh_from_db()
    assert link.title == "Theirs"


def test_a_status_changes_by_a_button_and_is_audited_once(admin: Desk) -> None:
    link = make_link(admin.merchant, mode=Mode.LIVE)
    for status in ("paused", "paused", "archived", "active"):
        admin.post("dashboard_link_status", link_id=link.public_id, status=status)
        link.refresh_from_db()
        assert link.status == status
    entries = AuditEntry.objects.filter(action="payment_link.status_set").order_by("pk")
    assert list(entries.values_list("before__status", "after__status")) == [
        ("active", "paused"),
        ("paused", "archived"),
        ("archived", "active"),
    ]
    wrong = {"link_id": link.public_id, "status": "open"}
    assert admin.post("dashboard_link_status", **wrong).status_code == 404


def test_a_link_that_cannot_be_paid_says_so(admin: Desk) -> None:
    link = make_link(admin.merchant, mode=Mode.LIVE)
    page = admin.get("dashboard_link", link_id=link.public_id).text
    assert "This link cannot be paid now" in page


def test_a_links_page_leads_to_its_checkouts_and_nobody_elses(desk: Desk) -> None:
    link = make_link(desk.merchant)
    mine = make_link_checkout(link)
    other = make_link_checkout(make_link(desk.merchant))
    page = desk.get("dashboard_link", link_id=link.public_id).text
    assert desk.url("dashboard_checkout", checkout_id=mine.public_id) in page
    assert other.public_id not in page


def test_subscribers_stand_with_how_long_they_paid(desk: Desk) -> None:
    link = make_subscription_link(desk.merchant)
    ended = make_subscriber(link, paid=False)
    long_ago = timezone.now() - timedelta(days=40)
    make_link_checkout(link, subscription=ended, paid_at=long_ago)
    make_subscriber(link, email="ada@example.test")
    make_subscriber(link, paid=False)
    page = desk.get("dashboard_link", link_id=link.public_id)
    rows = page.context["subscribers"].rows
    told = [(row.badge.label, row.payments, row.email) for row in rows]
    assert told == [
        ("Not paid yet", 0, ""),
        ("Paid", 1, "ada@example.test"),
        ("Ended", 1, ""),
    ]
    assert personal_url(ended) in page.text


def test_who_only_looks_on_changes_nothing_and_sees_no_payers_address(
    desk: Desk,
) -> None:
    viewer = make_desk(desk.merchant, Role.VIEWER, Mode.TEST)
    link = make_subscription_link(desk.merchant)
    subscriber = make_subscriber(link, email="ada@example.test")
    page = viewer.get("dashboard_link", link_id=link.public_id).text
    assert "a•••@example.test" in page
    assert "ada@example.test" not in page
    assert personal_url(subscriber) not in page
    for words in ("Archive", "Pause", ">Edit<"):
        assert words not in page
    assert "New link" not in viewer.get("dashboard_links").text
    assert make(viewer, LinkType.CUSTOM).status_code == 403


@pytest.mark.parametrize(
    ("kind", "start"), [("png", b"\x89PNG\r\n"), ("svg", b"<svg xmlns")]
)
def test_the_code_of_a_link_is_a_file(kind: str, start: bytes, desk: Desk) -> None:
    link = make_link(desk.merchant)
    arguments = {"link_id": link.public_id, "format_name": kind}
    answer = desk.get("dashboard_link_qr", **arguments)
    assert answer.content.startswith(start)
    assert answer["Content-Disposition"] == (
        f'attachment; filename="{link.public_id}.{kind}"'
    )


@pytest.mark.parametrize("mode", Mode)
def test_another_merchants_or_the_other_modes_link_is_not_found(
    mode: Mode, desk: Desk
) -> None:
    other_mode = Mode.LIVE if mode == Mode.TEST else Mode.TEST
    here = make_desk(desk.merchant, Role.OWNER, mode)
    for link in (make_link(mode=mode), make_link(here.merchant, mode=other_mode)):
        named = {"link_id": link.public_id}
        assert here.get("dashboard_link", **named).status_code == 404
        assert here.get("dashboard_edit_link", **named).status_code == 404
        assert here.post("dashboard_edit_link", MORE, **named).status_code == 404
        paused = here.post("dashboard_link_status", status="paused", **named)
        assert paused.status_code == 404
        code = here.get("dashboard_link_qr", format_name="png", **named)
        assert code.status_code == 404
        link.refresh_from_db()
        assert (link.status, link.updated_at) == (LinkStatus.ACTIVE, NOON)


def test_another_merchants_template_is_not_found(desk: Desk) -> None:
    make(desk, LinkType.CUSTOM, save_as_template="on")
    template_id = LinkTemplate.objects.get().public_id
    other = make_desk(mode=Mode.TEST)
    query = f"?template={template_id}"
    assert other.get("dashboard_new_link_of", query, kind="custom").status_code == 404
    gone = other.post("dashboard_delete_link_template", template_id=template_id)
    assert gone.status_code == 404
    make(other, LinkType.CUSTOM, template=template_id)
    assert PaymentLink.objects.get(merchant=other.merchant).template is None


def test_what_people_write_is_shown_as_text(desk: Desk) -> None:
    link = make_invoice(
        desk.merchant,
        title=HOSTILE,
        description=HOSTILE,
        customer_ref=HOSTILE,
        metadata='{"note":"</pre><script>alert(1)</script>"}',
    )
    LinkTemplate.objects.create(
        merchant=desk.merchant, mode=Mode.TEST, title=HOSTILE, type=LinkType.DONATION
    )
    pages = [
        desk.get("dashboard_links"),
        desk.client.get(desk.url("dashboard_links"), {"q": HOSTILE}),
        desk.get("dashboard_new_link"),
        desk.get("dashboard_link", link_id=link.public_id),
        desk.get("dashboard_edit_link", link_id=link.public_id),
    ]
    for page in pages:
        assert "&lt;script&gt;" in page.text
        assert "<script>" not in page.text
        assert "<img src=x" not in page.text


def test_a_page_of_the_list_costs_few_queries(
    desk: Desk, django_assert_max_num_queries: Any
) -> None:
    for _ in range(8):
        make_link_checkout(make_link(desk.merchant))
    desk.get("dashboard_links")
    # What every page asks, and the links, what they brought in and how many there are of each status.
    with django_assert_max_num_queries(11):
        desk.get("dashboard_links")
