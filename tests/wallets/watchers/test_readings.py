"""What left a deposit address in the window in which it was paid is read too."""

import pytest

from demo.localnet.anvil import Anvil
from tests.wallets.directions import flushed, pay, states
from tests.wallets.factories import address_of, make_deposit, read_all
from tests.wallets.transfers.test_movements import CONFIRMED, read_again
from wallets.forwarders.addresses import checksum
from wallets.models import DepositOutflow, Transfer
from wallets.watchers.blocks import Watcher

pytestmark = pytest.mark.django_db


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
