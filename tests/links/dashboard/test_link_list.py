"""The list of payment links: whose, which, and what a row says."""

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.states import Mode, Role
from checkouts.states import CheckoutException, CheckoutStatus
from links.dashboard.words import interval_of, link_badge, price_of, range_of
from links.models import LinkTemplate, PaymentLink
from links.selectors import LastPayment, Takings
from links.states import Interval, LinkStatus, LinkType, Standing
from links.tokens import personal_url
from tests.dashboard.people import Desk, make_desk
from tests.links.dashboard.filled import FIELDS, METADATA, MORE, acts, edited, make
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


def listed(desk: Desk, query: str = "") -> list[str]:
    """The titles on a page of the list, in its order."""
    page = desk.get("dashboard_links", query)
    assert page.status_code == 200
    return [row.link.title for row in page.context["rows"]]


def test_the_list_shows_the_merchants_own_of_the_mode_newest_first(owner_in_test_mode: Desk) -> None:
    make_link(owner_in_test_mode.merchant, title="First")
    make_link(owner_in_test_mode.merchant, title="Second")
    make_link(owner_in_test_mode.merchant, title="Real", mode=Mode.LIVE)
    make_link(title="Foreign")
    assert listed(owner_in_test_mode) == ["Second", "First"]


def test_tabs_types_and_titles_narrow_the_list(owner_in_test_mode: Desk) -> None:
    make_link(owner_in_test_mode.merchant, title="Tea")
    make_donation(owner_in_test_mode.merchant, title="Trees")
    make_link(owner_in_test_mode.merchant, title="Old tea", status=LinkStatus.ARCHIVED)
    make_link(owner_in_test_mode.merchant, title="Cold tea", status=LinkStatus.PAUSED)
    assert listed(owner_in_test_mode) == ["Trees", "Tea"]
    assert listed(owner_in_test_mode, "?status=paused") == ["Cold tea"]
    assert listed(owner_in_test_mode, "?status=archived") == ["Old tea"]
    assert listed(owner_in_test_mode, "?status=all&q=TEA") == ["Cold tea", "Old tea", "Tea"]
    assert listed(owner_in_test_mode, "?type=donation") == ["Trees"]
    assert listed(owner_in_test_mode, "?status=nonsense&type=nonsense&q=%00") == ["Trees", "Tea"]
    tabs = owner_in_test_mode.get("dashboard_links").context["tabs"]
    assert [tab[3] for tab in tabs] == [2, 1, 1, 4]
    assert "No links match" in owner_in_test_mode.get("dashboard_links", "?q=coffee").text


def test_a_row_says_what_a_link_asks_for_and_brought_in(owner_in_test_mode: Desk) -> None:
    donation = make_donation(owner_in_test_mode.merchant)
    for amount in ("1000.00", "234.50"):
        make_link_checkout(donation, amount=Decimal(amount))
    make_link_checkout(donation, CheckoutStatus.EXPIRED)
    make_paid_invoice(owner_in_test_mode.merchant)
    invoice, given = owner_in_test_mode.get("dashboard_links").context["rows"]
    assert (price_of(given.link), range_of(given.link)) == ("", "5.00 to 500.00")
    assert given.takings == Takings(2, Decimal("1234.50"))
    assert (invoice.badge.label, price_of(invoice.link)) == ("Paid", "25.00")


def test_pages_stay_where_they_are_while_links_are_made(owner_in_test_mode: Desk) -> None:
    for number in range(30):
        make_link(owner_in_test_mode.merchant, title=f"Tea {number:02}")
    older = owner_in_test_mode.get("dashboard_links", "?q=tea").context["pager"].older
    make_link(owner_in_test_mode.merchant, title="Tea, new")
    assert listed(owner_in_test_mode, f"?{older}") == [f"Tea {number:02}" for number in range(4, -1, -1)]


def test_what_people_write_is_shown_as_text(owner_in_test_mode: Desk) -> None:
    link = make_invoice(
        owner_in_test_mode.merchant,
        title=HOSTILE,
        description=HOSTILE,
        customer_ref=HOSTILE,
        metadata='{"note":"</pre><script>alert(1)</script>"}',
    )
    LinkTemplate.objects.create(
        merchant=owner_in_test_mode.merchant, mode=Mode.TEST, title=HOSTILE, type=LinkType.DONATION
    )
    pages = [
        owner_in_test_mode.get("dashboard_links"),
        owner_in_test_mode.client.get(owner_in_test_mode.url("dashboard_links"), {"q": HOSTILE}),
        owner_in_test_mode.get("dashboard_new_link"),
        owner_in_test_mode.get("dashboard_link", link_id=link.public_id),
        owner_in_test_mode.get("dashboard_edit_link", link_id=link.public_id),
    ]
    for page in pages:
        assert "&lt;script&gt;" in page.text
        assert "<script>" not in page.text
        assert "<img src=x" not in page.text


def test_a_page_of_the_list_costs_few_queries(owner_in_test_mode: Desk, django_assert_max_num_queries: Any) -> None:
    for _ in range(8):
        make_link_checkout(make_link(owner_in_test_mode.merchant))
    owner_in_test_mode.get("dashboard_links")
    # What every page asks, and the links, what they brought in and how many there are of each status.
    with django_assert_max_num_queries(11):
        owner_in_test_mode.get("dashboard_links")


# Another merchant's templates are not found.


def test_another_merchants_template_is_not_found(owner_in_test_mode: Desk) -> None:
    make(owner_in_test_mode, LinkType.CUSTOM, save_as_template="on")
    template_id = LinkTemplate.objects.get().public_id
    other = make_desk(mode=Mode.TEST)
    query = f"?template={template_id}"
    assert other.get("dashboard_new_link_of", query, kind="custom").status_code == 404
    make(other, LinkType.CUSTOM, template=template_id)
    assert PaymentLink.objects.get(merchant=other.merchant).template is None


# What the page of one link says about it.


def test_a_links_page_writes_amounts_as_all_pages_do(owner: Desk) -> None:
    link = make_link(
        owner.merchant,
        mode=Mode.LIVE,
        type=LinkType.DONATION,
        amount=Decimal("1250.00"),
        suggested_amounts=["25.00", "2500.00"],
    )
    facts = dict(owner.get("dashboard_link", link_id=link.public_id).context["detail"].facts)
    assert facts["Suggested"] == "25.00, 2,500.00"
    assert facts["Default amount"] == "1,250.00"


# The list of a link's subscribers.


def test_subscribers_stand_with_how_long_they_paid(owner_in_test_mode: Desk) -> None:
    link = make_subscription_link(owner_in_test_mode.merchant)
    ended = make_subscriber(link, paid=False)
    long_ago = timezone.now() - timedelta(days=40)
    make_link_checkout(link, subscription=ended, paid_at=long_ago)
    make_subscriber(link, email="ada@example.test")
    make_subscriber(link, paid=False)
    page = owner_in_test_mode.get("dashboard_link", link_id=link.public_id)
    rows = page.context["subscribers"].rows
    told = [(row.badge.label, row.payments, row.email) for row in rows]
    assert told == [("Not paid yet", 0, ""), ("Paid", 1, "ada@example.test"), ("Ended", 1, "")]
    assert personal_url(ended) in page.text


def test_a_subscriber_whose_last_payment_was_reversed_is_not_called_paid(owner_in_test_mode: Desk) -> None:
    link = make_subscription_link(owner_in_test_mode.merchant)
    subscriber = make_subscriber(link, days_ago=20)
    make_link_checkout(
        link, subscription=subscriber, paid_at=timezone.now(), exception=CheckoutException.REVERSED, amount_received=0
    )
    page = owner_in_test_mode.get("dashboard_link", link_id=link.public_id)
    [row] = page.context["subscribers"].rows
    assert (row.badge.label, row.badge.tone) == ("Reversed", "bad")


# The page of one link: its status, its checkouts, its QR code, and what a viewer sees.


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


def test_a_links_page_leads_to_its_checkouts_and_nobody_elses(owner_in_test_mode: Desk) -> None:
    link = make_link(owner_in_test_mode.merchant)
    mine = make_link_checkout(link)
    other = make_link_checkout(make_link(owner_in_test_mode.merchant))
    page = owner_in_test_mode.get("dashboard_link", link_id=link.public_id).text
    assert owner_in_test_mode.url("dashboard_checkout", checkout_id=mine.public_id) in page
    assert other.public_id not in page


def test_who_only_looks_on_is_offered_nothing_and_sees_no_payers_address(owner_in_test_mode: Desk) -> None:
    viewer = make_desk(owner_in_test_mode.merchant, Role.VIEWER, Mode.TEST)
    link = make_subscription_link(owner_in_test_mode.merchant)
    subscriber = make_subscriber(link, email="ada@example.test")
    page = viewer.get("dashboard_link", link_id=link.public_id).text
    assert "a•••@example.test" in page
    assert "ada@example.test" not in page
    assert personal_url(subscriber) not in page
    for words in ("Archive", "Pause", ">Edit<"):
        assert words not in page
    assert "New link" not in viewer.get("dashboard_links").text


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG\r\n"), ("svg", b"<svg xmlns")])
def test_the_code_of_a_link_is_a_file(kind: str, start: bytes, owner_in_test_mode: Desk) -> None:
    link = make_link(owner_in_test_mode.merchant)
    arguments = {"link_id": link.public_id, "format_name": kind}
    answer = owner_in_test_mode.get("dashboard_link_qr", **arguments)
    assert answer.content.startswith(start)
    assert answer["Content-Disposition"] == (f'attachment; filename="{link.public_id}.{kind}"')


# What the merchant's pages call links.


@pytest.mark.parametrize(
    ("status", "standing", "label"),
    [
        (LinkStatus.ACTIVE, None, "Active"),
        (LinkStatus.PAUSED, Standing.PAID, "Paid"),
        (LinkStatus.ACTIVE, Standing.DOUBTED, "In doubt"),
        (LinkStatus.ACTIVE, Standing.REVERSED, "Reversed"),
        (LinkStatus.ARCHIVED, Standing.PAID, "Archived"),
    ],
)
def test_a_paid_invoice_closed_itself(status: LinkStatus, standing: Standing | None, label: str) -> None:
    payment = LastPayment(1, "code", standing) if standing else None
    assert link_badge(PaymentLink(type=LinkType.INVOICE, status=status), payment).label == label


def test_what_the_payer_chooses_has_no_price() -> None:
    priced = PaymentLink(type=LinkType.CUSTOM, amount=Decimal("49.00"))
    assert "49.00" in price_of(priced)
    assert price_of(PaymentLink(type=LinkType.DONATION, amount=Decimal(5))) == ""


def test_only_a_subscription_has_an_interval() -> None:
    assert interval_of(PaymentLink(interval=Interval.WEEK)) == "a week"
    assert interval_of(PaymentLink(interval="")) == ""


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [("5", "9", "5.00 to 9.00"), ("5", None, "from 5.00"), (None, "9", "up to 9.00"), (None, None, "")],
)
def test_a_range_says_the_limits_that_were_set(low: str | None, high: str | None, words: str) -> None:
    least, most = (None if text is None else Decimal(text) for text in (low, high))
    assert range_of(PaymentLink(min_amount=least, max_amount=most)) == words


# The form of a link asks what a type has; what the API refuses stands at its field.


@pytest.mark.parametrize("kind", LinkType)
def test_the_form_of_each_type_makes_what_it_says(kind: LinkType, owner_in_test_mode: Desk) -> None:
    page = owner_in_test_mode.get("dashboard_new_link_of", kind=kind)
    own = set(FIELDS[kind]) | set(MORE)
    asked = {field.name for field in page.context["form"]}
    others = {"webhook_url", "escrow", "template", "save_as_template"}
    if kind == LinkType.INVOICE:
        others |= {"invoice_buyer", "invoice_number", "invoice_due"}
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
        # A decimal comma, or two amounts.
        (LinkType.DONATION, "suggested_amounts", "10,50"),
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


# Links made from templates and changed by hand, audited, and never over somebody else's change.


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


def test_an_invoice_says_who_is_billed_until_when_and_for_what(owner_in_test_mode: Desk, client: Client) -> None:
    items = '{"line_items": [{"name": "Roast", "quantity": 2, "unit_price": "20.00"}]}'
    facts = {"invoice_buyer": "  Ann   Ltd ", "invoice_number": "2026-014", "invoice_due": "2026-12-31"}
    assert make(owner_in_test_mode, LinkType.INVOICE, metadata=items, **facts).status_code == 302
    link = PaymentLink.objects.get()
    invoice = {"number": "2026-014", "buyer": "Ann Ltd", "due": "2026-12-31"}
    assert json.loads(link.metadata)["invoice"] == invoice
    page = client.get(f"/p/{link.code}").text
    for said in ("Ann Ltd", "2026-014", "31 Dec 2026", "Roast", "$40.00"):
        assert said in page
    # The form has them in their own fields, and not a second time as JSON.
    form = owner_in_test_mode.get("dashboard_edit_link", link_id=link.public_id).context["form"]
    assert form["invoice_number"].value() == "2026-014"
    assert "2026-014" not in form["metadata"].value()
    edited(owner_in_test_mode, link, invoice_buyer="Bea", invoice_number="", invoice_due="")
    link.refresh_from_db()
    assert json.loads(link.metadata)["invoice"] == {"buyer": "Bea"}
    edited(owner_in_test_mode, link, invoice_buyer="")
    link.refresh_from_db()
    assert json.loads(link.metadata) == json.loads(items)
    # Other links have no such fields.
    assert "invoice_buyer" not in owner_in_test_mode.get("dashboard_new_link_of", kind="custom").context["form"].fields


def test_an_invoice_in_another_form_stays_as_it_was_typed(owner_in_test_mode: Desk) -> None:
    typed = '{"invoice": {"number": "7", "vat": "DE 1"}}'
    make(owner_in_test_mode, LinkType.INVOICE, metadata=typed)
    link = PaymentLink.objects.get()
    edited(owner_in_test_mode, link, title="Roasting")
    link.refresh_from_db()
    assert json.loads(link.metadata) == json.loads(typed)


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
