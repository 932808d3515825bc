"""Invariants 1, 2, 4, 5, 6 and 7 of ARCHITECTURE.md under every order of events that hypothesis thinks of."""

import os
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from checkouts.attribution import queue as attribution
from checkouts.lifecycle import expiry, moves
from checkouts.states import CheckoutStatus, derive_status
from tests.checkouts.schema import alter
from tests.exhaustive import EXHAUSTIVE
from tests.invariants.audit import watch_moves
from tests.invariants.machine import MoneyMachine
from wallets.transfers import service as transfers
from webhooks.outbox import events

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.unmeasured]

EXPLORE = settings(
    max_examples=60 if EXHAUSTIVE else 12,
    stateful_step_count=30,
    deadline=None,
    database=None,
    # A pipeline must give the same answer twice; a developer's machine may find something new each time.
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=list(HealthCheck),
)
# The controls must find their fault each time, and nobody reads their smallest example.
CONTROL = settings(EXPLORE, max_examples=200, derandomize=True, phases=[Phase.generate], report_multiple_bugs=False)


@pytest.fixture(autouse=True)
def _audit():
    watch_moves()


def test_the_invariants_hold_whatever_happens():
    run_state_machine_as_test(MoneyMachine, settings=EXPLORE)


def _forget_reorganisations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Orphaned transfers go on counting."""
    real = moves.received

    def received(checkout: Any, rows: Any, **options: Any) -> Any:
        return real(checkout, [row._replace(state="detected") for row in rows], **options)

    monkeypatch.setattr(moves, "received", received)


def _forget_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transfer is decided each time its facts change, and nothing refuses a second claim and payment."""
    monkeypatch.setattr(transfers, "_TAKE_OFF", transfers._TAKE_OFF.replace("ELSE decided_at", "ELSE NULL"))
    real = attribution.decide

    def decide(transfers: Any) -> Any:
        return real([transfer._replace(decided_at=None) for transfer in transfers])

    monkeypatch.setattr(attribution, "decide", decide)
    alter("ALTER TABLE wallets_transferclaim DROP CONSTRAINT wallets_transferclaim_pkey")
    alter("ALTER TABLE checkouts_payment DROP CONSTRAINT checkouts_payment_transfer_id_key")


def _lose_the_inbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be credited is forgotten."""
    monkeypatch.setattr(attribution, "write_inbox", lambda *_: [])


def _let_final_statuses_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the table of moves nor the database holds a final status."""
    alter("ALTER TABLE checkouts_checkout DISABLE TRIGGER checkout_final_status_guard")
    alter("ALTER TABLE checkouts_checkout DROP CONSTRAINT checkout_completed_has_paid_at")
    monkeypatch.setattr(moves, "MOVES", dict.fromkeys(CheckoutStatus, frozenset(CheckoutStatus)))

    def derive(_: Any, received: Any, *, needed_units: int) -> CheckoutStatus:
        return derive_status(CheckoutStatus.PENDING, received, needed_units=needed_units)

    monkeypatch.setattr(moves, "derive_status", derive)


def _only_drop_the_trigger(_: pytest.MonkeyPatch) -> None:
    """The code keeps final statuses; others than the code may move them."""
    alter("ALTER TABLE checkouts_checkout DISABLE TRIGGER checkout_final_status_guard")


def _tell_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A move is written without its event."""
    monkeypatch.setattr(moves, "publish", lambda *_, **__: [])


def _tell_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """One move writes two events."""
    real = moves._Movement._tell

    def tell(self: Any, checkout: Any) -> None:
        real(self, checkout)
        real(self, checkout)

    monkeypatch.setattr(moves._Movement, "_tell", tell)


def _deliver_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events are written, and nobody is sent them."""
    monkeypatch.setattr(events, "_insert_deliveries", lambda *_: 0)


def _count_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moves leave the counts as they were."""
    monkeypatch.setattr(moves, "count", lambda _: None)


def _forget_the_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moves leave what their day brought as it was."""
    monkeypatch.setattr(moves, "add_to_days", lambda _: None)


def _expire_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkouts expire by the clock alone."""
    statement = (
        "SELECT id FROM checkouts_checkout WHERE status IN ('pending', 'underpaid')"
        " AND expires_at <= %(now)s::timestamptz AND %(impatient_since)s::timestamptz IS NOT NULL"
        " AND %(grace)s::float IS NOT NULL ORDER BY expires_at LIMIT %(batch)s"
    )
    monkeypatch.setattr(expiry, "_DUE", statement)


def _count_late_money(monkeypatch: pytest.MonkeyPatch) -> None:
    """The minute after expiry never ends."""
    monkeypatch.setattr("checkouts.attribution.deposit_rules.GRACE", timedelta(days=9_999))


@pytest.mark.parametrize(
    "fault",
    [
        _forget_reorganisations,
        _forget_decisions,
        _lose_the_inbox,
        _let_final_statuses_move,
        _only_drop_the_trigger,
        _tell_nobody,
        _tell_twice,
        _deliver_nothing,
        _count_nothing,
        _forget_the_day,
        _expire_without_waiting,
        _count_late_money,
    ],
)
def test_the_machine_finds_a_planted_fault(fault, monkeypatch):
    """The negative controls: without any one of these promises the test above fails."""
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(MoneyMachine, settings=CONTROL)
