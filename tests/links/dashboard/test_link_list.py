"""The list of payment links: whose, which, and what a row says."""

from decimal import Decimal
from typing import Any

import pytest

from accounts.states import Mode
from checkouts.states import CheckoutStatus
from links.models import LinkTemplate
from links.states import LinkStatus, LinkType
from tests.dashboard.people import Desk
from tests.links.factories import make_donation, make_invoice, make_link, make_link_checkout, make_paid_invoice

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


def listed(desk: Desk, query: str = "") -> list[str]:
    """The titles on a page of the list, in its order."""
    page = desk.get("dashboard_links", query)
    assert page.status_code == 200
    return [row.title for row in page.context["rows"]]


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
    assert (given.price, given.limits) == ("", "5.00 to 500.00")
    assert (given.count, given.collected) == (2, "1,234.50")
    assert (invoice.badge.label, invoice.price) == ("Paid", "25.00")


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
