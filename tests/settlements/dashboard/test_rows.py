"""What a settlement's page shows of its parts."""

import pytest

from tests.dashboard.machines import make_settlement
from tests.dashboard.people import Desk
from tests.reports.takings import receive

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_nodes")]


def test_a_settlement_shows_what_it_was_made_of(owner: Desk) -> None:
    transfer = receive(owner.merchant, 25_000_000)
    made = make_settlement(owner.merchant, deposit=transfer.deposit)
    page = owner.get("dashboard_settlement", settlement_id=made.public_id)
    [item] = page.context["items"]
    assert (item.forwarder, item.moved) == (transfer.recipient, "25.00")
    assert made.tx_hash in page.text
