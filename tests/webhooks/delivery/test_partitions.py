"""Months of attempts: there is always one to write to."""

from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from accounts.models import Merchant
from tests.webhooks.factories import make_deliveries, make_endpoint
from webhooks.delivery.partitions import (
    MONTHS_AHEAD,
    drop_partitions,
    make_partitions,
    partitions,
)
from webhooks.models import Attempt, Delivery

pytestmark = pytest.mark.django_db


@pytest.fixture
def delivery(merchant: Merchant) -> Delivery:
    (made,) = make_deliveries(make_endpoint(merchant))
    return made


def attempt(delivery: Delivery, at: datetime) -> Attempt:
    return Attempt.objects.create(delivery=delivery, started_at=at, duration_ms=5)


def attempt_of_nothing(at: datetime) -> None:
    Attempt.objects.create(delivery_id=0, started_at=at, duration_ms=5)
    connection.check_constraints()


def test_the_months_to_come_are_made_once() -> None:
    now = timezone.now()
    make_partitions(now=now)
    assert make_partitions(now=now) == 0
    months = partitions()
    assert months[-1].until > now + timedelta(days=28 * (MONTHS_AHEAD - 1))
    for one, next_one in pairwise(months):
        assert timedelta(days=28) <= next_one.until - one.until <= timedelta(days=31)
        assert next_one.name == f"webhooks_attempt_{one.until:%Y_%m}"


def test_attempts_of_all_months_are_one_table(delivery: Delivery) -> None:
    now = timezone.now()
    make_partitions(now=now)
    times = [now - timedelta(days=900), now, partitions()[-1].until - timedelta(1)]
    made = [attempt(delivery, at) for at in times]
    assert list(delivery.attempts.order_by("pk")) == made
    assert len({one.pk for one in made}) == 3


def test_an_attempt_after_all_months_is_refused(delivery: Delivery) -> None:
    """What would happen if nobody made them."""
    with pytest.raises(IntegrityError, match="no partition"), transaction.atomic():
        attempt(delivery, partitions()[-1].until)


def test_the_last_month_is_never_dropped() -> None:
    make_partitions(now=timezone.now())
    last = partitions()[-1]
    drop_partitions(before=last.until + timedelta(days=1))
    assert partitions() == [last]


def test_no_attempt_is_without_its_delivery(delivery: Delivery) -> None:
    make_partitions(now=timezone.now())
    newest = partitions()[-1].until - timedelta(days=1)
    attempt(delivery, newest)
    connection.check_constraints()
    with pytest.raises(IntegrityError), transaction.atomic():
        attempt_of_nothing(newest)
    delivery.delete()
    assert not Attempt.objects.exists()
