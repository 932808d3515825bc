"""Incidents begin and end with what the rows say."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError

from gateway.status.incidents import KEPT, LASTING, find_troubles, note_incidents
from gateway.status.models import Incident, IncidentKind
from tests.factories import LOCAL_NODES, NOON, make_checkout, make_live_chain, make_merchant, make_transfer
from tests.webhooks.factories import make_deliveries, make_endpoint
from wallets.selectors import chain_health
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def _nodes(settings: Any) -> None:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": LOCAL_NODES["BASE_RPC_URLS"]}


def well(minutes: float = 0, **overrides: Any) -> None:
    """Base, read to its head at a moment after noon."""
    at = NOON + minutes * MINUTE
    times = dict.fromkeys(("head_at", "head_time", "read_through_at"), at)
    values = times | {"due_at": None, "disagreeing_since": None}
    make_live_chain("base", **(values | overrides))


def told() -> list[tuple[Any, ...]]:
    """All incidents: kind, chain, whether it stopped, begin and end in minutes after noon."""
    return [
        (
            each.kind,
            each.chain,
            each.stopped,
            (each.began_at - NOON) / MINUTE,
            each.ended_at and (each.ended_at - NOON) / MINUTE,
        )
        for each in Incident.objects.order_by("pk")
    ]


def test_a_chain_that_stood_still_has_an_incident_from_its_last_reading_to_the_next() -> None:
    well()
    assert note_incidents(now=NOON) == 0
    assert note_incidents(now=NOON + 5 * MINUTE) == 1
    assert note_incidents(now=NOON + 6 * MINUTE) == 1
    well(7)
    assert note_incidents(now=NOON + 7 * MINUTE) == 0
    assert told() == [("chain", "base", True, 0, 7)]


def test_a_chain_that_is_only_late_did_not_stop_until_it_does() -> None:
    well(10, head=100, height=10, read_through_at=NOON)
    note_incidents(now=NOON + 10 * MINUTE)
    assert told() == [("chain", "base", False, 0, None)]
    note_incidents(now=NOON + 20 * MINUTE)
    well(21, head=100, height=10, read_through_at=NOON)
    note_incidents(now=NOON + 21 * MINUTE)
    assert told() == [("chain", "base", True, 0, None)]


def test_a_chain_that_contradicted_itself_is_remembered_as_stopped_by_us() -> None:
    well()
    note_incidents(now=NOON + 5 * MINUTE)
    assert not Incident.objects.get().halted
    well(halted_reason="a deep fork")
    note_incidents(now=NOON + 6 * MINUTE)
    well(7, halted_reason="")
    note_incidents(now=NOON + 7 * MINUTE)
    assert Incident.objects.get().halted
    assert told() == [("chain", "base", True, 0, 7)]


def test_a_head_that_stands_still_is_an_incident_since_its_own_time() -> None:
    well(30, head_time=NOON)
    note_incidents(now=NOON + 30 * MINUTE)
    assert told() == [("chain", "base", True, 0, None)]


def test_a_short_trouble_is_seen_and_is_no_incident() -> None:
    well()
    soon = NOON + LASTING - timedelta(seconds=1)
    assert [trouble.since for trouble in find_troubles(chain_health(now=soon), now=soon)] == [NOON]
    assert note_incidents(now=soon) == 0


def test_a_chain_that_was_never_read_has_had_no_incident() -> None:
    make_live_chain("base", head=None, height=None, head_at=None)
    assert note_incidents(now=NOON) == 0


def test_sources_that_disagree_are_an_incident_of_their_own() -> None:
    well(5, disagreeing_since=NOON)
    note_incidents(now=NOON + 5 * MINUTE)
    well(6)
    note_incidents(now=NOON + 6 * MINUTE)
    assert told() == [("sources", "base", False, 0, 6)]


def test_payments_that_wait_and_webhooks_that_wait_are_incidents() -> None:
    well(5)
    transfer = make_transfer(make_checkout(), queued_at=NOON)
    make_deliveries(make_endpoint(make_merchant()))
    Delivery.objects.update(next_attempt_at=NOON + MINUTE)
    note_incidents(now=NOON + 5 * MINUTE)
    assert sorted(told()) == [("credits", "", False, 0, None), ("webhooks", "", False, 1, None)]
    transfer.queued_at = None
    transfer.save()
    Delivery.objects.update(next_attempt_at=NOON + 9 * MINUTE)
    well(6)
    assert note_incidents(now=NOON + 6 * MINUTE) == 0


def test_an_endpoint_that_fails_is_no_incident_of_the_gateway() -> None:
    """Its deliveries are due and wait for probes; anybody may name an endpoint that never answers."""
    well(5)
    make_deliveries(make_endpoint(make_merchant(), consecutive_failures=5))
    Delivery.objects.update(next_attempt_at=NOON)
    assert note_incidents(now=NOON + 5 * MINUTE) == 0


def test_old_incidents_are_deleted_and_open_ones_stay() -> None:
    well()
    long_ago = NOON - KEPT - MINUTE
    for kind, ended in ((IncidentKind.CREDITS, long_ago), (IncidentKind.CHAIN, NOON)):
        Incident.objects.create(kind=kind, began_at=long_ago, ended_at=ended)
    note_incidents(now=NOON)
    assert [each.kind for each in Incident.objects.all()] == ["chain"]


def test_one_trouble_has_one_open_incident() -> None:
    values = {"kind": IncidentKind.CHAIN, "chain": "base", "began_at": NOON}
    Incident.objects.create(**values, ended_at=NOON)
    Incident.objects.create(**values)
    with pytest.raises(IntegrityError):
        Incident.objects.create(**values)
