"""Whose a movement is."""

import pytest

from demo.localnet.anvil import Anvil
from tests.wallets.directions import flushed, pay
from tests.wallets.factories import address_of, make_deposit
from wallets.selectors import watched_keys
from wallets.watchers.blocks import Watcher
from wallets.watchers.owners import Owners
from wallets.watchers.readings import read_window

pytestmark = pytest.mark.django_db


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
