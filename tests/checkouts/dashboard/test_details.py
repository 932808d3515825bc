"""The page of a checkout: late money, and line items."""

from decimal import Decimal

import pytest

from tests.checkouts.dashboard.opened import page_of
from tests.checkouts.inboxes import late_item
from tests.dashboard.people import Desk
from tests.factories import make_checkout

pytestmark = pytest.mark.django_db

TWO = '{"line_items": [{"name": "Ticket", "quantity": 2, "unit_price": "12.50"}]}'


def test_late_money_leads_to_its_inbox_item(owner: Desk) -> None:
    item = late_item(merchant=owner.merchant)
    assert item.checkout is not None
    page = page_of(owner, item.checkout)
    url = owner.url("dashboard_inbox_item", item_id=item.pk)
    assert page.count(f'href="{url}"') == 2
    assert "Accept late payment…" in page
    assert "Payment moved to the inbox" in page


def test_line_items_are_listed_with_their_sum(owner: Desk) -> None:
    exact = make_checkout(owner.merchant, metadata=TWO)
    page = page_of(owner, exact)
    assert "Ticket" in page
    assert "2 × 12.50" in page
    assert "The checkout asks for" not in page
    other = make_checkout(owner.merchant, metadata=TWO, amount=Decimal("30.00"))
    assert "The checkout asks for 30.00 USD" in page_of(owner, other)
