"""Changes of movements are queued and told to their consumers, at wallets that payouts are expected to leave or reach."""

from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.db import connection
from django.test import override_settings

from accounts.states import Mode
from tests.factories import NOON
from tests.wallets.days import make_movement, make_watched
from tests.wallets.transfers.told import told_transfer
from wallets.models import WatchedMovement, WatchedWallet
from wallets.states import Direction, TransferState
from wallets.transfers.movements import (
    NewMovement,
    answer_for_movements,
    ask_witness_of,
    confirm_movements,
    confirm_simulated_movements,
    orphan_lost_movements,
    orphan_movements,
    orphan_simulated_movements,
    record_movements,
)
from wallets.watched.service import expect_payouts

pytestmark = pytest.mark.django_db
DETECTED, CONFIRMED, ORPHANED = TransferState

heard: list[str] = []


@current_app.task(name="tests.hear_of_movements", shared=False)  # type: ignore[untyped-decorator]
def hear() -> None:
    heard.append("rung")


@pytest.fixture(autouse=True)
def ear() -> Any:
    """Hear of movements in this process."""
    heard.clear()
    with override_settings(REDIS_URL="", MOVEMENT_CONSUMERS=["tests.hear_of_movements"]):
        yield


@pytest.fixture
def paying() -> WatchedWallet:
    """A wallet that a payout is expected to leave."""
    wallet = make_watched()
    expect_payouts([wallet.pk], until=NOON)
    return wallet


def outflow(wallet: WatchedWallet, **told: Any) -> NewMovement:
    return NewMovement(
        wallet.pk, wallet.merchant_id, Direction.OUT, told_transfer(sender=wallet.address, **told), Mode(wallet.mode)
    )


def the_movement() -> WatchedMovement:
    return WatchedMovement.objects.get()


def take_off() -> None:
    """As the consumer does."""
    WatchedMovement.objects.update(queued_at=None)
    # The test's own transaction keeps what was heard of.
    connection.run_on_commit.clear()
    heard.clear()


def test_a_new_movement_of_a_paying_wallet_is_queued_and_its_consumers_hear_of_it_once(
    paying: WatchedWallet, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True) as callbacks:
        record_movements([outflow(paying)], now=NOON)
        record_movements([outflow(paying, tx_hash="0x09")], now=NOON)
        assert heard == []
    assert heard == ["rung"]
    assert len(callbacks) == 1
    assert set(WatchedMovement.objects.values_list("queued_at", flat=True)) == {NOON}


def test_its_labels_are_kept_for_them(paying: WatchedWallet) -> None:
    record_movements([outflow(paying, labels=("a key", "a memo"))], now=NOON)
    assert the_movement().labels == ["a key", "a memo"]


def test_nobody_hears_of_a_wallet_that_never_paid(django_capture_on_commit_callbacks: Any) -> None:
    wallet = make_watched()
    with django_capture_on_commit_callbacks(execute=True) as callbacks:
        record_movements([outflow(wallet, labels=("note",))], now=NOON)
        confirm_movements("base", 1, now=NOON)
        orphan_movements("base", 0, now=NOON)
    found = the_movement()
    assert (len(callbacks), found.queued_at, found.labels, found.state) == (0, None, None, ORPHANED)


def test_each_change_queues_it_again(paying: WatchedWallet, django_capture_on_commit_callbacks: Any) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        [pk] = record_movements([outflow(paying)], now=NOON)
    changes = [
        (CONFIRMED, lambda: confirm_movements("base", 1, now=NOON)),
        (ORPHANED, lambda: orphan_movements("base", 0, now=NOON)),
        (DETECTED, lambda: record_movements([outflow(paying, block_hash="0x05")], now=NOON)),
        (ORPHANED, lambda: orphan_lost_movements([pk], now=NOON)),
    ]
    for state, change in changes:
        take_off()
        with django_capture_on_commit_callbacks(execute=True):
            change()
        assert (heard, the_movement().queued_at, the_movement().state) == (["rung"], NOON, state)
    take_off()
    with django_capture_on_commit_callbacks(execute=True):
        assert orphan_lost_movements([pk], now=NOON) == 0
    assert heard == []


def test_a_simulated_movement_is_changed_by_test_mode_alone(django_capture_on_commit_callbacks: Any) -> None:
    wallet = make_watched(mode=Mode.TEST)
    expect_payouts([wallet.pk], until=NOON)
    with django_capture_on_commit_callbacks(execute=True):
        [pk] = record_movements([outflow(wallet)], now=NOON)
        confirm_movements("base", 1, now=NOON)
        orphan_movements("base", 0, now=NOON)
        assert orphan_lost_movements([pk], now=NOON) == 0
    assert (the_movement().state, the_movement().mode, heard) == (DETECTED, Mode.TEST, ["rung"])
    assert (confirm_simulated_movements([pk], now=NOON), the_movement().state) == (1, CONFIRMED)
    assert (orphan_simulated_movements([pk], now=NOON), the_movement().state) == (1, ORPHANED)


def test_a_live_movement_is_no_simulated_one(paying: WatchedWallet) -> None:
    [pk] = record_movements([outflow(paying)], now=NOON)
    assert confirm_simulated_movements([pk], now=NOON) == orphan_simulated_movements([pk], now=NOON) == 0
    assert the_movement().state == DETECTED


def test_an_answer_makes_a_movement_final_and_queues_it_again(paying: WatchedWallet) -> None:
    [pk] = record_movements([outflow(paying)], now=NOON)
    ask_witness_of(pk, now=NOON)
    take_off()
    later = NOON + timedelta(minutes=1)
    assert answer_for_movements([the_movement()], now=later) == 1
    found = the_movement()
    assert (found.state, found.confirmed_at, found.witness_answered_at, found.queued_at) == (CONFIRMED, *[later] * 3)
    assert answer_for_movements([found], now=later) == 0


def test_an_answer_about_another_block_is_none(paying: WatchedWallet) -> None:
    """A reorg moved the movement while the nodes were asked."""
    [pk] = record_movements([outflow(paying)], now=NOON)
    ask_witness_of(pk, now=NOON)
    before = the_movement()
    record_movements([outflow(paying, block_hash="0x05")], now=NOON)
    assert answer_for_movements([before], now=NOON) == 0
    assert (the_movement().state, the_movement().witness_answered_at) == (DETECTED, None)
    assert answer_for_movements([the_movement()], now=NOON) == 1
    orphan_movements("base", 0, now=NOON)
    record_movements([outflow(paying, block_hash="0x06")], now=NOON)
    # In its new block it needs another answer.
    assert (the_movement().witness_asked_at, the_movement().witness_answered_at) == (NOON, None)


def test_a_wallet_whose_payouts_are_over_is_followed_still(paying: WatchedWallet) -> None:
    """Money may be sent a second time long after."""
    make_movement(paying)
    expect_payouts([paying.pk], until=NOON - timedelta(days=400))
    paying.refresh_from_db()
    assert paying.expected_until == NOON
    [pk] = record_movements([outflow(paying)], now=NOON + timedelta(days=400))
    assert WatchedMovement.objects.get(pk=pk).queued_at is not None
