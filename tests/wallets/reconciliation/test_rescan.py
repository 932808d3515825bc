"""A range of blocks read again: what was missed is recorded, nothing else moves."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import CommandError

from localnet.anvil import Anvil
from localnet.funding import payer
from tests.wallets.accountchains import OnSolana, make_expected, open_account_watcher
from tests.wallets.accountchains import read_all as read_accounts
from tests.wallets.chain_reports import USDC, as_json, run
from tests.wallets.directions import pay, shop, spend
from tests.wallets.factories import address_of, make_deposit, read_all
from tests.wallets.paying import transfer
from tests.wallets.watching import moved, watch
from wallets.models import AccountCursor, Block, ChainCursor, ReceivingWallet, Transfer, WatchedMovement
from wallets.states import TransferState
from wallets.watchers.blocks import Watcher

pytestmark = pytest.mark.django_db


def test_a_range_read_again_brings_what_was_missed_and_moves_nothing(base_node: Anvil, base_watcher: Watcher) -> None:
    to = address_of(make_deposit())
    hashes = [transfer(base_node, payer(base_node), USDC, to, units) for units in (1, 2)]
    base_node.mine(80)
    read_all(base_watcher)
    first = Transfer.objects.get(units=1).block_height
    Transfer.objects.get(units=2).delete()
    before = ChainCursor.objects.values().get()
    blocks = Block.objects.count()
    told = run("--rescan", "base", "--from", str(first))
    assert f"new: 2 units of USDC to {to} in {hashes[1]}" in told
    assert "2 transfers in blocks" in told
    assert "1 of them new" in told
    assert ChainCursor.objects.values().get() == before
    assert Block.objects.count() == blocks
    assert "0 of them new" in run("--rescan", "base", "--from", "0")
    read_all(base_watcher)
    assert Transfer.objects.get(units=2).state == TransferState.CONFIRMED


def test_only_the_range_is_read_again(base_node: Anvil, base_watcher: Watcher) -> None:
    to = address_of(make_deposit())
    for units in (1, 2, 3):
        transfer(base_node, payer(base_node), USDC, to, units)
    base_node.mine(10)
    read_all(base_watcher)
    height = Transfer.objects.get(units=2).block_height
    Transfer.objects.all().delete()
    run("--rescan", "base", "--from", str(height), "--to", str(height))
    assert [int(one.units) for one in Transfer.objects.all()] == [2]


def test_what_a_fork_may_still_replace_is_left_to_the_watcher(base_node: Anvil, base_watcher: Watcher) -> None:
    to = address_of(make_deposit())
    transfer(base_node, payer(base_node), USDC, to, 1)
    read_all(base_watcher)
    Transfer.objects.all().delete()
    with pytest.raises(CommandError, match="read and final"):
        run("--rescan", "base", "--from", str(base_node.block_number()))
    assert not Transfer.objects.exists()


def test_another_chain_than_the_one_read_is_not_read_again(base_watcher: Watcher) -> None:
    read_all(base_watcher)
    ChainCursor.objects.update(genesis_hash="0x" + "00" * 32)
    with pytest.raises(CommandError, match="another chain"):
        run("--rescan", "base", "--from", "0")


def test_accounts_are_read_again_from_a_height_on(solana_node: Any, configure: Callable[..., None]) -> None:
    chain = OnSolana(solana_node)
    configure(SOLANA_RPC_URLS=chain.url)
    watcher, to = open_account_watcher(chain), chain.new_address()
    make_expected(chain, to)
    # A chain's clock need not be ours.
    ReceivingWallet.objects.update(created_at=datetime(2001, 1, 1, tzinfo=UTC))
    read_accounts(watcher)
    first = solana_node.slot()
    for units in (1, 2):
        chain.pay(to, units)
    chain.pass_time()
    read_accounts(watcher)
    Transfer.objects.get(units=2).delete()
    before = AccountCursor.objects.values().get(), ChainCursor.objects.values().get()
    told = run("--rescan", "solana", "--from", str(first))
    assert "1 of them new" in told
    assert (AccountCursor.objects.values().get(), ChainCursor.objects.values().get()) == before
    told = as_json()["solana"]
    assert (told["accounts"], told["broken_accounts"]) == (1, 0)
    assert told["oldest_account_seconds"] <= 5
    assert told["requests_allowed"] == 200
    [node] = told["nodes"]
    assert (node["is_ours"], node["error"]) == (True, "")
    watcher.close()


def test_a_range_is_read_again_in_both_directions(base_node: Anvil, base_watcher: Watcher) -> None:
    buyer = watch(shop(base_node).address)
    received, sent = pay(base_node, buyer.address), spend(base_node, 5)
    base_node.mine(10)
    read_all(base_watcher)
    WatchedMovement.objects.all().delete()
    assert "0 transfers in blocks" in run("--rescan", "base", "--from", "0")
    assert moved(buyer) == [("in", 25, received), ("out", 5, sent)]
