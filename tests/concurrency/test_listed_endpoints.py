"""Endpoints that are added at once, deleted while an event is published to them, or added while a fact is published they chose."""

from functools import partial

import pytest
from django.db import transaction

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.errors import ConflictError
from tests.concurrency.races import SECONDS, behind, crew, waiting_for_locks
from tests.concurrency.test_inbox import no_lock_on
from tests.factories import NOON, make_merchant
from tests.waiting import wait_until
from tests.webhooks.factories import new_event
from tests.webhooks.outbox.test_opt_in import INBOX, OPENED, Fact
from webhooks.listed import service
from webhooks.listed.service import MOST_LISTED, add_endpoint, change_endpoint, delete_endpoint
from webhooks.models import LISTED, Delivery, Endpoint, Event
from webhooks.outbox import events
from webhooks.outbox.events import publish

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

FACT = "A fact"
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


def choose(merchant: Merchant) -> None:
    """Give the merchant's endpoint an opt-in type, or add one with it."""
    values = {"url": INBOX, "name": "", "events": [OPENED], "is_enabled": True}
    listed = Endpoint.objects.filter(LISTED, merchant=merchant).first()
    if listed is None:
        add_endpoint(merchant, mode=Mode.LIVE, values=values, now=NOON)
    else:
        change_endpoint(listed, values=values, now=NOON)


def chosen_while_a_fact_is_published(merchant: Merchant) -> bool:
    """Whether an endpoint that chose, and then asked what is true, missed a fact: neither saw it nor was told."""
    with crew() as threads:
        with transaction.atomic():
            # The fact: a row that anybody can ask for once it is committed.
            make_merchant(FACT)
            assert publish([Fact(merchant).event], now=NOON) == []
            choosing = threads.start(lambda: chosen_and_asked(merchant))
            wait_until(lambda: choosing.done() or waiting_for_locks() == 1, seconds=SECONDS)
        saw_it = choosing.result(SECONDS)
    return not saw_it and not Event.objects.exists()


def chosen_and_asked(merchant: Merchant) -> bool:
    """Choose, and then ask whether the fact is true."""
    choose(merchant)
    return Merchant.objects.filter(name=FACT).exists()


@pytest.mark.parametrize("is_listed", [False, True])
def test_an_endpoint_is_told_of_each_fact_that_it_cannot_see_once_it_has_chosen(
    merchant: Merchant, is_listed: bool
) -> None:
    if is_listed:
        add(merchant, 1)
    assert not chosen_while_a_fact_is_published(merchant)


def test_without_the_lock_on_choices_a_fact_would_be_missed(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "lock_choices", lambda _: None)
    assert chosen_while_a_fact_is_published(merchant)


def published_while_chosen(merchant: Merchant) -> list[str]:
    """The deliveries of a fact that is published while an endpoint that chose its type is not committed yet."""
    with crew() as threads:
        with transaction.atomic():
            choose(merchant)
            publishing = threads.start(lambda: publish_fact(merchant))
            wait_until(lambda: publishing.done() or waiting_for_locks() == 1, seconds=SECONDS)
        publishing.result(SECONDS)
    return list(Delivery.objects.values_list("endpoint__url", flat=True))


@transaction.atomic
def publish_fact(merchant: Merchant) -> None:
    """Publish a fact in a transaction of its own."""
    publish([Fact(merchant).event], now=NOON)


def test_a_fact_waits_for_an_endpoint_that_is_choosing_it(merchant: Merchant) -> None:
    assert published_while_chosen(merchant) == [INBOX]


def test_without_the_publishers_lock_it_would_not_be_told(merchant: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_SHARE_CHOICES", "SELECT %(merchants)b::bigint[]")
    assert published_while_chosen(merchant) == []


def test_publishers_do_not_wait_for_each_other(merchant: Merchant) -> None:
    with transaction.atomic(), crew() as threads:
        publish([Fact(merchant).event], now=NOON)
        threads.start(lambda: publish_fact(merchant)).result(SECONDS)
