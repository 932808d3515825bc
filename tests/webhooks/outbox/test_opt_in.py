"""Events that endpoints choose: they go to those that did, and are not written where none did."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Merchant
from accounts.states import Mode
from tests.factories import NOON, body_of, make_merchant
from tests.webhooks.factories import HOOK, make_endpoint, new_event
from tests.webhooks.listed.test_publishing import OWN, listed
from webhooks.listed.service import change_endpoint, chosen_events, delete_endpoint
from webhooks.models import Delivery, Endpoint, Event, EventCounter
from webhooks.outbox.events import _FIND_TAKEN, OptInEvent, publish

pytestmark = pytest.mark.django_db
OPENED = "inbox.opened"
INBOX = "https://inbox.example/"


class Fact:
    """Something that became true, and how often anybody read what it is about."""

    def __init__(self, merchant: Merchant, *, kind: str = OPENED, number: int = 1) -> None:
        self.reads = 0
        self.id = f"inb_{number:032x}-late_outage"
        self.event = OptInEvent(merchant.pk, Mode.LIVE, kind, f"inbox:{number}:open", self._read)

    def _read(self) -> dict[str, Any]:
        self.reads += 1
        return {"id": self.id, "status": "open"}


def told(*facts: Fact) -> list[tuple[str, str]]:
    """The deliveries of facts that are published together: where each goes, and of what type."""
    rows = publish([fact.event for fact in facts], now=NOON)
    found = Delivery.objects.filter(event__in=rows).order_by("pk")
    return list(found.values_list("endpoint__url", "event_type"))


def test_only_listed_endpoints_that_chose_it_receive_it(merchant: Merchant) -> None:
    make_endpoint(merchant, HOOK)
    make_endpoint(merchant, OWN, is_default=False)
    listed(merchant, "https://classic.example/")
    listed(merchant, "https://expired.example/", "checkout.expired", "inbox.closed")
    listed(merchant, INBOX, OPENED)
    listed(merchant, "https://test.example/", OPENED, mode=Mode.TEST)
    listed(make_merchant(), "https://stranger.example/", OPENED)
    fact = Fact(merchant)
    assert told(fact) == [(INBOX, OPENED)]
    event = Event.objects.get()
    assert fact.reads == 1
    assert (event.type, event.subject_id, event.sequence) == (OPENED, fact.id, 1)
    assert body_of(bytes(event.body))["data"] == {"id": fact.id, "status": "open"}


def test_where_nobody_chose_nothing_is_written_read_or_numbered(merchant: Merchant) -> None:
    make_endpoint(merchant, HOOK)
    listed(merchant, "https://classic.example/")
    listed(merchant, "https://closed.example/", "inbox.closed")
    facts = [Fact(merchant, number=number) for number in range(3)]
    with CaptureQueriesContext(connection) as asked:
        assert told(*facts) == []
    assert [fact.reads for fact in facts] == [0, 0, 0]
    assert not Event.objects.exists()
    assert not EventCounter.objects.exists()
    # The lock, and the look for takers.
    assert len(asked) == 2


def test_classic_events_alone_look_for_no_takers(merchant: Merchant) -> None:
    listed(merchant, INBOX, OPENED)
    with CaptureQueriesContext(connection) as asked:
        publish([new_event(merchant)], now=NOON)
    assert not [query for query in asked if "advisory" in query["sql"]]


def test_they_are_numbered_in_their_place_among_others(merchant: Merchant) -> None:
    make_endpoint(merchant, HOOK)
    listed(merchant, INBOX, OPENED)
    first, last = new_event(merchant), new_event(merchant)
    publish([first, Fact(merchant).event, Fact(merchant, kind="inbox.closed").event, last], now=NOON)
    rows = Event.objects.order_by("sequence").values_list("sequence", "type")
    assert list(rows) == [(1, "checkout.completed"), (2, OPENED), (3, "checkout.completed")]


def test_an_occurrence_is_told_once(merchant: Merchant) -> None:
    listed(merchant, INBOX, OPENED)
    assert told(Fact(merchant), Fact(merchant)) == [(INBOX, OPENED)]
    assert told(Fact(merchant)) == []


def test_a_batch_of_many_merchants_asks_as_often_as_one_fact() -> None:
    def statements(merchants: Sequence[Merchant]) -> int:
        for merchant in merchants:
            listed(merchant, INBOX, OPENED)
        facts = [Fact(merchant, number=merchant.pk * 2 + each) for merchant in merchants for each in (0, 1)]
        with CaptureQueriesContext(connection) as asked:
            assert len(told(*facts)) == len(facts)
        return len(asked)

    assert statements([make_merchant()]) == statements([make_merchant() for _ in range(12)])


def test_a_disabled_endpoints_are_held_and_a_deleted_ones_are_not_written(merchant: Merchant) -> None:
    endpoint, _ = listed(merchant, INBOX, OPENED, on=False)
    assert told(Fact(merchant)) == [(INBOX, OPENED)]
    assert Delivery.objects.get().status == "held"
    delete_endpoint(endpoint, now=NOON)
    assert told(Fact(merchant, number=2)) == []
    assert Event.objects.count() == 1


def test_a_url_that_checkouts_name_receives_it_only_if_it_is_listed_and_chose(merchant: Merchant) -> None:
    endpoint, _ = listed(merchant, OWN, "checkout.completed")
    publish([new_event(merchant, url=OWN)], now=NOON)
    assert told(Fact(merchant)) == []
    values = {"url": OWN, "name": "", "events": [OPENED], "is_enabled": True}
    change_endpoint(endpoint, values=values, now=NOON)
    assert told(Fact(merchant)) == [(OWN, OPENED)]


def test_each_type_is_classic_or_has_to_be_chosen() -> None:
    assert not set(settings.WEBHOOK_CLASSIC_TYPES) & set(settings.WEBHOOK_OPT_IN_TYPES)
    assert chosen_events(settings.WEBHOOK_EVENT_TYPES) == settings.WEBHOOK_EVENT_TYPES


def test_takers_are_found_without_a_look_at_the_urls_of_checkouts(merchant: Merchant) -> None:
    listed(merchant, INBOX, OPENED)
    rows = [Endpoint(merchant=merchant, mode="live", url=f"https://shop.example/{number}") for number in range(2_000)]
    Endpoint.objects.bulk_create(rows, batch_size=1_000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE webhooks_endpoint")
        columns: dict[str, Any] = {"merchants": [merchant.pk], "modes": ["live"], "types": [OPENED]}
        cursor.execute("EXPLAIN " + _FIND_TAKEN, columns)
        plan = "\n".join(line for (line,) in cursor)
    assert "endpoint_added" in plan or "endpoint_id_once" in plan
    assert "Seq Scan" not in plan
