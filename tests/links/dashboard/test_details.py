"""What the page of one link says about it."""

from decimal import Decimal

import pytest

from accounts.states import Mode
from links.states import LinkType
from tests.dashboard.people import Desk
from tests.links.factories import make_link

pytestmark = pytest.mark.django_db


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
