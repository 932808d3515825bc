"""Test events: sent like real ones, and marked as none."""

import orjson
import pytest

from accounts.models import AuditEntry
from accounts.states import Mode
from checkouts.selectors import checkout_object, checkout_row
from gateway.core import json
from tests.checkouts.factories import make_completed
from tests.dashboard.people import Desk
from tests.factories import NOON
from tests.webhooks.factories import make_deliveries
from webhooks.endpoints.service import disable_endpoint
from webhooks.models import Delivery, Endpoint, Event
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db


def test_a_test_event_cannot_be_taken_for_a_real_one(admin: Desk, endpoint: Endpoint) -> None:
    answer = admin.post("dashboard_test_event", endpoint_id=endpoint.pk)
    delivery = Delivery.objects.get()
    assert delivery.public_id in answer["Location"]
    assert (delivery.status, delivery.endpoint) == (DeliveryStatus.PENDING, endpoint)
    body = orjson.loads(bytes(delivery.event.body))
    assert body["type"] == "checkout.completed"
    assert (body["livemode"], body["data"]["livemode"]) == (False, False)
    assert body["checkout_id"] == body["data"]["id"]
    assert body["checkout_id"].startswith("chk_test_")
    assert body["data"]["metadata"] == {"sample": True}
    page = admin.get("dashboard_delivery", delivery_id=delivery.public_id).text
    assert "This is a test event" in page
    assert AuditEntry.objects.get(action="webhook_sample.sent").actor == admin.user


def test_a_second_press_leads_to_the_first_test_event(admin: Desk, endpoint: Endpoint) -> None:
    make_deliveries(endpoint)
    addresses = {admin.post("dashboard_test_event", endpoint_id=endpoint.pk)["Location"] for _ in range(3)}
    assert len(addresses) == 1
    assert Event.objects.count() == 2


def test_no_test_event_goes_to_a_disabled_endpoint(admin: Desk, endpoint: Endpoint) -> None:
    disable_endpoint(endpoint, reason="off", now=NOON)
    answer = admin.post("dashboard_test_event", endpoint_id=endpoint.pk)
    assert answer["Location"] == admin.url("dashboard_webhooks")
    assert not Event.objects.exists()


def test_a_test_event_holds_what_a_completed_checkout_holds(admin: Desk, endpoint: Endpoint) -> None:
    done = make_completed(merchant=admin.merchant)
    row = checkout_row(admin.merchant.pk, Mode.LIVE, done.public_id)
    real = orjson.loads(json.dumps(checkout_object(row)))
    admin.post("dashboard_test_event", endpoint_id=endpoint.pk)
    sample = orjson.loads(bytes(Delivery.objects.get().event.body))["data"]
    assert list(sample) == list(real)
    for part in ("references", "payment"):
        assert list(sample[part]) == list(real[part])
