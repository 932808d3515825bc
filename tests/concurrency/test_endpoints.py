"""Endpoints that are enabled while events are published to them."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from django.db import OperationalError, transaction
from django.db.models import QuerySet

from accounts.models import Merchant
from accounts.states import Mode
from tests.concurrency.races import SECONDS, Crew, crew, deadlocks, waiting_for_locks
from tests.factories import NOON
from tests.waiting import wait_until
from tests.webhooks.factories import HOOK, make_endpoint, new_event
from webhooks.endpoints import service
from webhooks.endpoints.service import enable_endpoint, set_default_url
from webhooks.models import Delivery, Endpoint
from webhooks.outbox.events import lock_stream, publish

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

Enabling = Callable[[Endpoint], object]


def enable(endpoint: Endpoint) -> None:
    """What the dashboard's button does."""
    enable_endpoint(endpoint, now=NOON)


def name_it(endpoint: Endpoint) -> None:
    """What the dashboard's form and the API do: naming a disabled URL enables it."""
    set_default_url(endpoint.merchant, mode=Mode.LIVE, url=endpoint.url, now=NOON)


WAYS = pytest.mark.parametrize("way", [enable, name_it])


@pytest.fixture
def disabled(merchant: Merchant) -> Endpoint:
    """The merchant's default endpoint, disabled."""
    return make_endpoint(merchant, HOOK, disabled_at=NOON)


def lock_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let enabling go on while others publish."""
    monkeypatch.setattr(service, "lock_stream", lambda *_: None)


def started(threads: Crew, work: Callable[[], object]) -> "Future[object]":
    """Start `work`, and return once it has ended or waits for a lock."""
    future = threads.start(work)
    wait_until(lambda: future.done() or waiting_for_locks() == 1, seconds=SECONDS)
    return future


def statuses() -> list[str]:
    """The statuses of all deliveries."""
    return list(Delivery.objects.values_list("status", flat=True))


def published_while_enabled(endpoint: Endpoint, way: Enabling) -> list[str]:
    """The deliveries, after an event was written, its endpoint was enabled, and the event was committed."""
    with crew() as threads:
        with transaction.atomic():
            publish([new_event(endpoint.merchant)], now=NOON)
            enabling = started(threads, lambda: way(endpoint))
        enabling.result(SECONDS)
    return statuses()


def published_before_enabling_commits(endpoint: Endpoint, way: Enabling) -> list[str]:
    """The deliveries, after an endpoint was enabled, an event was published, and the enabling was committed."""
    event = new_event(endpoint.merchant)
    with crew() as threads:
        with transaction.atomic():
            way(endpoint)
            publishing = started(threads, lambda: publish([event], now=NOON))
        publishing.result(SECONDS)
    return statuses()


def enabled_by_one_who_waits(endpoint: Endpoint, way: Enabling) -> list[str]:
    """The deliveries, after an endpoint was enabled by one who waits for a publisher that has written nothing yet."""
    with crew() as threads:
        with transaction.atomic():
            lock_stream(endpoint.merchant_id, Mode.LIVE)
            enabling = started(threads, lambda: way(endpoint))
            publish([new_event(endpoint.merchant)], now=NOON)
        enabling.result(SECONDS)
    return statuses()


@WAYS
def test_an_event_that_is_published_while_its_endpoint_is_enabled_is_sent(disabled: Endpoint, way: Enabling) -> None:
    assert published_while_enabled(disabled, way) == ["pending"]


@WAYS
def test_an_event_that_is_published_before_enabling_commits_is_sent(disabled: Endpoint, way: Enabling) -> None:
    assert published_before_enabling_commits(disabled, way) == ["pending"]


@WAYS
def test_a_publisher_and_those_who_enable_never_lock_each_other_out(disabled: Endpoint, way: Enabling) -> None:
    before = deadlocks()
    assert enabled_by_one_who_waits(disabled, way) == ["pending"]
    assert deadlocks() == before


def test_without_the_lock_an_event_published_meanwhile_stays_held(
    disabled: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock_nothing(monkeypatch)
    assert published_while_enabled(disabled, enable) == ["held"]


def test_without_the_lock_an_event_published_before_enabling_commits_stays_held(
    disabled: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock_nothing(monkeypatch)
    assert published_before_enabling_commits(disabled, enable) == ["held"]


def test_without_the_weaker_lock_they_would_lock_each_other_out(
    disabled: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = QuerySet.select_for_update

    def stronger(self: Any, *arguments: Any, **named: Any) -> Any:
        if self.model is Endpoint:
            named["no_key"] = False
        return real(self, *arguments, **named)

    monkeypatch.setattr(QuerySet, "select_for_update", stronger)
    before = deadlocks()
    with pytest.raises(OperationalError, match="deadlock"):
        enabled_by_one_who_waits(disabled, name_it)
    assert deadlocks() - before == 1
