"""What is written down when senders and people overtake each other."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.factories import NOON, make_merchant
from tests.webhooks.factories import make_deliveries, make_endpoint
from webhooks.delivery.attempts import AttemptOutcome, record
from webhooks.delivery.claims import Claimed, Room, due_deliveries, take_endpoints
from webhooks.delivery.retries import retry
from webhooks.endpoints.service import disable_endpoint
from webhooks.health import UNTOLD, AttemptResult
from webhooks.models import Attempt, Delivery, Endpoint

pytestmark = pytest.mark.django_db

LEASE = timedelta(seconds=15)


def claim(count: int = 1, **health: Any) -> list[Claimed]:
    """Deliveries of one endpoint, claimed."""
    endpoint = make_endpoint(make_merchant(), **health)
    make_deliveries(endpoint, count)
    take_endpoints("one", now=NOON, lease=LEASE)
    rooms = {endpoint.pk: Room(count, idle=True)}
    return due_deliveries("one", rooms, held=[], now=NOON)


def outcome(claimed: Claimed, status: int, *, after: timedelta = LEASE) -> AttemptOutcome:
    return AttemptOutcome(claimed, AttemptResult(status), NOON, after, {}, {})


def test_a_failure_that_another_sender_recorded_first_counts_once() -> None:
    (claimed,) = claim()
    record([outcome(claimed, 500)])
    record([outcome(claimed, 500)])
    assert Delivery.objects.get().tries == 1
    assert Attempt.objects.count() == 2


def test_a_success_stands_whatever_failed_after_it() -> None:
    (claimed,) = claim()
    record([outcome(claimed, 200)])
    record([outcome(claimed, 500)])
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.tries) == ("delivered", 1)


def test_a_success_that_comes_late_ends_a_failed_delivery_well() -> None:
    (claimed,) = claim()
    Delivery.objects.update(status="failed", tries=12)
    record([outcome(claimed, 200)])
    assert Delivery.objects.get().status == "delivered"


def test_a_persons_retry_is_not_undone_by_the_try_that_was_under_way() -> None:
    (claimed,) = claim()
    record([outcome(claimed, 500)])
    take_endpoints("one", now=NOON + LEASE, lease=LEASE)
    (delivery,) = Delivery.objects.all()
    retry(delivery, now=NOON + LEASE)
    under_way = Claimed(**{**_fields(claimed), "tries": 1})
    record([outcome(under_way, 500)])
    delivery.refresh_from_db()
    assert (delivery.tries, delivery.is_due) == (0, True)


def _fields(claimed: Claimed) -> dict[str, Any]:
    return {name: getattr(claimed, name) for name in Claimed.__slots__}


def test_a_try_that_ends_after_its_endpoint_was_disabled_stays_held() -> None:
    (claimed,) = claim()
    disable_endpoint(Endpoint.objects.get(), reason="test", now=NOON)
    record([outcome(claimed, 500)])
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.tries) == ("held", 1)
    assert Endpoint.objects.get().consecutive_failures == 0


def test_an_event_that_a_format_has_no_words_for_ends_without_an_attempt() -> None:
    (claimed,) = claim(consecutive_failures=2, failing_since=NOON)
    record([AttemptOutcome(claimed, AttemptResult(None, error=UNTOLD), NOON, LEASE, {}, {})])
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.tries, delivery.is_due) == ("cancelled", 0, False)
    assert delivery.finished_at == NOON + LEASE
    assert not Attempt.objects.exists()
    # It says nothing about the endpoint, good or bad.
    assert Endpoint.objects.get().consecutive_failures == 2


def test_what_arrived_stays_delivered_whatever_has_no_words_for_it_later() -> None:
    (claimed,) = claim()
    record([outcome(claimed, 200)])
    record([AttemptOutcome(claimed, AttemptResult(None, error=UNTOLD), NOON, LEASE, {}, {})])
    assert Delivery.objects.get().status == "delivered"


def test_health_counts_tries_in_the_order_they_ended() -> None:
    first, second, third = claim(3)
    record(
        [
            outcome(third, 500, after=timedelta(seconds=3)),
            outcome(first, 500, after=timedelta(seconds=1)),
            outcome(second, 200, after=timedelta(seconds=2)),
        ]
    )
    endpoint = Endpoint.objects.get()
    assert endpoint.consecutive_failures == 1
    assert endpoint.failing_since == NOON + timedelta(seconds=3)


def test_a_success_of_a_healthy_endpoint_touches_no_endpoint(django_assert_num_queries: Any) -> None:
    claimed = claim(20)
    # Savepoint, deliveries, attempts, release: nothing per delivery, nothing per endpoint.
    with django_assert_num_queries(4):
        record([outcome(one, 200) for one in claimed])
    assert Delivery.objects.filter(status="delivered").count() == 20


def test_a_recovery_is_recorded_and_owners_may_be_told_again_next_time() -> None:
    (claimed,) = claim(consecutive_failures=3, failing_since=NOON, owner_told_at=NOON)
    record([outcome(claimed, 204)], troubled=[claimed.endpoint])
    endpoint = Endpoint.objects.get()
    assert (endpoint.consecutive_failures, endpoint.failing_since) == (0, None)
    assert endpoint.owner_told_at is None


def plan_of_recording() -> tuple[str, str]:
    """How a backlog's results are recorded where the statistics know only delivered ones; and by the bare column."""
    claim(2_000)
    Delivery.objects.update(status="delivered", is_due=False)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE webhooks_delivery")
    results = [outcome(claimed, 200) for claimed in claim(500)]
    with CaptureQueriesContext(connection) as queries:
        record(results)
    (told,) = [one["sql"] for one in queries if "UPDATE webhooks_delivery" in one["sql"]]
    plans = []
    with connection.cursor() as cursor:
        for statement in (told, told.replace("delivery.status || ''", "delivery.status")):
            cursor.execute(f"EXPLAIN {statement.replace('%', '%%')}")
            plans.append("\n".join(line for (line,) in cursor.fetchall()))
    ours, bare = plans
    return ours, bare


def test_results_are_recorded_by_their_ids_whatever_the_statistics_say() -> None:
    ours, bare = plan_of_recording()
    assert "Join Filter" not in ours
    # The negative control: each row would be compared with each result.
    assert "Join Filter" in bare
