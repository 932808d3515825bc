"""Block chains are read in both directions: what enters and leaves watched wallets, and what leaves deposit addresses."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from localnet import tokens
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import FAKE, deploy_token
from localnet.tron import TronNode
from localnet.tron.addresses import to_base58
from tests.factories import make_merchant, make_wallet
from tests.nodes.proxy import Answer, Ask, Request, RpcProxy, honest, methods_of, refuses
from tests.wallets.directions import USDC, flushed, pay, shop, spend, states, stranger
from tests.wallets.evmkin import spec_of
from tests.wallets.factories import address_of, make_deposit, make_watcher, read_all
from tests.wallets.paying import mint, transfer
from tests.wallets.watching import moved, watch
from wallets.chains.registry import open_pool
from wallets.forwarders.addresses import checksum
from wallets.models import ChainCursor, Transfer, WatchedMovement, WatchedWallet
from wallets.selectors import watched_keys
from wallets.states import TransferState
from wallets.watched.service import remove_watched_wallet
from wallets.watcher_process import open_watcher
from wallets.watchers.blocks import Watcher

pytestmark = pytest.mark.django_db
DETECTED, CONFIRMED, ORPHANED = TransferState
CHAINS = {1: "ethereum", 8453: "base", 137: "polygon"}


def payments_of(wallet: WatchedWallet) -> list[bool]:
    """Whether reports have its movements already."""
    rows = WatchedMovement.objects.filter(wallet=wallet).order_by("pk")
    return list(rows.values_list("is_payment", flat=True))


def test_a_payment_does_not_cost_the_receipts_of_its_whole_block(base_node: Anvil) -> None:
    asked: list[str] = []

    def listens(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
        asked.extend(methods_of(request))
        return honest(proxy, request, ask)

    deposit = make_deposit()
    with RpcProxy(base_node.url) as proxy:
        proxy.fault = listens
        watcher = make_watcher(proxy.url)
        read_all(watcher)
        pay(base_node, address_of(deposit))
        read_all(watcher)
        watcher.close()
    assert Transfer.objects.count() == 1
    assert "eth_getTransactionReceipt" in asked
    assert "eth_getBlockReceipts" not in asked


def read_again(watcher: Watcher) -> None:
    ChainCursor.objects.update(height=-1, block_hash="")
    read_all(watcher)


def test_what_enters_and_what_leaves_a_wallet_is_recorded_on_each_evm_chain(evm_node: Anvil) -> None:
    chain = CHAINS[int(evm_node.rpc("eth_chainId"), 16)]
    wallet = watch(shop(evm_node).address, chain=chain)
    received, sent = pay(evm_node, wallet.address), spend(evm_node, 10)
    watcher = make_watcher(evm_node.url, chain=chain)
    read_all(watcher)
    watcher.close()
    assert moved(wallet) == [("in", 25, received), ("out", 10, sent)]
    entered, left = WatchedMovement.objects.order_by("block_height")
    others = payer(evm_node).address, stranger(evm_node).address
    assert (entered.counterparty, left.counterparty) == others
    assert (left.token, left.token_address, left.mode) == ("USDC", USDC, "live")
    assert left.block_hash == evm_node.block()["hash"]
    assert payments_of(wallet) == [False, False]
    assert not Transfer.objects.exists()


@contextmanager
def tron_watcher(node: TronNode) -> Iterator[Any]:
    spec = spec_of("tron", node.url, START_BLOCK="0")
    watcher = open_watcher(spec, open_pool(spec), owner="one")
    yield watcher
    watcher.close()


def test_what_enters_and_what_leaves_a_wallet_is_recorded_on_tron(tron_node: TronNode) -> None:
    mine, other = shop(tron_node.anvil), stranger(tron_node.anvil)
    wallet = watch(to_base58(mine.address), chain="tron")
    received = tron_node.pay(wallet.address, 25)
    sent = tron_node.pay(to_base58(other.address), 10, account=mine)
    with tron_watcher(tron_node) as watcher:
        read_all(watcher)
    assert moved(wallet) == [("in", 25, received), ("out", 10, sent)]
    left = WatchedMovement.objects.get(direction="out")
    assert left.counterparty == to_base58(other.address)


def test_each_who_watches_has_a_movement_for_each_side_however_often_it_is_read(
    base_node: Anvil, watcher: Watcher
) -> None:
    from_one, from_two = (watch(shop(base_node).address) for _ in range(2))
    to = watch(stranger(base_node).address, merchant=from_one.merchant)
    received, sent = pay(base_node, from_one.address), spend(base_node, 10)
    read_all(watcher)
    before = list(WatchedMovement.objects.order_by("pk").values())
    read_again(watcher)
    assert list(WatchedMovement.objects.order_by("pk").values()) == before
    for wallet in (from_one, from_two):
        assert moved(wallet) == [("in", 25, received), ("out", 10, sent)]
    assert moved(to) == [("in", 10, sent)]


def test_far_behind_the_head_ranges_are_read_in_both_directions(base_node: Anvil, watcher: Watcher) -> None:
    wallet = watch(shop(base_node).address)
    received, sent = pay(base_node, wallet.address), spend(base_node, 10)
    base_node.mine(100)
    read_all(watcher)
    assert moved(wallet) == [("in", 25, received), ("out", 10, sent)]
    assert states(WatchedMovement) == [CONFIRMED, CONFIRMED]


def test_what_moves_in_no_listed_token_or_not_at_all_is_no_movement(base_node: Anvil, watcher: Watcher) -> None:
    wallet = watch(shop(base_node).address)
    fake = deploy_token(base_node, "USDC", salt=FAKE)
    mint(base_node, fake, wallet.address, 25)
    transfer(base_node, shop(base_node), fake, stranger(base_node).address, 5)
    spend(base_node, 0)
    received = pay(base_node, wallet.address)
    spend(base_node, 5, to=wallet.address)
    read_all(watcher)
    assert moved(wallet) == [("in", 25, received)]


def test_a_wallet_is_followed_until_it_is_removed_and_again_once_it_is_back(base_node: Anvil, watcher: Watcher) -> None:
    wallet = watch(shop(base_node).address)
    kept = watch(shop(base_node).address)
    first = pay(base_node, wallet.address, 1)
    read_all(watcher)
    remove_watched_wallet(wallet, now=timezone.now())
    second = pay(base_node, wallet.address, 2)
    read_all(watcher)
    back = watch(shop(base_node).address, merchant=wallet.merchant)
    third = pay(base_node, wallet.address, 3)
    read_all(watcher)
    assert back == wallet
    assert moved(wallet) == [("in", 1, first), ("in", 3, third)]
    assert [units for _, units, _ in moved(kept)] == [1, 2, 3]
    assert moved(kept)[1][2] == second


def test_a_payment_to_a_receiving_wallet_that_is_watched_is_marked_as_one(ethereum_node: Anvil) -> None:
    merchant, address = make_merchant(), shop(ethereum_node).address
    make_wallet(merchant, "ethereum", address)
    mine = watch(address, chain="ethereum", merchant=merchant)
    # Nothing of it is in this one's reports.
    curious = watch(address, chain="ethereum")
    pay(ethereum_node, address)
    spend(ethereum_node, 10)
    watcher = make_watcher(ethereum_node.url, chain="ethereum")
    read_all(watcher)
    watcher.close()
    assert Transfer.objects.get().units == 25
    assert payments_of(mine) == [True, False]
    assert payments_of(curious) == [False, False]


def test_what_a_deposit_address_passes_on_to_a_watched_wallet_is_marked_as_one(
    base_node: Anvil, watcher: Watcher
) -> None:
    destination = shop(base_node).address
    deposit = make_deposit(destination=destination)
    mine = watch(destination, merchant=deposit.merchant)
    curious = watch(destination)
    pay(base_node, address_of(deposit))
    pay(base_node, destination, 7)
    flushed(base_node, deposit)
    read_all(watcher)
    assert [units for _, units, _ in moved(mine)] == [7, 25]
    assert payments_of(mine) == [False, True]
    assert payments_of(curious) == [False, False]


def test_tokens_made_in_a_merchants_own_wallet_are_a_payment_without_a_sender(ethereum_node: Anvil) -> None:
    merchant, address = make_merchant(), shop(ethereum_node).address
    make_wallet(merchant, "ethereum", address)
    wallet = watch(address, chain="ethereum")
    mint(ethereum_node, USDC, address, 25)
    watcher = make_watcher(ethereum_node.url, chain="ethereum")
    read_all(watcher)
    watcher.close()
    assert Transfer.objects.get().sender == checksum(bytes(20))
    assert [units for _, units, _ in moved(wallet)] == [25]


def test_a_thousand_and_one_wallets_are_asked_for_in_no_more_questions_than_one(
    base_node: Anvil, watcher: Watcher
) -> None:
    wallet = watch(shop(base_node).address)
    read_all(watcher)
    few = questions(base_node, watcher)
    WatchedWallet.objects.bulk_create(
        WatchedWallet(
            merchant_id=wallet.merchant_id,
            mode="live",
            chain="base",
            address=checksum(number.to_bytes(20, "big")),
            key=number.to_bytes(20, "big"),
        )
        for number in range(1, 1_001)
    )
    assert watched_keys("base") is None
    assert questions(base_node, watcher) <= few
    received, sent = pay(base_node, wallet.address), spend(base_node, 10)
    read_all(watcher)
    assert moved(wallet) == [("in", 25, received), ("out", 10, sent)]


def questions(node: Anvil, watcher: Watcher) -> int:
    """How many requests the next block costs."""
    before = watcher._adapter.requests
    node.mine()
    read_all(watcher)
    return watcher._adapter.requests - before


@pytest.mark.parametrize("knows_blocks", [True, False])
def test_a_wallet_in_which_much_moves_costs_no_request_for_each_movement(base_node: Anvil, knows_blocks: bool) -> None:
    wallet = watch(shop(base_node).address)
    with RpcProxy(base_node.url) as proxy:
        if not knows_blocks:
            proxy.fault = refuses(-32601, "no method", method="eth_getBlockReceipts")
        watcher = make_watcher(proxy.url)
        read_all(watcher)
        base_node.set_automine(False)
        for units in range(1, 41):
            tokens.transfer(base_node, payer(base_node), USDC, wallet.address, units)
        base_node.mine()
        before = watcher._adapter.requests
        read_all(watcher, now=timezone.now() + timedelta(minutes=1))
        watcher.close()
    assert [units for _, units, _ in moved(wallet)] == list(range(1, 41))
    requests = watcher._adapter.requests - before
    assert (requests < 15) is knows_blocks
