"""What a watcher writes."""

import pytest
from django.utils import timezone

from demo.localnet.anvil import Anvil
from tests.wallets.directions import flushed, pay, shop, states
from tests.wallets.factories import address_of, make_deposit, read_all
from tests.wallets.watching import watch
from wallets.models import DepositOutflow, WatchedMovement
from wallets.states import TransferState
from wallets.watchers.blocks import Watcher
from wallets.watchers.ingest import resume

pytestmark = pytest.mark.django_db


DETECTED, CONFIRMED, ORPHANED = TransferState


def test_a_chain_that_is_told_to_go_back_takes_back_what_is_above(base_node: Anvil, watcher: Watcher) -> None:
    watch(shop(base_node).address)
    height = base_node.block_number()
    pay(base_node, shop(base_node).address)
    deposit = make_deposit()
    pay(base_node, address_of(deposit))
    flushed(base_node, deposit)
    base_node.mine(6)
    read_all(watcher)
    resume("base", height=height, now=timezone.now())
    assert (states(WatchedMovement), states(DepositOutflow)) == ([ORPHANED], [ORPHANED])
    read_all(watcher)
    assert (states(WatchedMovement), states(DepositOutflow)) == ([CONFIRMED], [CONFIRMED])
