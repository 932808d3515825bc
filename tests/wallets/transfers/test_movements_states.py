"""Movements and outflows become final, are taken back by forks, and come back, as transfers do."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from localnet.anvil import Anvil
from tests.wallets.directions import flushed, pay, shop, states
from tests.wallets.factories import address_of, make_deposit, make_watcher, read_all
from tests.wallets.paying import send_raw
from tests.wallets.watchers.test_blocks_reorgs import fork, signed_transfer
from tests.wallets.watching import watch
from wallets.models import ChainCursor, DepositOutflow, WatchedMovement
from wallets.states import TransferState
from wallets.watchers.blocks import Watcher
from wallets.watchers.passes import PassOutcome

pytestmark = pytest.mark.django_db
DETECTED, CONFIRMED, ORPHANED = TransferState


def test_a_fork_takes_movements_and_outflows_and_gives_them_back_in_their_new_block(
    base_node: Anvil, watcher: Watcher
) -> None:
    wallet, deposit = watch(shop(base_node).address), make_deposit()
    pay(base_node, address_of(deposit))
    read_all(watcher)
    raw = signed_transfer(base_node, wallet.address, 25)
    send_raw(base_node, raw)
    flushed(base_node, deposit)
    read_all(watcher)
    before = WatchedMovement.objects.get()
    assert (states(WatchedMovement), states(DepositOutflow)) == ([DETECTED], [DETECTED])
    fork(base_node, 2)
    base_node.mine()
    read_all(watcher)
    assert (states(WatchedMovement), states(DepositOutflow)) == ([ORPHANED], [ORPHANED])
    send_raw(base_node, raw)
    flushed(base_node, deposit)
    read_all(watcher)
    after = WatchedMovement.objects.get()
    assert (after.pk, after.state, after.orphaned_at) == (before.pk, DETECTED, None)
    assert after.block_hash != before.block_hash
    assert DETECTED in states(DepositOutflow)
    base_node.mine(6)
    read_all(watcher)
    assert states(WatchedMovement) == [CONFIRMED]


def test_large_movements_become_final_like_any_other(base_node: Anvil) -> None:
    make_deposit()
    watcher = make_watcher(base_node.url, LARGE_AMOUNT_USD="1")
    wallet = watch(shop(base_node).address)
    pay(base_node, wallet.address, 10**9)
    base_node.mine(5)
    read_all(watcher)
    watcher.close()
    assert states(WatchedMovement) == [CONFIRMED]


def test_what_was_final_on_a_local_chain_that_was_replaced_is_in_no_block_any_more(
    base_node: Anvil, watcher: Watcher
) -> None:
    watch(shop(base_node).address)
    pay(base_node, shop(base_node).address)
    base_node.mine(6)
    pay(base_node, shop(base_node).address)
    read_all(watcher)
    ChainCursor.objects.update(genesis_hash="0x" + "00" * 32)
    successor = make_watcher(base_node.url)
    assert successor.tick(now=timezone.now()) is PassOutcome.AHEAD
    successor.close()
    rows = WatchedMovement.objects.order_by("pk").values_list("state", "block_height")
    assert list(rows) == [(CONFIRMED, -1), (ORPHANED, base_node.block_number())]


def test_a_pass_with_nothing_of_ours_writes_no_movement(base_node: Anvil, watcher: Watcher) -> None:
    read_all(watcher)
    base_node.mine()
    with CaptureQueriesContext(connection) as queries:
        read_all(watcher)
    statements = [
        query["sql"] for query in queries if "watchedmovement" in query["sql"] or "depositoutflow" in query["sql"]
    ]
    # Whether something became final has to be asked, of both at once.
    assert len(statements) == 1
