"""What disrupts payments is decided once and has one set of words."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from tests.factories import NOON, make_live_chain
from wallets.disruptions import Disruption, DisruptionKind, Reader, chain_disruptions, tell, worst_by_chain

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_nodes")]

OF_CHAINS = ("halted", "down", "sources_disagree", "delayed")
WELL: dict[str, Any] = {"head_at": NOON, "head_time": NOON, "read_through_at": NOON, "due_at": None}


@pytest.fixture(autouse=True)
def _well() -> None:
    for chain in ("base", "polygon", "ethereum"):
        make_live_chain(chain, **WELL)


@pytest.mark.parametrize("reader", Reader)
@pytest.mark.parametrize("kind", DisruptionKind)
def test_every_kind_tells_each_reader_four_things_and_leaves_no_blank(kind: DisruptionKind, reader: Reader) -> None:
    for affected in (0, 1, 2):
        told = tell(Disruption(kind, "base", NOON, block=186, affected=affected), reader)
        sentences = (told.heading, told.meaning, told.doing, told.advice)
        assert all(one.endswith(".") for one in sentences)
        assert not any("%" in one or "None " in one for one in sentences[:3])


@pytest.mark.parametrize("kind", OF_CHAINS)
def test_what_concerns_a_chain_is_told_to_buyers_in_their_language(kind: str) -> None:
    disruption = Disruption(DisruptionKind(kind), "base", NOON, block=186)
    english = tell(disruption, Reader.BUYER)
    with translation.override("de"):
        german = tell(disruption, Reader.BUYER)
    for name in ("heading", "meaning", "doing", "advice"):
        assert getattr(english, name) != getattr(german, name)


@pytest.mark.parametrize("kind", DisruptionKind)
def test_what_a_buyer_reads_on_a_page_is_in_their_language(kind: DisruptionKind) -> None:
    """The heading of a reversal is the page's own."""
    disruption = Disruption(kind, "base", NOON, block=186, affected=1)
    english = tell(disruption, Reader.BUYER)
    names = ["meaning", "doing", *(["heading"] if kind != DisruptionKind.REVERSED else [])]
    if kind != DisruptionKind.HALTED:
        names.append("advice")
    with translation.override("de"):
        german = tell(disruption, Reader.BUYER)
    assert [name for name in names if getattr(english, name) == getattr(german, name)] == []


def test_the_sentences_are_the_same_for_all_and_the_advice_is_each_readers() -> None:
    for kind in DisruptionKind:
        told = [tell(Disruption(kind, "base", NOON, block=186), reader) for reader in Reader]
        assert len({(one.heading, one.meaning, one.doing) for one in told}) == 1
        assert len({one.advice for one in told}) == len(told)


def test_a_buyer_is_not_alarmed_by_a_server_that_does_not_answer() -> None:
    failing = Disruption(DisruptionKind.ENDPOINT_FAILING, affected=1)
    assert tell(failing, Reader.MERCHANT).is_urgent
    assert not tell(failing, Reader.BUYER).is_urgent


def test_a_halted_chain_is_told_apart_from_one_that_does_not_answer() -> None:
    make_live_chain("base", halted_reason="a fork", halted_at=NOON, height=186, **WELL)
    make_live_chain("polygon", **WELL | {"head_at": NOON - timedelta(minutes=5)})
    halted, down = chain_disruptions(now=NOON)
    assert (halted.kind, halted.chain, halted.since, halted.block) == ("halted", "base", NOON, 186)
    assert (down.kind, down.chain) == ("down", "polygon")
    told = tell(halted, Reader.MERCHANT)
    assert told.heading == "Base contradicts what it told us."
    assert told.doing == "We stopped reading it at block 186. A person is checking it."


def test_a_merchant_with_payments_at_risk_is_told_since_when_not_to_ship() -> None:
    at_risk = Disruption(DisruptionKind.HALTED, "base", NOON, block=186, affected=2)
    told = tell(at_risk, Reader.MERCHANT)
    assert told.advice == "Do not ship orders paid on Base since 20 Nov, 12:00 UTC (2 payments)."
    assert told.is_urgent
    assert not tell(Disruption(DisruptionKind.HALTED, "base", NOON), Reader.MERCHANT).is_urgent


def test_a_late_chain_whose_nodes_disagree_has_two_disruptions_and_the_worse_one_is_named() -> None:
    make_live_chain("base", **WELL | {"head": 99, "disagreeing_since": NOON})
    assert [one.kind for one in chain_disruptions(now=NOON)] == ["sources_disagree", "delayed"]
    assert worst_by_chain(now=NOON)["base"].kind == "sources_disagree"


def test_a_chain_that_is_late_is_the_same_disruption_at_each_reading() -> None:
    """Pages that follow it are told once, and not at each block."""
    seen = set()
    for second in range(3):
        at = NOON + timedelta(seconds=second)
        make_live_chain("base", **WELL | {"head": 99, "read_through_at": at})
        seen.add(worst_by_chain(now=at)["base"])
    assert len(seen) == 1


def test_chains_without_a_node_are_down_for_buyers_and_no_trouble_of_the_installation() -> None:
    assert chain_disruptions(now=NOON) == []
    assert worst_by_chain(now=NOON)["tron"].kind == "down"


def test_what_was_read_within_the_second_is_not_read_again() -> None:
    chain_disruptions(now=NOON)
    with CaptureQueriesContext(connection) as asked:
        chain_disruptions(now=NOON)
        worst_by_chain(now=NOON)
    assert len(asked) == 0
