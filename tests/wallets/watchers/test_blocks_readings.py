"""What a watcher reads of a window, whose it is, and what is taken back."""

import pytest
from django.utils import timezone

from localnet.anvil import Anvil
from tests.wallets.directions import flushed, pay, shop, states
from tests.wallets.factories import address_of, make_deposit, read_all
from tests.wallets.transfers.test_movements import read_again
from tests.wallets.watching import watch
from wallets.forwarders.addresses import checksum
from wallets.models import DepositOutflow, Transfer, WatchedMovement
from wallets.selectors import watched_keys
from wallets.states import TransferState
from wallets.watchers.blocks import Watcher, read_window
from wallets.watchers.ingest import resume
from wallets.watchers.owners import Owners

pytestmark = pytest.mark.django_db
DETECTED, CONFIRMED, ORPHANED = TransferState


def test_a_forwarder_that_a_stranger_flushes_has_an_outflow(base_node: Anvil, watcher: Watcher) -> None:
    deposit = make_deposit()
    pay(base_node, address_of(deposit))
    read_all(watcher)
    assert not DepositOutflow.objects.exists()
    tx_hash = flushed(base_node, deposit)
    read_all(watcher)
    outflow = DepositOutflow.objects.get()
    assert (outflow.deposit_id, outflow.tx_hash) == (deposit.pk, tx_hash)
    assert (outflow.chain, outflow.token, outflow.units) == ("base", "USDC", 25)
    assert outflow.recipient == checksum(bytes(deposit.destination))
    read_again(watcher)
    assert DepositOutflow.objects.count() == 1
    base_node.mine(5)
    read_all(watcher)
    assert states(DepositOutflow) == [CONFIRMED]


@pytest.mark.parametrize("blocks_since", [0, 100], ids=["near the tip", "far behind"])
def test_what_is_passed_on_in_the_window_in_which_it_was_paid_is_not_overlooked(
    base_node: Anvil, watcher: Watcher, blocks_since: int
) -> None:
    deposit = make_deposit()
    pay(base_node, address_of(deposit))
    tx_hash = flushed(base_node, deposit)
    base_node.mine(blocks_since)
    read_all(watcher)
    assert DepositOutflow.objects.get().tx_hash == tx_hash
    assert Transfer.objects.get().units == 25


def test_one_reading_alone_would_overlook_it(base_node: Anvil, watcher: Watcher) -> None:
    deposit = make_deposit()
    first = base_node.block_number() + 1
    pay(base_node, address_of(deposit))
    flushed(base_node, deposit)
    adapter, owners = watcher._adapter, Owners("base")
    head, hint = adapter.head(), watched_keys("base")
    last = head.block.height
    once = adapter.read(first, last, head=head, hint=hint, ours=owners.ours)
    assert [one.units for one in once.transfers] == [25]
    whole = read_window(adapter, first, last, head=head, hint=hint, owners=owners)
    assert [one.units for one in whole.transfers] == [25, 25]
    assert [one.sender_key for one in whole.transfers][1] == bytes(deposit.key)
    assert [block.height for block in whole.blocks] == list(range(first, last + 1))


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
