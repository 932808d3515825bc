"""Endpoints that are added at the same time, and one that is deleted while an event is published to it."""

from functools import partial

import pytest
from django.db import transaction

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.errors import ConflictError
from tests.concurrency.races import SECONDS, behind, crew, waiting_for_locks
from tests.concurrency.test_inbox import no_lock_on
from tests.factories import NOON
from tests.waiting import wait_until
from tests.webhooks.factories import new_event
from webhooks.listed import service
from webhooks.listed.service import MOST_LISTED, add_endpoint, delete_endpoint
from webhooks.models import LISTED, Delivery, Endpoint
from webhooks.outbox.events import publish

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

# Nobody gets past the writing of a secret, wherever they stand before it.
NO_NEW_SECRETS = "LOCK TABLE webhooks_signingsecret IN SHARE MODE"


def add(merchant: Merchant, number: int) -> bool:
    """Add an endpoint; return whether it was taken."""
    values = {"url": f"https://{number}.example/", "name": "", "events": None, "is_enabled": True}
    try:
        add_endpoint(merchant, mode=Mode.LIVE, values=values, now=NOON)
    except ConflictError:
        return False
    return True


def added_at_once(merchant: Merchant) -> tuple[list[bool], int]:
    """Whether each of two was taken where there is room for one, and how many there are then."""
    for number in range(MOST_LISTED - 1):
        assert add(merchant, number)
    taken = behind(NO_NEW_SECRETS, works=[partial(add, merchant, number) for number in (98, 99)])
    return sorted(taken), Endpoint.objects.filter(LISTED).count()


def test_two_that_are_added_at_once_do_not_pass_the_limit(merchant: Merchant) -> None:
    assert added_at_once(merchant) == ([False, True], MOST_LISTED)


def test_without_the_lock_on_the_merchant_they_would(merchant: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
    no_lock_on(monkeypatch, Merchant)
    assert added_at_once(merchant) == ([True, True], MOST_LISTED + 1)


def published_while_deleted(merchant: Merchant) -> list[str]:
    """The deliveries, after an event was written, its endpoint was deleted, and the event was committed."""
    add(merchant, 1)
    endpoint = Endpoint.objects.get()
    with crew() as threads:
        with transaction.atomic():
            publish([new_event(merchant)], now=NOON)
            deleting = threads.start(lambda: delete_endpoint(endpoint, now=NOON))
            wait_until(lambda: deleting.done() or waiting_for_locks() == 1, seconds=SECONDS)
        deleting.result(SECONDS)
    return list(Delivery.objects.values_list("status", flat=True))


def test_what_is_published_while_its_endpoint_is_deleted_is_cancelled(merchant: Merchant) -> None:
    assert published_while_deleted(merchant) == ["cancelled"]


def test_without_the_lock_on_the_counter_it_would_wait_there(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "lock_stream", lambda *_: None)
    assert published_while_deleted(merchant) == ["pending"]
