"""Months of attempts: there is always one to write to."""

from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from accounts.models import Merchant
from tests.webhooks.factories import make_deliveries, make_endpoint
from webhooks.delivery.partitions import MONTHS_AHEAD, drop_partitions, make_partitions, partitions, prune_attempts
from webhooks.models import Attempt, Delivery

pytestmark = pytest.mark.django_db


@pytest.fixture
def delivery(merchant: Merchant) -> Delivery:
    (made,) = make_deliveries(make_endpoint(merchant))
    return made


def attempt(delivery: Delivery, at: datetime) -> Attempt:
    return Attempt.objects.create(delivery=delivery, started_at=at, duration_ms=5)


def table_of(made: Attempt) -> str:
    """The table that PostgreSQL keeps an attempt in."""
    return asked("SELECT tableoid::regclass::text FROM webhooks_attempt WHERE id = %s", made.pk)[0]


def rules_of(table: str) -> list[str]:
    """The checks and foreign keys of a table."""
    return sorted(
        asked(
            "SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE contype IN ('c', 'f') AND conrelid = %s::regclass",
            table,
        )
    )


def indexes_of(table: str) -> int:
    """How many indexes of all attempts a table has a part of."""
    return len(
        asked(
            "SELECT i.inhparent::regclass::text FROM pg_index x JOIN pg_inherits i ON i.inhrelid = x.indexrelid"
            " WHERE x.indrelid = %s::regclass",
            table,
        )
    )


def asked(statement: str, *parameters: int | str) -> list[str]:
    """The first column of what the database answers."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [row[0] for row in cursor]


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


def test_an_attempt_that_no_month_has_room_for_is_written(delivery: Delivery) -> None:
    """Nobody made them for long, or a clock is wrong."""
    late = attempt(delivery, partitions()[-1].until)
    assert table_of(late) == "webhooks_attempt_rest"
    assert list(delivery.attempts.all()) == [late]


def test_without_the_rest_an_attempt_after_all_months_would_be_refused(delivery: Delivery) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE webhooks_attempt_rest")
    with pytest.raises(IntegrityError, match="no partition"), transaction.atomic():
        attempt(delivery, partitions()[-1].until)


def test_attempts_in_the_rest_move_to_their_months_once_those_are_made(delivery: Delivery) -> None:
    begins = partitions()[-1].until
    days = [0, 1, 40, 900]
    made = [attempt(delivery, begins + timedelta(days=one)) for one in days]
    assert {table_of(one) for one in made} == {"webhooks_attempt_rest"}
    make_partitions(now=begins + timedelta(days=40))
    months = [one for one in partitions() if one.until > begins]
    first, second = months[0].name, months[1].name
    assert [table_of(one) for one in made] == [first, first, second, "webhooks_attempt_rest"]
    assert list(delivery.attempts.order_by("pk")) == made


def test_a_month_that_is_made_is_like_the_others() -> None:
    """Nothing is left of how it was made, and its index and foreign key are those of all attempts."""
    make_partitions(now=partitions()[-1].until)
    last = partitions()[-1].name
    assert rules_of(last) == rules_of("webhooks_attempt_rest") != []
    assert indexes_of(last) == indexes_of("webhooks_attempt_rest") == 1


def test_the_first_month_refuses_no_attempt_that_is_directed_to_it() -> None:
    """The bound by which it became a partition is an earlier one if a month ended before it did."""
    checks = [one for one in rules_of("webhooks_attempt_first") if " CHECK " in one]
    others = [one for one in rules_of("webhooks_attempt_rest") if " CHECK " in one]
    assert checks == others != []


def test_old_attempts_in_the_rest_are_deleted_and_it_stays(delivery: Delivery) -> None:
    make_partitions(now=timezone.now())
    last = partitions()[-1]
    attempt(delivery, last.until)
    newer = attempt(delivery, last.until + timedelta(seconds=1))
    # As if it were committed: a table with checks to come is not dropped.
    connection.check_constraints()
    drop_partitions(before=last.until + timedelta(seconds=1))
    assert list(delivery.attempts.all()) == [newer]
    assert table_of(newer) == "webhooks_attempt_rest"


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
    for at in newest, newest + timedelta(days=1):
        with pytest.raises(IntegrityError), transaction.atomic():
            attempt_of_nothing(at)
    delivery.delete()
    assert not Attempt.objects.exists()


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


def test_months_to_come_are_made_where_old_ones_are_dropped() -> None:
    last = partitions()[-1].until
    prune_attempts(now=last)
    assert partitions()[-1].until > last
