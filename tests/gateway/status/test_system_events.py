"""Servers that chose it get an event of each stage of a disruption and of its end, once, and nobody else gets one."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone, translation

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.disruptions import merchant_disruptions
from gateway.status import system_events
from gateway.status.incidents import note_incidents
from gateway.status.models import Incident
from gateway.status.system_events import DISRUPTED, ENDS_TOLD, RECOVERED, publish_system_events
from gateway.status.views import make_report
from gateway.tasks import note_incidents_task
from settlements.models import GasAccount
from tests.factories import (
    LOCAL_NODES,
    NOON,
    body_of,
    make_checkout,
    make_live_chain,
    make_merchant,
    make_transfer,
    make_wallet,
)
from tests.webhooks.listed.test_publishing import listed
from wallets.disruptions import Reader, tell
from wallets.selectors import receiving_wallets
from wallets.states import TransferState
from webhooks.listed.service import chosen_events
from webhooks.models import Delivery, Event

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
WATCHER = "https://watch.example/"
BOTH = (DISRUPTED, RECOVERED)


@pytest.fixture(autouse=True)
def _nodes(settings: Any) -> None:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": LOCAL_NODES["BASE_RPC_URLS"]}


@pytest.fixture
def taker(merchant: Merchant) -> Merchant:
    """A merchant that receives on Base, with an endpoint that chose to know what disrupts that."""
    make_wallet(merchant)
    listed(merchant, WATCHER, *BOTH)
    return merchant


def base(at: datetime, **overrides: Any) -> None:
    """Base as it was read at a time, to its head."""
    times = dict.fromkeys(("head_at", "head_time", "read_through_at"), at)
    usual = {"head": 10, "height": 10, "due_at": None, "disagreeing_since": None, "halted_reason": ""}
    make_live_chain("base", **(times | usual | overrides))


def passes(now: datetime) -> int:
    """A pass of the task at a time; how many events it wrote."""
    note_incidents(now=now)
    return publish_system_events(now=now)


def told(merchant: Merchant) -> list[tuple[str, str, str]]:
    """A merchant's events of these types: type, kind and chain."""
    found = [body_of(bytes(one.body)) for one in events_of(merchant)]
    assert {one["checkout_id"] for one in found} <= {""}
    return [(one["type"], one["data"]["kind"], one["data"]["chain"]) for one in found]


def events_of(merchant: Merchant) -> list[Event]:
    return list(Event.objects.filter(merchant=merchant, type__in=[DISRUPTED, RECOVERED]).order_by("sequence"))


def test_each_stage_is_sent_once_and_the_end_too(taker: Merchant) -> None:
    base(NOON)
    assert passes(NOON + MINUTE / 2) == 0
    base(NOON + 10 * MINUTE, head=100, read_through_at=NOON)
    assert [passes(NOON + 10 * MINUTE) for _ in range(2)] == [1, 0]
    assert told(taker) == [(DISRUPTED, "delayed", "base")]
    assert passes(NOON + 25 * MINUTE) == 1, "it does not answer"
    base(NOON + 26 * MINUTE, halted_reason="a fork", height=186)
    assert [passes(NOON + 26 * MINUTE) for _ in range(2)] == [1, 0]
    base(NOON + 30 * MINUTE)
    assert [passes(NOON + 30 * MINUTE) for _ in range(2)] == [1, 0]
    assert told(taker) == [
        (DISRUPTED, "delayed", "base"),
        (DISRUPTED, "down", "base"),
        (DISRUPTED, "halted", "base"),
        (RECOVERED, "halted", "base"),
    ]
    assert Delivery.objects.filter(endpoint__url=WATCHER).count() == 4
    end = body_of(bytes(events_of(taker)[-1].body))["data"]
    assert (end["since"], end["until"]) == ("2026-11-20T12:00:00.000000Z", "2026-11-20T12:30:00.000000Z")


def test_the_words_are_those_of_the_list_of_disruptions_in_english(taker: Merchant) -> None:
    make_checkout(taker)
    base(NOON)
    now = NOON + 5 * MINUTE
    with translation.override("es"):
        assert passes(now) == 1
    data = body_of(bytes(events_of(taker)[0].body))["data"]
    [one] = [each for each in merchant_disruptions(taker.pk, Mode.LIVE, now=now) if each.chain == "base"]
    words = tell(one, Reader.MERCHANT)
    assert words.heading == "Base is not answering."
    assert {name: data[name] for name in ("heading", "meaning", "doing", "advice")} == {
        "heading": words.heading,
        "meaning": words.meaning,
        "doing": words.doing,
        "advice": words.advice,
    }
    assert data["orders_at_risk"] == one.orders == 1
    assert (data["block"], data["endpoint_id"]) == (None, None)


def test_payments_in_doubt_are_named_to_a_merchant_who_receives_there_no_more(merchant: Merchant) -> None:
    listed(merchant, WATCHER, *BOTH)
    make_transfer(make_checkout(merchant), state=TransferState.CONFIRMED, confirmed_at=NOON)
    base(NOON, halted_reason="a fork", halted_at=NOON, doubted_above=0)
    assert "base" not in receiving_wallets(merchant.pk)
    assert passes(NOON + 5 * MINUTE) == 1
    data = body_of(bytes(events_of(merchant)[0].body))["data"]
    assert (data["kind"], data["orders_at_risk"]) == ("halted", 1)
    assert data["advice"].startswith("Do not ship orders paid on Base since ")


def test_sources_that_disagree_and_gas_that_runs_out_are_sent(taker: Merchant) -> None:
    account = GasAccount.objects.create(chain="base", address="0x" + "11" * 20, balance_wei=Decimal(1))
    base(NOON + 5 * MINUTE, disagreeing_since=NOON)
    GasAccount.objects.update(low_told_at=NOON)
    assert passes(NOON + 5 * MINUTE) == 2
    assert sorted(told(taker)) == [(DISRUPTED, "gas_low", "base"), (DISRUPTED, "sources_disagree", "base")]
    assert make_report(now=NOON + 5 * MINUTE).incidents[0].kind == "sources", "buyers do not wait for gas"
    assert len(make_report(now=NOON + 5 * MINUTE).incidents) == 1
    account.balance_wei = Decimal(10**20)
    account.save()
    base(NOON + 6 * MINUTE)
    assert passes(NOON + 6 * MINUTE) == 2
    assert sorted(told(taker))[2:] == [(RECOVERED, "gas_low", "base"), (RECOVERED, "sources_disagree", "base")]


def test_only_those_who_chose_it_and_receive_there_get_it(merchant: Merchant) -> None:
    elsewhere, plain, testing, ended = merchant, make_merchant(), make_merchant(), make_merchant()
    make_wallet(elsewhere, "polygon")
    listed(elsewhere, WATCHER, *BOTH)
    for one in (plain, testing, ended):
        make_wallet(one)
    listed(plain, WATCHER)
    listed(testing, WATCHER, *BOTH, mode=Mode.TEST)
    listed(ended, WATCHER, "checkout.completed")
    base(NOON)
    assert passes(NOON + 5 * MINUTE) == 0
    assert Incident.objects.count() == 1
    assert not Event.objects.exists()


def test_an_end_is_sent_only_after_a_stage(merchant: Merchant) -> None:
    make_wallet(merchant)
    base(NOON)
    assert passes(NOON + 5 * MINUTE) == 0
    base(NOON + 6 * MINUTE)
    listed(merchant, WATCHER, *BOTH)
    assert passes(NOON + 6 * MINUTE) == 0


def test_an_end_is_sent_after_an_outage_of_tasks_of_less_than_a_day(taker: Merchant) -> None:
    base(NOON)
    assert passes(NOON + 5 * MINUTE) == 1
    base(NOON + 6 * MINUTE)
    note_incidents(now=NOON + 6 * MINUTE)
    assert Incident.objects.get(chain="base").ended_at == NOON + 6 * MINUTE
    assert publish_system_events(now=NOON + 6 * MINUTE + ENDS_TOLD) == 0
    assert publish_system_events(now=NOON + 5 * MINUTE + ENDS_TOLD) == 1


def test_who_chooses_disruptions_gets_their_ends_too() -> None:
    assert chosen_events([DISRUPTED]) == list(BOTH)
    assert chosen_events([RECOVERED]) == [RECOVERED]


def test_a_pass_that_did_not_see_what_another_wrote_writes_nothing_twice(
    taker: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if both began together: the occurrence is unique."""
    base(NOON)
    assert passes(NOON + 5 * MINUTE) == 1
    monkeypatch.setattr(system_events, "_known", lambda *_of: set())
    assert publish_system_events(now=NOON + 5 * MINUTE) == 0
    assert len(events_of(taker)) == 1


def test_one_that_is_added_later_gets_what_disrupts_then(merchant: Merchant) -> None:
    make_wallet(merchant)
    base(NOON)
    assert passes(NOON + 5 * MINUTE) == 0
    listed(merchant, WATCHER, *BOTH)
    assert passes(NOON + 6 * MINUTE) == 1
    assert told(merchant) == [(DISRUPTED, "down", "base")]


def test_the_task_does_both(taker: Merchant) -> None:
    base(timezone.now() - timedelta(hours=1))
    assert note_incidents_task() == 1
    assert told(taker) == [(DISRUPTED, "down", "base")]
