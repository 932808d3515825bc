"""What the status page knows."""

from datetime import timedelta
from typing import Any

import pytest

from gateway.status.models import Incident, IncidentKind
from gateway.status.views import SHOWN, as_json, current_report, make_report
from tests.factories import LOCAL_NODES, NOON, make_live_chain, make_merchant
from tests.webhooks.factories import make_deliveries, make_endpoint
from wallets.states import ChainStatus
from webhooks.models import Delivery
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nodes(settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    for chain in ("base", "polygon", "ethereum"):
        make_live_chain(chain, head_at=NOON)


@pytest.mark.parametrize(("late", "overall"), [(0, "ok"), (30, "delayed"), (90, "down")])
def test_the_worst_chain_is_the_state_of_all(late: int, overall: str) -> None:
    make_live_chain("base", head_at=NOON - timedelta(seconds=late))
    report = make_report(now=NOON)
    assert report.overall == overall
    states = {chain.chain: chain.status for chain in report.chains}
    assert states.pop("base") == overall
    assert set(states.values()) == {ChainStatus.OK}


def test_late_webhooks_delay_all() -> None:
    make_deliveries(make_endpoint(make_merchant()))
    Delivery.objects.update(next_attempt_at=NOON - timedelta(minutes=2))
    report = make_report(now=NOON)
    assert report.overall == ChainStatus.DELAYED
    assert report.webhooks_since == NOON - timedelta(minutes=2)
    assert report.credits_since is None


def test_the_usual_time_of_webhooks_needs_twenty_of_them() -> None:
    make_deliveries(make_endpoint(make_merchant()), 20)
    Delivery.objects.update(status=DeliveryStatus.DELIVERED, finished_at=NOON + timedelta(seconds=0.44))
    assert make_report(now=NOON).webhook_seconds == 0.4
    newest = Delivery.objects.order_by("-pk")[:1]
    Delivery.objects.filter(pk__in=newest).update(status=DeliveryStatus.FAILED)
    assert make_report(now=NOON).webhook_seconds is None


def test_incidents_are_shown_for_thirty_days_the_newest_first() -> None:
    for kind, days in ((IncidentKind.WEBHOOKS, 40), (IncidentKind.CREDITS, 3), (IncidentKind.CHAIN, 1)):
        then = NOON - timedelta(days=days)
        Incident.objects.create(kind=kind, began_at=then, ended_at=then)
    ongoing = NOON - 2 * SHOWN
    Incident.objects.create(kind=IncidentKind.SOURCES, began_at=ongoing)
    shown = [each.kind for each in make_report(now=NOON).incidents]
    assert shown == ["chain", "credits", "sources"]


def test_the_json_has_what_the_page_has() -> None:
    make_live_chain("base", head_at=NOON, head=60, height=10, read_through_at=NOON)
    Incident.objects.create(kind=IncidentKind.CHAIN, chain="base", began_at=NOON)
    told = as_json(make_report(now=NOON))
    noon = "2026-11-20T12:00:00.000000Z"
    assert told["status"] == "delayed"
    assert told["checked_at"] == noon
    assert told["chains"][0] == {
        "chain": "base",
        "status": "delayed",
        "reason": None,
        "blocks_behind": 50,
        "known_until": noon,
        "sources_disagree_since": None,
    }
    assert told["webhooks"] == {"late_since": None, "median_seconds": None}
    assert told["credits"] == {"late_since": None}
    assert told["incidents"] == [
        {"kind": "chain", "chain": "base", "stopped": False, "halted": False, "began_at": noon, "ended_at": None}
    ]


def test_many_requests_are_one_report(django_assert_num_queries: Any) -> None:
    current_report.cache_clear()
    first = current_report()
    with django_assert_num_queries(0):
        assert current_report() is first
    current_report.cache_clear()
    assert current_report() is not first
