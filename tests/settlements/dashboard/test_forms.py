"""What cannot be asked for on the pages of settlements."""

import pytest

from settlements.models import SettlementSettings
from tests.dashboard.people import Desk
from tests.settlements.dashboard.test_pages import SETTLE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_nodes")]


@pytest.mark.parametrize("change", [{"purpose": "x"}, {"chain": "bitcoin"}, {"token": "EURC"}])
def test_what_is_no_purpose_network_or_token_is_no_page(owner: Desk, change: dict[str, str]) -> None:
    for name in ("dashboard_settle", "dashboard_settle_by_wallet"):
        assert owner.post(name, SETTLE | change).status_code == 404


@pytest.mark.parametrize("change", [{"minimum": "-1"}, {"minimum": "0.001"}, {"every_hours": "745"}, {"minimum": ""}])
def test_intervals_that_are_none_are_refused(owner: Desk, change: dict[str, str]) -> None:
    wanted = {"minimum": "2.50", "every_hours": "6"} | change
    assert owner.post("dashboard_settlement_intervals", wanted).status_code == 422
    assert not SettlementSettings.objects.exists()
