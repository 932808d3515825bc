"""Which times a range of deliveries may have."""

import pytest

from accounts.models import AuditEntry
from tests.dashboard.people import Desk
from tests.factories import NOON
from tests.webhooks.dashboard.desks import HOUR, times
from tests.webhooks.factories import make_failed
from webhooks.delivery import retries as delivery_services
from webhooks.models import Delivery, Endpoint
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db


def test_a_range_that_is_too_long_is_refused_and_changes_nothing(
    admin: Desk, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_services, "MOST_RETRIED", 2)
    make_failed(endpoint, 3)
    data = times(NOON - HOUR, NOON + HOUR)
    query = "?" + "&".join(f"{name}={value}" for name, value in data.items())
    for answer in (admin.get("dashboard_retry_deliveries", query), admin.post("dashboard_retry_deliveries", data)):
        assert answer.status_code == 409
        assert "more than 2 deliveries" in answer.text
    assert not Delivery.objects.filter(status=DeliveryStatus.PENDING).exists()
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"until": "2026-11-20T11:00"},
        {"since": "0001-01-01T00:00+14:00"},
        {"until": "9999-12-31T23:59-14:00"},
        {"since": "yesterday"},
        {"status": "delivered"},
    ],
)
def test_a_range_that_is_none_is_refused(change: dict[str, str], admin: Desk) -> None:
    data = times(NOON, NOON + HOUR) | change
    assert admin.post("dashboard_retry_deliveries", data).status_code == 422
    assert not AuditEntry.objects.exists()
