"""Events are written in the caller's transaction, numbered without gaps, and never twice."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.models import Merchant
from accounts.states import Mode
from tests.bells import ear, elsewhere
from tests.factories import NOON, make_merchant
from tests.waiting import wait_until
from tests.webhooks.factories import BELL, make_endpoint, new_event
from webhooks.endpoints.service import disable_endpoint, enable_endpoint
from webhooks.models import Delivery, Endpoint, Event, EventCounter
from webhooks.outbox import events
from webhooks.outbox.events import publish

THREADS = 20
ROUNDS = 5


@pytest.mark.django_db
def test_the_body_is_the_contracts_envelope_and_data_is_untouched(settings: Any) -> None:
    settings.SERVICE_VERSION = "0.25.0"
    merchant = make_merchant()
    (event,) = publish([new_event(merchant, subject_id="chk_live_1")], now=NOON)
    assert Event.objects.get().body == (
        b'{"id":"' + event.public_id.encode() + b'","type":"checkout.completed",'
        b'"created_at":"2026-11-20T12:00:00.000000Z","api_version":"0.25.0","livemode":true,'
        b'"checkout_id":"chk_live_1","sequence":1,"data":{"metadata":{"z":1.10,"a":"\xc3\xa9"}}}'
    )


@pytest.mark.django_db
def test_a_test_event_is_not_livemode_and_counts_by_itself() -> None:
    merchant = make_merchant()
    batch = [new_event(merchant), new_event(merchant, mode=Mode.TEST)]
    live, test = publish(batch, now=NOON)
    assert (live.sequence, test.sequence) == (1, 1)
    assert b'"livemode":false' in test.body


@pytest.mark.django_db
def test_an_occurrence_is_told_once_and_a_repeat_takes_no_number() -> None:
    merchant = make_merchant()
    first, second = new_event(merchant), new_event(merchant)
    publish([first], now=NOON)
    rows = publish([first, second, second], now=NOON)
    assert [row.sequence for row in rows] == [2]
    assert EventCounter.objects.get().value == 2
    assert sorted(Event.objects.values_list("sequence", flat=True)) == [1, 2]


@pytest.mark.django_db
def test_two_merchants_may_not_claim_the_same_occurrence() -> None:
    first = new_event(make_merchant())
    publish([first], now=NOON)
    rival = new_event(make_merchant(), occurrence=first.occurrence)
    assert publish([rival], now=NOON) == []
    with pytest.raises(IntegrityError), transaction.atomic():
        Event.objects.create(
            merchant_id=rival.merchant_id,
            mode="live",
            type="x",
            occurrence=first.occurrence,
            sequence=9,
            body=b"",
            created_at=NOON,
        )


@pytest.mark.django_db
def test_an_event_goes_to_its_url_else_to_the_default_endpoint_else_nowhere() -> None:
    merchant = make_merchant()
    publish([new_event(merchant)], now=NOON)
    assert not Delivery.objects.exists()
    make_endpoint(merchant, "https://shop.example/default")
    make_endpoint(merchant, "https://shop.example/test", mode=Mode.TEST)
    own = "https://shop.example/own"
    publish([new_event(merchant), new_event(merchant, url=own)], now=NOON)
    publish([new_event(merchant, url=own)], now=NOON)
    told = Delivery.objects.order_by("pk").values_list("endpoint__url", flat=True)
    assert list(told) == ["https://shop.example/default", own, own]


@pytest.mark.django_db
def test_what_happens_while_an_endpoint_is_disabled_is_held_until_it_is_enabled() -> None:
    merchant = make_merchant()
    endpoint = make_endpoint(merchant)
    disable_endpoint(endpoint, reason="test", now=NOON)
    batch = [new_event(merchant), new_event(merchant, url=endpoint.url)]
    assert len(publish(batch, now=NOON)) == 2
    statuses = Delivery.objects.values_list("status", flat=True)
    assert list(statuses) == ["held", "held"]
    enable_endpoint(endpoint, now=NOON)
    assert list(statuses.all()) == ["pending", "pending"]


@pytest.mark.django_db
def test_no_address_is_too_long_to_be_told() -> None:
    merchant, random = make_merchant(), Random(1)
    tail = "".join(chr(random.randrange(0x4E00, 0x9FA5)) for _ in range(2_000))
    url = f"https://shop.example/{tail}"
    for _ in range(2):
        publish([new_event(merchant, url=url)], now=NOON)
    assert Delivery.objects.filter(endpoint__url=url).count() == 2
    assert Endpoint.objects.count() == 1


@pytest.mark.django_db
def test_another_merchants_endpoint_of_the_same_url_is_not_used() -> None:
    stranger = make_endpoint(make_merchant(), "https://shared.example/")
    merchant = make_merchant()
    publish([new_event(merchant, url=stranger.url)], now=NOON)
    assert Delivery.objects.get().endpoint.merchant == merchant


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_rolls_back_leaves_no_event_and_burns_no_number() -> None:
    merchant = make_merchant()
    with transaction.atomic():
        publish([new_event(merchant)], now=NOON)
        transaction.set_rollback(True)
    assert not Event.objects.exists()
    assert publish([new_event(merchant)], now=NOON)[0].sequence == 1


@pytest.mark.django_db(transaction=True)
def test_the_bell_rings_after_the_commit_and_not_before() -> None:
    merchant = make_merchant()
    make_endpoint(merchant)
    with ear(BELL) as listening:
        with transaction.atomic():
            publish([new_event(merchant)], now=NOON)
            elsewhere(f"NOTIFY {BELL}, 'before the commit'")
            wait_until(lambda: listening.heard == ["before the commit"])
        wait_until(lambda: listening.heard == ["before the commit", ""])


def _publish_at_once(work: Callable[[int], None]) -> None:
    start = threading.Barrier(THREADS)

    def run(number: int) -> None:
        try:
            start.wait()
            work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, range(THREADS)))


@contextmanager
def _watched(seen: list[list[int]]) -> Iterator[None]:
    """Read the committed sequences again and again, as somebody who follows the list would."""
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.append(list(Event.objects.order_by("sequence").values_list("sequence", flat=True)))
        connection.close()

    watcher = threading.Thread(target=watch)
    watcher.start()
    yield
    done.set()
    watcher.join()


def _slow_publish(merchant: Merchant, number: int) -> None:
    # Even threads hold their transaction open, so that a later number would overtake if it could.
    for _ in range(ROUNDS):
        with transaction.atomic():
            publish([new_event(merchant)], now=NOON)
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(%s)", [0.004 * (number % 2)])


def _gaps(seen: list[list[int]]) -> list[list[int]]:
    return [numbers for numbers in seen if numbers != list(range(1, len(numbers) + 1))]


@pytest.mark.concurrency
@pytest.mark.django_db(transaction=True)
def test_numbers_are_gap_free_and_commit_in_order() -> None:
    merchant = make_merchant()
    seen: list[list[int]] = []
    with _watched(seen):
        _publish_at_once(lambda number: _slow_publish(merchant, number))
    numbers = Event.objects.order_by("sequence").values_list("sequence", flat=True)
    assert list(numbers) == list(range(1, THREADS * ROUNDS + 1))
    assert seen
    assert _gaps(seen) == []


@pytest.mark.concurrency
@pytest.mark.django_db(transaction=True)
def test_without_the_counters_lock_numbers_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: the lock is what the test above depends on."""
    merchant = make_merchant()
    publish([new_event(merchant)], now=NOON)
    unlocked = """
        SELECT merchant_id, mode, value FROM webhooks_eventcounter
        WHERE merchant_id = ANY(%(merchants)s::bigint[]) AND mode = ANY(%(modes)s::text[])
    """
    monkeypatch.setattr(events, "_LOCK_COUNTERS", unlocked)
    with pytest.raises(IntegrityError, match="event_sequence_once"):
        _publish_at_once(lambda number: _slow_publish(merchant, number))


@pytest.mark.concurrency
@pytest.mark.django_db(transaction=True)
def test_publishers_of_many_merchants_never_wait_in_a_circle() -> None:
    merchants = [make_merchant() for _ in range(4)]

    def work(number: int) -> None:
        for turn in range(ROUNDS):
            order = merchants if (number + turn) % 2 else merchants[::-1]
            with transaction.atomic():
                publish([new_event(merchant) for merchant in order], now=NOON)

    _publish_at_once(work)
    for merchant in merchants:
        numbers = Event.objects.filter(merchant=merchant).order_by("sequence")
        assert list(numbers.values_list("sequence", flat=True)) == list(range(1, THREADS * ROUNDS + 1))


@pytest.mark.concurrency
@pytest.mark.django_db(transaction=True)
def test_one_occurrence_told_by_twenty_threads_is_one_event() -> None:
    event = new_event(make_merchant())
    told: list[int] = []

    def work(_number: int) -> None:
        with transaction.atomic():
            told.append(len(publish([event], now=NOON)))

    _publish_at_once(work)
    assert sorted(told) == [0] * (THREADS - 1) + [1]
    assert EventCounter.objects.get().value == 1


@pytest.mark.django_db
def test_500_events_take_few_statements_and_keep_their_order(django_assert_max_num_queries: Any) -> None:
    merchants = [make_merchant() for _ in range(5)]
    for merchant in merchants:
        make_endpoint(merchant)
    batch = [new_event(merchants[n // 100]) for n in range(500)]
    with django_assert_max_num_queries(8):
        rows = publish(batch, now=NOON)
    assert [row.subject_id for row in rows] == [event.subject_id for event in batch]
    assert [row.sequence for row in rows] == [*range(1, 101)] * 5
    assert Delivery.objects.count() == 500
