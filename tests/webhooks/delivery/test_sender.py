"""Senders against real receivers and a real database."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
import standardwebhooks
import stripe
from django.db import transaction
from django.utils import timezone

from accounts.models import AuditEntry
from tests.factories import NOON, make_merchant
from tests.waiting import wait_until
from tests.webhooks.factories import make_deliveries, make_endpoint, new_event, secrets_of
from tests.webhooks.receiver import Receiver, Reply, dripping, receiving
from tests.webhooks.senders import sending
from webhooks.delivery import attempts, sender
from webhooks.delivery.claims import Batch, Demand, claim_batch
from webhooks.endpoints.service import UNSERVED, disable_endpoint, enable_endpoint
from webhooks.health import PROBATION_AFTER
from webhooks.listed.service import delete_endpoint
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.outbox.events import publish
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db(transaction=True)


def delivered() -> int:
    return Delivery.objects.filter(status=DeliveryStatus.DELIVERED).count()


def endpoint_for(receiver: Receiver, **overrides: Any) -> Endpoint:
    return make_endpoint(make_merchant(), receiver.url, **overrides)


def test_an_event_arrives_signed_and_is_written_down() -> None:
    with receiving() as receiver, sending():
        endpoint = endpoint_for(receiver)
        (event,) = publish([new_event(endpoint.merchant)], now=NOON)
        wait_until(lambda: delivered() == 1)
    (got,) = receiver.got
    (secret,) = secrets_of(endpoint.merchant, now=timezone.now())
    assert got.body == event.body
    standardwebhooks.Webhook(secret).verify(got.body, dict(got.headers))
    stripe.WebhookSignature.verify_header(got.body.decode(), got.headers["X-Service-Signature"], secret, tolerance=300)
    delivery = Delivery.objects.get()
    assert got.headers["X-Service-Event"] == "checkout.completed"
    assert got.headers["X-Service-Delivery"] == delivery.public_id
    assert got.headers["Content-Type"] == "application/json"
    assert (delivery.tries, delivery.is_due) == (1, False)
    attempt = Attempt.objects.get()
    assert (attempt.status_code, attempt.error) == (200, "")
    assert attempt.request_headers["webhook-id"] == event.public_id
    assert secret not in str(attempt.request_headers)


def test_a_failure_is_tried_again_by_the_schedule_with_the_same_bytes() -> None:
    statuses = iter([500, 200])
    with receiving() as receiver:
        receiver.reply = lambda _: Reply(next(statuses), body=b"broken")
        (delivery,) = make_deliveries(endpoint_for(receiver))
        with sending():
            wait_until(lambda: Attempt.objects.count() == 1)
            delivery.refresh_from_db()
            wait = delivery.next_attempt_at - timezone.now()
            assert timedelta(seconds=2) < wait <= timedelta(seconds=6)
            assert (delivery.status, delivery.tries) == ("pending", 1)
            Delivery.objects.update(next_attempt_at=timezone.now())
            wait_until(lambda: delivered() == 1)
    first, second = receiver.got
    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert list(Attempt.objects.order_by("pk").values_list("status_code", "response_body")) == [
        (500, "broken"),
        (200, ""),
    ]
    assert Endpoint.objects.get().consecutive_failures == 0


def test_a_longer_retry_after_is_honoured() -> None:
    with receiving() as receiver:
        receiver.reply = lambda _: Reply(429, {"Retry-After": "3600"})
        make_deliveries(endpoint_for(receiver))
        with sending():
            wait_until(lambda: Attempt.objects.exists())
    wait = Delivery.objects.get().next_attempt_at - timezone.now()
    assert timedelta(minutes=59) < wait <= timedelta(hours=1)


def test_the_twelfth_failure_is_the_last_and_is_visible() -> None:
    with receiving() as receiver:
        receiver.reply = lambda _: Reply(500)
        make_deliveries(endpoint_for(receiver))
        Delivery.objects.update(tries=11)
        with sending():
            wait_until(lambda: Attempt.objects.exists())
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.tries) == ("failed", 12)
    assert delivery.finished_at is not None


def test_a_410_disables_the_endpoint_at_once_and_holds_what_waits() -> None:
    with receiving() as receiver:
        receiver.reply = lambda _: Reply(410)
        endpoint = endpoint_for(receiver)
        make_deliveries(endpoint, 20)
        with sending():
            wait_until(lambda: Endpoint.objects.get().disabled_at is not None)
    assert len(receiver.got) <= 4
    assert set(Delivery.objects.values_list("status", flat=True)) == {"held"}
    entry = AuditEntry.objects.get(action="webhook_endpoint.disabled")
    assert entry.actor_label == "system"


def test_five_failures_in_a_row_put_the_endpoint_on_probation() -> None:
    with receiving() as receiver:
        receiver.reply = lambda _: Reply(500)
        first, *_ = make_deliveries(endpoint_for(receiver), 40)
        with sending() as (sender,):
            wait_until(lambda: Endpoint.objects.get().next_probe_at is not None)
            _let_a_probe_pass(first)
            wait_until(lambda: Counter(receiver.ids())[first.event.public_id] == 2)
            sender.stop()
    # One in the other lane may have been under way; no more than that follows by itself.
    sent = len(receiver.got) - 1
    assert sent <= 6
    assert Attempt.objects.count() == sent + 1
    untried = Delivery.objects.filter(tries=0)
    assert untried.count() == 40 - sent
    assert set(untried.values_list("status", flat=True)) == {"pending"}
    endpoint = Endpoint.objects.get()
    first.refresh_from_db()
    assert endpoint.next_probe_at == first.next_attempt_at
    assert first.tries == 2


def _let_a_probe_pass(delivery: Delivery) -> None:
    now = timezone.now()
    Delivery.objects.filter(pk=delivery.pk).update(next_attempt_at=now)
    Endpoint.objects.update(next_probe_at=now)


def test_a_probe_that_succeeds_ends_probation_and_frees_what_waited() -> None:
    with receiving() as receiver:
        receiver.reply = lambda _: Reply(500)
        make_deliveries(endpoint_for(receiver), 10)
        with sending():
            wait_until(lambda: Endpoint.objects.get().next_probe_at is not None)
            receiver.reply = lambda _: Reply(200)
            Delivery.objects.update(next_attempt_at=timezone.now())
            Endpoint.objects.update(next_probe_at=timezone.now())
            wait_until(lambda: delivered() == 10)
    endpoint = Endpoint.objects.get()
    assert (endpoint.consecutive_failures, endpoint.failing_since) == (0, None)
    assert endpoint.next_probe_at is None


def _disable(endpoint: Endpoint) -> None:
    disable_endpoint(endpoint, reason="test", now=timezone.now())


def _delete(endpoint: Endpoint) -> None:
    delete_endpoint(endpoint, now=timezone.now())


@pytest.mark.parametrize(("end", "rest"), [(_disable, "held"), (_delete, "cancelled")])
def test_what_was_read_for_an_endpoint_is_not_sent_once_it_is_disabled_or_deleted(
    end: Callable[[Endpoint], None], rest: str
) -> None:
    release = threading.Event()
    with receiving() as receiver:
        receiver.reply = lambda _: Reply(200, release=release)
        endpoint = endpoint_for(receiver, is_default=False, public_id="whe_1")
        make_deliveries(endpoint, 10)
        with sending(lease=timedelta(seconds=2)) as (running,):
            wait_until(lambda: receiver.in_flight == 2)
            end(endpoint)
            # The sender learns of it when it renews its leases.
            served = running._sender._roster.served
            wait_until(lambda: not any(one.queue for one in list(served.values())))
            release.set()
            wait_until(lambda: delivered() == 2)
    assert len(receiver.got) == 2
    assert Counter(Delivery.objects.values_list("status", flat=True)) == {"delivered": 2, rest: 8}


def _arrived_around_a_pause(senders: int, until: Callable[[Receiver], Callable[[], bool]]) -> Counter[str]:
    """How often each of five events arrived, of which two were in flight when their endpoint was disabled and enabled at once."""
    release = threading.Event()
    with receiving() as receiver:
        receiver.reply = lambda _: Reply(200, release=release)
        endpoint = endpoint_for(receiver)
        make_deliveries(endpoint, 5)
        with sending(senders):
            wait_until(lambda: receiver.in_flight == 2)
            _disable(endpoint)
            enable_endpoint(endpoint, now=timezone.now())
            wait_until(until(receiver))
            release.set()
            wait_until(lambda: delivered() == 5 and not receiver.in_flight)
    return Counter(receiver.ids())


@pytest.mark.parametrize("senders", [1, 2])
def test_an_event_is_sent_once_although_its_endpoint_is_disabled_and_enabled_meanwhile(senders: int) -> None:
    # Every sender polls at least once more while the two hang.
    arrived = _arrived_around_a_pause(senders, lambda _: _a_poll_has_passed(time.monotonic()))
    assert (len(arrived), max(arrived.values())) == (5, 1)


@pytest.mark.parametrize("senders", [1, 2])
def test_without_the_lease_of_a_disabled_endpoint_an_event_would_be_sent_twice(
    senders: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    disable = disable_endpoint

    def end_lease(endpoint: Endpoint, **given: Any) -> None:
        disable(endpoint, **given)
        Endpoint.objects.update(**UNSERVED)

    monkeypatch.setattr(f"{__name__}.disable_endpoint", end_lease)
    arrived = _arrived_around_a_pause(senders, lambda receiver: lambda: receiver.in_flight > 2)
    assert max(arrived.values()) == 2


def test_five_days_of_nothing_but_failures_disable_the_endpoint() -> None:
    with receiving() as receiver:
        receiver.reply = lambda _: Reply(500)
        endpoint = endpoint_for(
            receiver, consecutive_failures=9, failing_since=timezone.now() - timedelta(days=5, minutes=1)
        )
        make_deliveries(endpoint, 3)
        with sending():
            wait_until(lambda: Endpoint.objects.get().disabled_at is not None)
    assert len(receiver.got) == 1
    assert Endpoint.objects.get().disabled_reason == ("Five days of nothing but failures.")


def test_no_more_than_two_are_in_flight_to_an_endpoint_whoever_sends() -> None:
    release = threading.Event()
    with receiving() as receiver, sending(3):
        receiver.reply = lambda _: Reply(200, release=release)
        make_deliveries(endpoint_for(receiver), 30)
        wait_until(lambda: receiver.in_flight == 2)
        # Every sender has polled at least once more while the two hang.
        wait_until(_a_poll_has_passed(time.monotonic()))
        assert receiver.in_flight == 2
        release.set()
        wait_until(lambda: delivered() == 30)
    assert receiver.most_in_flight == 2
    assert Counter(receiver.ids()).most_common(1)[0][1] == 1


def _a_poll_has_passed(since: float) -> Any:
    return lambda: time.monotonic() > since + 0.5


def test_several_senders_send_each_delivery_once() -> None:
    with receiving() as receiver:
        for number in range(20):
            endpoint = make_endpoint(make_merchant(), f"{receiver.url}?{number}")
            make_deliveries(endpoint, 15)
        with sending(4):
            wait_until(lambda: delivered() == 300, seconds=30)
    assert len(receiver.got) == 300
    assert len(set(receiver.ids())) == 300


def test_healthy_endpoints_do_not_wait_behind_a_dead_one() -> None:
    release = threading.Event()
    with receiving() as dead, receiving() as healthy:
        dead.reply = lambda _: Reply(500, release=release)
        make_deliveries(endpoint_for(dead), 200)
        endpoints = [make_endpoint(make_merchant(), f"{healthy.url}?{number}") for number in range(10)]
        for endpoint in endpoints:
            make_deliveries(endpoint, 20)
        with sending(deadline_seconds=60):
            wait_until(lambda: delivered() == 200, seconds=25)
            # All healthy ones are there while the dead one's first two still hang.
            assert len(dead.got) == 2
            release.set()


def test_an_endpoint_that_hangs_fails_at_the_deadline_and_is_tried_again() -> None:
    with dripping(b"", b"") as url, sending(deadline_seconds=0.5):
        make_deliveries(make_endpoint(make_merchant(), url))
        wait_until(lambda: Attempt.objects.exists())
    attempt = Attempt.objects.get()
    assert 450 <= attempt.duration_ms < 20_000
    assert attempt.error == "timeout"
    assert Delivery.objects.get().status == DeliveryStatus.PENDING


def test_what_a_crashed_sender_did_not_record_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as receiver:
        make_deliveries(endpoint_for(receiver))
        with monkeypatch.context() as broken:
            broken.setattr("webhooks.delivery.sender.record", _crash)
            with sending() as (sender,):
                wait_until(lambda: len(receiver.got) == 1)
                wait_until(lambda: sender.crash is not None)
        Endpoint.objects.update(served_until=None)
        assert Delivery.objects.get().status == DeliveryStatus.PENDING
        with sending():
            wait_until(lambda: delivered() == 1)
    first, second = receiver.ids()
    assert first == second


def _crash(*_: object, **__: object) -> None:
    raise MemoryError


def test_a_lease_that_ended_lets_another_sender_take_over() -> None:
    with receiving() as receiver:
        until = timezone.now() + timedelta(seconds=2)
        make_deliveries(endpoint_for(receiver, served_by="killed", served_until=until))
        with sending():
            wait_until(lambda: delivered() == 1)
            assert timezone.now() > until


def test_without_the_bell_events_are_delivered_by_polling(settings: Any) -> None:
    settings.DATABASE_DIRECT_URL = "postgresql:///none?host=/nowhere"
    with receiving() as receiver, sending():
        endpoint = endpoint_for(receiver)
        for count in range(1, 4):
            with transaction.atomic():
                publish([new_event(endpoint.merchant)], now=NOON)
            wait_until(partial(receiver.has_got, count))
        wait_until(lambda: delivered() == 3)


def test_the_bell_makes_delivery_sooner_than_the_poll_with_valkey_away_too(settings: Any) -> None:
    settings.REDIS_URL = "unix:///nowhere/valkey.sock"
    waits = []
    with receiving() as receiver, sending(poll_seconds=1.0):
        endpoint = endpoint_for(receiver)
        for count in range(1, 8):
            with transaction.atomic():
                publish([new_event(endpoint.merchant)], now=NOON)
            committed = time.monotonic()
            wait_until(partial(receiver.has_got, count))
            waits.append(receiver.got[-1].at - committed)
        wait_until(lambda: delivered() == 7)
    # By polling alone the median would be half a second.
    assert sorted(waits)[3] < 0.3


def test_what_waited_for_a_probe_does_not_wait_for_the_poll() -> None:
    poll = 20.0
    with receiving() as receiver:
        endpoint = endpoint_for(receiver)
        make_deliveries(endpoint, 10)
        Endpoint.objects.update(consecutive_failures=PROBATION_AFTER)
        began = time.monotonic()
        with sending(poll_seconds=poll):
            wait_until(lambda: delivered() == 10)
            assert time.monotonic() - began < poll


def test_a_backlog_never_waits_for_the_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    def claim(demand: Demand, *, now: datetime) -> Batch:
        batch = claim_batch(demand, now=now)
        # Much of what was held at the beginning is recorded meanwhile, as on a busy machine.
        held = Delivery.objects.filter(pk__in=demand.held)
        wait_until(lambda: not held.exclude(status=DeliveryStatus.DELIVERED).exists())
        return batch

    monkeypatch.setattr(sender, "claim_batch", claim)
    poll = 20.0
    with receiving() as receiver:
        make_deliveries(endpoint_for(receiver), 250)
        began = time.monotonic()
        with sending(poll_seconds=poll):
            wait_until(lambda: delivered() == 250)
            assert time.monotonic() - began < poll


def test_stopping_finishes_what_is_under_way_and_gives_endpoints_back() -> None:
    release = threading.Event()
    with receiving() as receiver:
        receiver.reply = lambda _: Reply(200, release=release)
        make_deliveries(endpoint_for(receiver), 10)
        with sending() as (sender,):
            wait_until(lambda: receiver.in_flight == 2)
            sender.ask_to_stop()
            release.set()
            sender.stop()
    assert delivered() == 2
    assert Endpoint.objects.get().served_until is None
    assert len(receiver.got) == 2


def test_a_row_that_cannot_be_recorded_does_not_keep_back_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[int] = []
    insert = attempts._insert_attempts

    def insert_all_but_one(outcomes: Any) -> None:
        poisoned = min(Delivery.objects.values_list("pk", flat=True))
        if any(outcome.claimed.delivery == poisoned for outcome in outcomes):
            refused.append(len(outcomes))
            outcomes = [_with_null_byte(outcome) for outcome in outcomes]
        insert(outcomes)

    monkeypatch.setattr(attempts, "_insert_attempts", insert_all_but_one)
    with receiving() as receiver:
        make_deliveries(endpoint_for(receiver), 6)
        with sending():
            wait_until(lambda: delivered() == 5)
    assert refused


def _with_null_byte(outcome: attempts.AttemptOutcome) -> attempts.AttemptOutcome:
    return replace(outcome, response_body="\x00")
