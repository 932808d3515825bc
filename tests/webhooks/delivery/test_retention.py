"""How long attempts are kept."""

from datetime import timedelta

import pytest

from accounts.models import Merchant
from tests.factories import NOON
from tests.webhooks.factories import make_deliveries, make_endpoint
from webhooks.delivery.retention import prune_attempts
from webhooks.models import Attempt, Delivery

pytestmark = pytest.mark.django_db


def test_attempts_are_kept_for_thirty_days(merchant: Merchant) -> None:
    (delivery,) = make_deliveries(make_endpoint(merchant))
    now = NOON + timedelta(days=40)
    for days in (31, 30, 29, 0):
        Attempt.objects.create(
            delivery=delivery,
            started_at=now - timedelta(days=days, seconds=1),
            duration_ms=5,
        )
    assert prune_attempts(now=now) == 2
    assert Attempt.objects.count() == 2
    assert Delivery.objects.exists()
