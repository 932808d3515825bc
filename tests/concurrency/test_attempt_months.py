"""Months of attempts are made and dropped while senders write."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import IntegrityError, OperationalError, connection

from tests.concurrency.races import SECONDS, crew, holding, wait_for_waiters
from tests.factories import make_merchant
from tests.webhooks.factories import make_attempt, make_deliveries, make_endpoint
from webhooks.delivery import partitions as months
from webhooks.models import Attempt

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

WRITE = (
    "INSERT INTO webhooks_attempt (delivery_id, started_at, duration_ms, error, request_headers, response_headers, response_body)"
    " VALUES (%s, %s, 5, '', '{}', '{}', '')"
)
TRY = "UPDATE webhooks_delivery SET tries = tries + 1 WHERE id = %s"
TABLES = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'webhooks_attempt_%'"


def tables() -> set[str]:
    """The tables of attempts, in use or not."""
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        return {name for (name,) in cursor}


@pytest.fixture(autouse=True)
def _made_for_this_test() -> Iterator[None]:
    """Months are committed, and no later test is to find them."""
    before = tables()
    yield
    with connection.cursor() as cursor:
        for name in tables() - before:
            cursor.execute(f"DROP TABLE {name}")


def attempts_in_the_rest() -> int:
    """How many attempts are in no month."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM webhooks_attempt_rest")
        return int(cursor.fetchone()[0])


def made_while_an_attempt_is_written() -> int:
    """Make the months while a sender has written one attempt more and not committed; return how many were made."""
    begins = months.partitions()[-1].until
    (delivery,) = make_deliveries(make_endpoint(make_merchant()))
    make_attempt(delivery, started_at=begins)
    with crew() as threads:
        with holding(WRITE, delivery.pk, begins + timedelta(days=1)):
            making = threads.start(lambda: months.make_partitions(now=begins))
            wait_for_waiters(1)
        return making.result(SECONDS)


def test_an_attempt_that_is_written_meanwhile_is_in_its_month(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(months, "_LOCK_SECONDS", SECONDS)
    assert made_while_an_attempt_is_written() == months.MONTHS_AHEAD
    assert (Attempt.objects.count(), attempts_in_the_rest()) == (2, 0)


def test_without_the_look_under_the_lock_the_month_would_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(months, "_LOCK_SECONDS", SECONDS)
    change = months._change
    # The same statement twice: what is moved under the lock.
    monkeypatch.setattr(months, "_change", lambda *all_: change(*dict.fromkeys(all_)))
    with pytest.raises(IntegrityError, match="default partition"):
        made_while_an_attempt_is_written()
    assert (Attempt.objects.count(), attempts_in_the_rest()) == (2, 2)


def test_a_month_that_met_a_lock_is_made_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sender that hangs in its transaction is not waited for, and nothing of a month is left half moved."""
    monkeypatch.setattr(months, "_LOCK_SECONDS", 0.1)
    begins = months.partitions()[-1].until
    (delivery,) = make_deliveries(make_endpoint(make_merchant()))
    with holding(WRITE, delivery.pk, begins), pytest.raises(OperationalError, match="lock timeout"):
        months.make_partitions(now=begins)
    assert months.partitions()[-1].until == begins
    assert attempts_in_the_rest() == 1
    monkeypatch.undo()
    assert months.make_partitions(now=begins) == months.MONTHS_AHEAD
    assert attempts_in_the_rest() == 0


def dropped_while_a_sender_records() -> None:
    """Drop a month while a sender has changed a delivery, and writes its attempt afterwards."""
    begins = months.partitions()[-1].until
    months.make_partitions(now=begins)
    (delivery,) = make_deliveries(make_endpoint(make_merchant()))
    with crew() as threads:
        with holding(TRY, delivery.pk) as sender:
            dropping = threads.start(lambda: months.drop(months.partitions()[-1]))
            wait_for_waiters(1)
            sender.execute(WRITE, [delivery.pk, begins])
        dropping.result(SECONDS)


def test_a_month_is_dropped_after_a_sender_that_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(months, "_LOCK_SECONDS", SECONDS)
    dropped_while_a_sender_records()
    assert Attempt.objects.count() == 1


def test_without_the_lock_on_deliveries_each_would_wait_for_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(months, "_LOCK_SECONDS", SECONDS)
    change = months._change

    def without_the_lock(*statements: str) -> None:
        change(*(one for one in statements if "ACCESS EXCLUSIVE" not in one))

    monkeypatch.setattr(months, "_change", without_the_lock)
    with pytest.raises(OperationalError, match="deadlock"):
        dropped_while_a_sender_records()
