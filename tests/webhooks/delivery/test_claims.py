"""Claims: each endpoint served by one sender at a time, endpoints in turn, waiting rows at no cost."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from gateway.core.secrets import unseal
from tests.factories import NOON, make_merchant
from tests.webhooks.factories import make_deliveries, make_endpoint
from webhooks.delivery import claims
from webhooks.delivery.claims import (
    ENDPOINT_ROOM,
    Claimed,
    Demand,
    Room,
    claim_batch,
    due_deliveries,
    promote_due,
    release,
    renew,
    take_endpoints,
)
from webhooks.endpoints.secrets import ensure_secret
from webhooks.endpoints.service import disable_endpoint, enable_endpoint
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db

LEASE = timedelta(seconds=15)
LATER = NOON + LEASE + timedelta(seconds=1)
THREADS = 4


def endpoints_with_work(count: int, *, each: int = 1) -> list[Endpoint]:
    merchant = make_merchant()
    endpoints = [make_endpoint(merchant, f"https://shop.example/{number}", is_default=False) for number in range(count)]
    for endpoint in endpoints:
        make_deliveries(endpoint, each)
    return endpoints


def take(sender: str = "one", *, now: datetime = NOON, **options: Any) -> list[int]:
    return sorted(take_endpoints(sender, now=now, lease=LEASE, **options))


def read(endpoint: Endpoint, count: int = 100, *, idle: bool = True) -> list[Claimed]:
    rooms = {endpoint.pk: Room(count, idle=idle)}
    return due_deliveries("one", rooms, held=[], now=NOON)


def test_an_endpoint_with_due_deliveries_is_taken_by_one_sender() -> None:
    (endpoint,) = endpoints_with_work(1, each=3)
    assert take("one") == [endpoint.pk]
    assert take("two") == []


def test_an_endpoint_with_nothing_due_is_not_taken() -> None:
    (endpoint,) = endpoints_with_work(1)
    Delivery.objects.update(is_due=False, next_attempt_at=NOON + timedelta(hours=1))
    make_endpoint(endpoint.merchant, "https://shop.example/idle")
    assert take() == []


def test_after_its_lease_an_endpoint_may_be_taken_by_another() -> None:
    (endpoint,) = endpoints_with_work(1)
    take("one")
    assert take("two", now=NOON + LEASE - timedelta(milliseconds=1)) == []
    assert take("two", now=LATER) == [endpoint.pk]
    assert renew("one", [endpoint.pk], now=LATER, lease=LEASE) == {}


def test_a_renewed_lease_lasts_longer() -> None:
    (endpoint,) = endpoints_with_work(1)
    take("one")
    halfway = NOON + LEASE / 2
    assert renew("one", [endpoint.pk], now=halfway, lease=LEASE) == {endpoint.pk: False}
    assert take("two", now=LATER) == []


def test_a_sender_keeps_an_endpoint_that_is_disabled_and_learns_of_it() -> None:
    (endpoint,) = endpoints_with_work(1)
    take("one")
    disable_endpoint(endpoint, reason="test", now=NOON)
    assert renew("one", [endpoint.pk], now=NOON, lease=LEASE) == {endpoint.pk: True}
    assert read(endpoint) == []
    enable_endpoint(endpoint, now=NOON)
    assert take("two") == []
    assert len(read(endpoint)) == 1


def test_a_released_endpoint_is_free_and_nobody_releases_anothers() -> None:
    (endpoint,) = endpoints_with_work(1)
    take("one")
    release("two", [endpoint.pk])
    assert take("two") == []
    release("one", [endpoint.pk])
    assert take("two") == [endpoint.pk]


def waits_for_commits() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")
        return str(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("step", ["take", "renew", "release"])
def test_a_lease_waits_for_no_disk_and_what_comes_after_it_does(step: str) -> None:
    (endpoint,) = endpoints_with_work(1)
    steps: dict[str, Callable[[], Any]] = {
        "take": take,
        "renew": lambda: renew("one", [endpoint.pk], now=NOON, lease=LEASE),
        "release": lambda: release("one", [endpoint.pk]),
    }
    if step != "take":
        take()
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = 'on'")
    try:
        with transaction.atomic():
            steps[step]()
            assert waits_for_commits() == "off"
        assert waits_for_commits() == "on"
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET synchronous_commit")


def test_endpoints_are_taken_in_turn_however_long_a_backlog_is() -> None:
    endpoints = endpoints_with_work(4, each=5)
    keys = [endpoint.pk for endpoint in endpoints]
    assert take(limit=2) == keys[:2]
    assert take(limit=2, after=keys[1]) == keys[2:]
    release("one", keys)
    assert take(limit=2, after=keys[0]) == keys[1:3]


def test_a_merchant_that_has_its_share_is_passed_over() -> None:
    (greedy,) = endpoints_with_work(1)
    (modest,) = endpoints_with_work(1)
    assert take(passed_over=[greedy.merchant_id]) == [modest.pk]


def test_an_endpoint_on_probation_is_taken_when_its_probe_is_due() -> None:
    (endpoint,) = endpoints_with_work(1)
    Endpoint.objects.update(consecutive_failures=5, next_probe_at=LATER)
    assert take() == []
    assert take(now=LATER) == [endpoint.pk]


def test_a_disabled_endpoint_is_not_taken() -> None:
    endpoints_with_work(1)
    Endpoint.objects.update(disabled_at=NOON)
    assert take() == []


def test_deliveries_are_read_oldest_first_without_those_in_hand() -> None:
    (endpoint,) = endpoints_with_work(1, each=5)
    take()
    keys = list(Delivery.objects.order_by("pk").values_list("pk", flat=True))
    rooms = {endpoint.pk: Room(2, idle=True)}
    first = due_deliveries("one", rooms, held=[], now=NOON)
    assert [claimed.delivery for claimed in first] == keys[:2]
    more = due_deliveries("one", rooms, held=keys[:2], now=NOON)
    assert [claimed.delivery for claimed in more] == keys[2:4]
    assert first[0].body == bytes(Delivery.objects.earliest("pk").event.body)


def test_nothing_is_read_for_an_endpoint_that_another_serves() -> None:
    (endpoint,) = endpoints_with_work(1)
    take("two")
    assert read(endpoint) == []


def test_nothing_is_read_under_a_lease_that_ended() -> None:
    (endpoint,) = endpoints_with_work(1)
    take("one")
    Endpoint.objects.update(served_until=NOON)
    assert read(endpoint) == []


def test_on_probation_the_oldest_alone_is_read_and_only_when_nothing_is_under_way() -> None:
    (endpoint,) = endpoints_with_work(1, each=5)
    take()
    Endpoint.objects.update(consecutive_failures=5, next_probe_at=NOON)
    (probe,) = read(endpoint)
    assert probe.delivery == Delivery.objects.earliest("pk").pk
    assert read(endpoint, idle=False) == []
    Endpoint.objects.update(next_probe_at=LATER)
    assert read(endpoint) == []


def test_a_failing_endpoint_whose_deliveries_all_ended_gets_single_probes_again() -> None:
    (endpoint,) = endpoints_with_work(1, each=5)
    take()
    Endpoint.objects.update(consecutive_failures=7, next_probe_at=None)
    assert len(read(endpoint)) == 1


def test_what_waits_becomes_due_when_its_time_has_come() -> None:
    endpoints_with_work(1, each=2)
    early, late = Delivery.objects.order_by("pk")
    Delivery.objects.update(is_due=False)
    Delivery.objects.filter(pk=late.pk).update(next_attempt_at=LATER)
    assert promote_due(now=NOON) == 1
    assert Delivery.objects.get(is_due=True) == early
    assert promote_due(now=NOON) == 0
    assert promote_due(now=LATER) == 1


def at_once(work: Callable[[int], list[int]]) -> list[list[int]]:
    """Run `work` in some threads that start together."""
    start = threading.Barrier(THREADS)

    def run(number: int) -> list[int]:
        try:
            start.wait()
            return work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def _take_everything(number: int) -> list[int]:
    mine: list[int] = []
    for _ in range(30):
        mine += take(f"sender-{number}", limit=4)
    return mine


@pytest.mark.concurrency
@pytest.mark.django_db(transaction=True)
def test_threads_that_claim_at_once_never_share_an_endpoint() -> None:
    endpoints = endpoints_with_work(100)
    taken = [key for mine in at_once(_take_everything) for key in mine]
    assert len(taken) == len(set(taken))
    assert set(taken) == {endpoint.pk for endpoint in endpoints}


@pytest.mark.concurrency
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "without",
    [
        pytest.param("FOR NO KEY UPDATE SKIP LOCKED", id="no row lock"),
        pytest.param("AND (one.served_until IS NULL OR one.served_until <= %(now)s::timestamptz)", id="no lease"),
    ],
)
def test_without_the_lock_or_the_lease_endpoints_are_shared(monkeypatch: pytest.MonkeyPatch, without: str) -> None:
    """The negative control: both are what the test above depends on."""
    assert without in claims._TAKE
    # Rivals that choose before either has written are what a busy day brings; a pause in between makes them certain.
    slow = claims._TAKE.replace("FROM free", "FROM free, pg_sleep(0.02)")
    monkeypatch.setattr(claims, "_TAKE", slow.replace(without, ""))
    endpoints_with_work(100)
    taken = [key for mine in at_once(_take_everything) for key in mine]
    assert len(taken) > len(set(taken))


def test_without_the_key_to_its_secret_a_delivery_waits_and_others_go_on(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "_unsealed", unseal)
    merchants = [make_merchant(), make_merchant()]
    key = settings.ENCRYPTION_KEYS
    ensure_secret(merchants[0], now=NOON)
    for merchant in merchants:
        make_deliveries(make_endpoint(merchant))
    settings.ENCRYPTION_KEYS = ["MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="]
    demand = Demand(
        sender="one", lease=LEASE, rooms={}, held=[], renewed=[], released=[], limit=10, after=0, passed_over=[]
    )
    batch = claim_batch(demand, now=NOON)
    assert [work.claimed.merchant for work in batch.work] == [merchants[1].pk]
    settings.ENCRYPTION_KEYS = [*settings.ENCRYPTION_KEYS, *key]
    again = Demand(
        **{
            **{name: getattr(demand, name) for name in Demand.__slots__},
            "rooms": {key: Room(ENDPOINT_ROOM, idle=True) for key in batch.taken},
            "held": [work.claimed.delivery for work in batch.work],
        }
    )
    more = claim_batch(again, now=NOON)
    assert [work.claimed.merchant for work in more.work] == [merchants[0].pk]
    assert Delivery.objects.filter(tries=0).count() == 2
