"""Deliveries that a person tries again."""

from datetime import timedelta

import pytest

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.errors import ConflictError
from tests.factories import NOON, make_merchant
from tests.webhooks.factories import make_deliveries, make_endpoint
from webhooks.delivery.retries import retry, retry_range
from webhooks.endpoints.service import disable_endpoint
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db


HOUR = timedelta(hours=1)


@pytest.mark.parametrize("status", ["failed", "delivered", "pending"])
def test_a_retry_starts_the_schedule_afresh(merchant: Merchant, status: str) -> None:
    (delivery,) = make_deliveries(make_endpoint(merchant))
    Delivery.objects.update(status=status, tries=12, is_due=False, next_attempt_at=NOON + 9 * HOUR)
    retry(delivery, now=NOON + HOUR)
    delivery.refresh_from_db()
    assert (delivery.status, delivery.tries, delivery.is_due) == ("pending", 0, True)
    assert delivery.next_attempt_at == NOON + HOUR


def test_a_retry_does_not_wait_for_probation(merchant: Merchant) -> None:
    endpoint = make_endpoint(merchant, consecutive_failures=9, next_probe_at=NOON + 9 * HOUR)
    (delivery,) = make_deliveries(endpoint)
    retry(delivery, now=NOON)
    endpoint.refresh_from_db()
    assert endpoint.next_probe_at == NOON


def test_a_retry_to_a_disabled_endpoint_is_a_conflict(merchant: Merchant) -> None:
    endpoint = make_endpoint(merchant)
    (delivery,) = make_deliveries(endpoint)
    disable_endpoint(endpoint, reason="test", now=NOON)
    delivery.endpoint.refresh_from_db()
    with pytest.raises(ConflictError):
        retry(delivery, now=NOON)
    delivery.refresh_from_db()
    assert delivery.status == "held"


def test_a_range_is_retried_within_its_bounds_and_its_merchant(merchant: Merchant) -> None:
    rows = make_deliveries(make_endpoint(merchant), 4)
    (foreign,) = make_deliveries(make_endpoint(make_merchant()))
    for number, row in enumerate(rows):
        row.created_at = NOON + number * HOUR
        row.save()
    Delivery.objects.update(status="failed", tries=12, is_due=False)
    Delivery.objects.filter(pk=rows[2].pk).update(status="delivered")
    count = retry_range(merchant, mode=Mode.LIVE, since=NOON + HOUR, until=NOON + 3 * HOUR, now=NOON)
    assert count == 1
    assert Delivery.objects.get(status="pending") == rows[1]
    foreign.refresh_from_db()
    assert foreign.status == "failed"
