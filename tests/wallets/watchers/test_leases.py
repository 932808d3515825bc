"""Several watchers side by side: one works at a time, and one that was paused too long cannot do harm."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address
from tests.waiting import wait_until
from tests.wallets.factories import address_of, make_deposit, make_watcher, read_all
from tests.wallets.paying import mint, transfer
from wallets.chains.base import BlockAdapter
from wallets.models import EPOCH, Block, ChainCursor, Transfer
from wallets.states import TransferState
from wallets.watchers import blocks, leases
from wallets.watchers.blocks import Watcher
from wallets.watchers.leases import LeaseLostError, release_lease, take_lease
from wallets.watchers.passes import PassOutcome

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("somebody_may_pay")]
USDC = token_address("USDC")


def expire_lease() -> None:
    """What ten seconds of silence do."""
    ChainCursor.objects.update(lease_until=EPOCH)


class PausedWatcher:
    """A watcher that stops for as long as it is told between reading and writing, as a paused process does."""

    def __init__(self, node: Anvil, monkeypatch: pytest.MonkeyPatch) -> None:
        self.watcher = make_watcher(node.url, owner="paused")
        self.while_paused: Callable[[], Any] = lambda: None
        read = blocks.read_window

        def read_and_pause(adapter: BlockAdapter, *args: Any, **options: Any) -> Any:
            reading = read(adapter, *args, **options)
            if adapter is self.watcher._adapter:
                self.while_paused()
            return reading

        monkeypatch.setattr(blocks, "read_window", read_and_pause)


@pytest.fixture
def other(base_node: Anvil) -> Iterator[Watcher]:
    watcher = make_watcher(base_node.url, owner="other")
    yield watcher
    watcher.close()


@pytest.fixture
def paused(base_node: Anvil, monkeypatch: pytest.MonkeyPatch) -> Iterator[PausedWatcher]:
    paused = PausedWatcher(base_node, monkeypatch)
    yield paused
    paused.watcher.close()


def test_a_lease_excludes_others_until_it_runs_out() -> None:
    mine = take_lease("base", "one")
    assert mine is not None
    assert take_lease("base", "two") is None
    again = take_lease("base", "one")
    assert again is not None
    assert again.fence == mine.fence
    expire_lease()
    theirs = take_lease("base", "two")
    assert theirs is not None
    assert theirs.fence == mine.fence + 1
    assert take_lease("base", "one") is None


def test_a_lease_that_was_given_back_can_be_taken_at_once() -> None:
    take_lease("base", "one")
    release_lease("base", "one")
    assert take_lease("base", "two") is not None


def test_a_second_watcher_stands_by(base_node: Anvil, other: Watcher) -> None:
    first = make_watcher(base_node.url)
    read_all(first)
    assert other.tick(now=timezone.now()) is PassOutcome.STANDBY
    first.stop()
    assert other.tick(now=timezone.now()) is PassOutcome.IDLE
    first.close()


def reorganise(node: Anvil, other: Watcher) -> None:
    """While one watcher is paused the chain forks, and another watcher takes over and reads the fork."""
    expire_lease()
    node.reorg(1)
    mint(node, USDC, node.accounts[9].address, 1)
    node.mine(2)
    read_all(other)


def test_a_watcher_that_lost_its_lease_while_paused_writes_nothing(
    base_node: Anvil, other: Watcher, paused: PausedWatcher
) -> None:
    read_all(paused.watcher)
    transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 25)
    paused.while_paused = lambda: reorganise(base_node, other)
    with pytest.raises(LeaseLostError):
        paused.watcher.tick(now=timezone.now())
    assert not Transfer.objects.exists()
    assert ChainCursor.objects.get().height == base_node.block_number()


def test_without_the_fence_it_would_write_what_is_no_longer_true(
    base_node: Anvil, other: Watcher, paused: PausedWatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_all(paused.watcher)
    transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 25)
    paused.while_paused = lambda: reorganise(base_node, other)
    monkeypatch.setattr(leases, "check_fence", lambda lease: None)
    paused.watcher.tick(now=timezone.now())
    assert Transfer.objects.get().state == TransferState.DETECTED
    assert ChainCursor.objects.get().height != base_node.block_number()
    stale = Block.objects.get(height=Transfer.objects.get().block_height)
    assert base_node.block(stale.height)["hash"] != stale.hash


def test_after_a_long_pass_the_lease_is_long_enough_for_the_next(base_node: Anvil, paused: PausedWatcher) -> None:
    seconds = 0.0

    def take_long() -> None:
        nonlocal seconds
        seconds += 15

    read_all(paused.watcher)
    paused.watcher._clock = lambda: seconds
    paused.while_paused = take_long
    base_node.mine()
    paused.watcher.tick(now=timezone.now())
    paused.watcher.tick(now=timezone.now())
    left = ChainCursor.objects.get().lease_until - timezone.now()
    assert 20 < left.total_seconds() <= 30


@pytest.mark.concurrency
@pytest.mark.django_db(transaction=True)
def test_many_watchers_at_once_record_each_transfer_once(base_node: Anvil) -> None:
    deposit = make_deposit()
    stop = threading.Event()
    ends: list[Exception] = []

    def run(number: int) -> None:
        watcher = make_watcher(base_node.url, owner=f"watcher {number}")
        try:
            while not stop.is_set():
                try:
                    watcher.tick(now=timezone.now())
                except LeaseLostError:
                    continue
        except Exception as error:  # noqa: BLE001 - the test tells
            ends.append(error)
        finally:
            watcher.close()
            connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    try:
        for units in range(1, 21):
            transfer(base_node, payer(base_node), USDC, address_of(deposit), units)
            # Any of them may be robbed of its lease at any moment.
            expire_lease()
        wait_until(several_have_read)
        wait_until(lambda: ChainCursor.objects.get().height == base_node.block_number())
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert ends == []
    units_seen = Transfer.objects.order_by("pk").values_list("units", flat=True)
    assert list(units_seen) == list(range(1, 21))


def several_have_read() -> bool:
    """Let the lease run out; return whether it has gone from one to another several times."""
    expire_lease()
    return fence() > 3


def fence() -> int:
    """How often Base's lease changed hands; 0 before the first time."""
    found = ChainCursor.objects.values_list("fence", flat=True).first()
    return found or 0
