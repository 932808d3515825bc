"""What the desk asks of webhooks."""

from typing import Any

import pytest

from accounts.states import Mode
from tests.dashboard.people import Desk
from tests.factories import NOON, make_merchant
from tests.webhooks.factories import HOOK, make_deliveries, make_endpoint
from webhooks.dashboard.queries import failing_count
from webhooks.models import Endpoint

pytestmark = pytest.mark.django_db


def test_endpoints_in_trouble_are_counted_where_they_matter(owner: Desk, endpoint: Endpoint) -> None:
    seat: Any = owner.get("dashboard_webhooks").wsgi_request.seat
    assert failing_count(seat) == 0
    Endpoint.objects.update(consecutive_failures=5)
    assert failing_count(seat) == 1
    assert "1<span" in owner.get("dashboard_webhooks").text
    abandoned = make_endpoint(owner.merchant, "https://old.example/", is_default=False, disabled_at=NOON)
    assert failing_count(seat) == 1
    make_deliveries(abandoned)
    assert failing_count(seat) == 2
    make_endpoint(make_merchant(), HOOK, disabled_at=NOON)
    make_endpoint(owner.merchant, HOOK, mode=Mode.TEST, disabled_at=NOON)
    assert failing_count(seat) == 2
