"""How long attempts are kept."""

from datetime import datetime, timedelta

import pytest
from django.db import connection

from accounts.models import Merchant
from tests.webhooks.factories import make_deliveries, make_endpoint
from webhooks.delivery.partitions import make_partitions, partitions
from webhooks.delivery.retention import prune_attempts
from webhooks.models import Attempt, Delivery

pytestmark = pytest.mark.django_db


def attempt(delivery: Delivery, at: datetime) -> Attempt:
    return Attempt.objects.create(delivery=delivery, started_at=at, duration_ms=5)


def test_a_month_is_dropped_once_all_of_it_is_thirty_days_old(merchant: Merchant) -> None:
    (delivery,) = make_deliveries(make_endpoint(merchant))
    first = partitions()[0].until
    make_partitions(now=first)
    attempt(delivery, first - timedelta(days=40))
    attempt(delivery, first - timedelta(seconds=1))
    newer = attempt(delivery, first)
    # As if they were committed: a table with checks to come is not dropped.
    connection.check_constraints()
    # The last of the month is not thirty days old yet.
    assert prune_attempts(now=first + timedelta(days=29)) == 0
    assert Attempt.objects.count() == 3
    assert prune_attempts(now=first + timedelta(days=30)) == 1
    assert list(Attempt.objects.all()) == [newer]
    assert Delivery.objects.exists()
