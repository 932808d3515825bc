"""Reorganisations: what they remove is orphaned, what they move is followed, and a too deep one stops the chain."""

from collections.abc import Sequence

import pytest
from django.utils import timezone

from accounts.models import Membership
from accounts.states import Role
from demo.nodes.factory import prepare_chain
from localnet.abi import encode_call
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import token_address
from mails.models import OutgoingMail
from tests.factories import make_user
from tests.nodes.fixtures import StartNode
from tests.nodes.proxy import RpcProxy, honest, results
from tests.waiting import wait_until
from tests.wallets.factories import address_of, make_deposit, make_watcher, read_all
from tests.wallets.paying import send_raw, transfer
from wallets.chains.base import MalformedAnswerError
from wallets.models import Block, ChainCursor, Transfer
from wallets.states import TransferState
from wallets.transfers.doubts import doubts
from wallets.watchers.blocks import Watcher
from wallets.watchers.ingest import resume
from wallets.watchers.passes import PassOutcome

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("somebody_may_pay")]
USDC = token_address("USDC")
DETECTED, CONFIRMED, ORPHANED = TransferState


def signed_transfer(node: Anvil, to: str, units: int) -> str:
    """A raw transaction that pays, not sent yet."""
    data = encode_call("transfer(address,uint256)", to, units)
    return node.sign(payer(node), to=USDC, data=data)


def fork(node: Anvil, depth: int, *, include: Sequence[tuple[str, int]] = ()) -> None:
    """Replace the newest blocks by others: an empty block mined in the same second would be the same block."""
    other = node.sign(node.accounts[9], to=node.accounts[8].address, value=1)
    node.reorg(depth, include=[(other, 0), *include])


def assert_follows_the_node(node: Anvil) -> None:
    cursor = ChainCursor.objects.get()
    block = node.block()
    assert (cursor.height, cursor.block_hash) == (int(block["number"], 16), block["hash"])
    assert not cursor.halted_reason
    for stored in Block.objects.all():
        assert node.block(stored.height)["hash"] == stored.hash


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
def test_a_transaction_that_a_fork_drops_is_orphaned(base_node: Anvil, idle_watcher: Watcher, depth: int) -> None:
    transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 25)
    base_node.mine(depth - 1)
    read_all(idle_watcher)
    Transfer.objects.update(queued_at=None)
    fork(base_node, depth)
    base_node.mine()
    read_all(idle_watcher)
    lost = Transfer.objects.get()
    assert (lost.state, lost.confirmed_at) == (ORPHANED, None)
    assert lost.queued_at is not None
    assert_follows_the_node(base_node)


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
def test_a_transaction_that_a_fork_moves_keeps_its_row_and_is_confirmed_where_it_is_now(
    base_node: Anvil, idle_watcher: Watcher, depth: int
) -> None:
    raw = signed_transfer(base_node, address_of(make_deposit()), 25)
    send_raw(base_node, raw)
    base_node.mine(depth - 1)
    read_all(idle_watcher)
    before = Transfer.objects.get()
    fork(base_node, depth, include=[(raw, depth - 1)])
    moved_to = int(base_node.receipt(before.tx_hash)["blockNumber"], 16)
    assert moved_to == before.block_height + depth - 1

    def is_back() -> bool:
        # The node may show its newest block a moment after it told the receipt.
        read_all(idle_watcher)
        return Transfer.objects.get().state == DETECTED

    wait_until(is_back)
    after = Transfer.objects.get()
    assert (after.pk, after.state) == (before.pk, DETECTED)
    assert after.block_hash != before.block_hash
    assert after.block_height == moved_to
    base_node.mine(6)
    read_all(idle_watcher)
    assert Transfer.objects.get().state == CONFIRMED
    assert_follows_the_node(base_node)


def test_after_a_fork_nothing_is_vouched_for_until_the_new_blocks_were_read(
    base_node: Anvil, idle_watcher: Watcher
) -> None:
    base_node.mine(3)
    read_all(idle_watcher)
    assert ChainCursor.objects.get().read_through_at is not None
    fork(base_node, 2)
    assert idle_watcher.tick(now=timezone.now()) is PassOutcome.AHEAD
    assert ChainCursor.objects.get().read_through_at is None
    now = timezone.now()
    read_all(idle_watcher, now=now)
    assert ChainCursor.objects.get().read_through_at == now


def test_a_transaction_that_returns_later_is_revived(base_node: Anvil, idle_watcher: Watcher) -> None:
    raw = signed_transfer(base_node, address_of(make_deposit()), 25)
    send_raw(base_node, raw)
    read_all(idle_watcher)
    fork(base_node, 1)
    base_node.mine()
    read_all(idle_watcher)
    assert Transfer.objects.get().state == ORPHANED
    send_raw(base_node, raw)
    read_all(idle_watcher)
    revived = Transfer.objects.get()
    assert (revived.state, revived.orphaned_at) == (DETECTED, None)
    assert revived.block_height == base_node.block_number()


def test_a_node_that_tells_no_logs_of_a_forks_block_does_not_move_the_cursor(base_node: Anvil) -> None:
    """The block's header holds the payment in its bloom filter, so the empty answer is not believed."""
    with RpcProxy(base_node.url) as proxy:
        watcher = make_watcher(proxy.url)
        raw = signed_transfer(base_node, address_of(make_deposit()), 25)
        send_raw(base_node, raw)
        read_all(watcher)
        fork(base_node, 1, include=[(raw, 0)])
        proxy.fault = results(lambda method, result: [] if method == "eth_getLogs" else result)
        for _ in range(2):
            with pytest.raises(MalformedAnswerError, match="leaves out"):
                read_all(watcher)
        assert ChainCursor.objects.get().height == base_node.block_number() - 1
        assert Transfer.objects.get().state == ORPHANED
        proxy.fault = honest
        read_all(watcher)
        assert Transfer.objects.get().state == DETECTED
        assert_follows_the_node(base_node)
        watcher.close()


def test_other_money_at_the_same_place_after_a_fork_is_not_taken_for_the_first(
    base_node: Anvil, idle_watcher: Watcher
) -> None:
    first = make_deposit()
    transfer(base_node, payer(base_node), USDC, address_of(first), 25)
    read_all(idle_watcher)
    fork(base_node, 1)
    transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 30)
    read_all(idle_watcher)
    states = Transfer.objects.order_by("pk").values_list("units", "state")
    assert list(states) == [(25, ORPHANED), (30, DETECTED)]


def test_a_fork_that_is_seen_in_the_middle_of_catching_up_is_followed(base_node: Anvil, idle_watcher: Watcher) -> None:
    base_node.mine(3)
    read_all(idle_watcher)
    transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 25)
    base_node.mine(2)
    idle_watcher.tick(now=timezone.now())
    fork(base_node, 5)
    transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 30)
    read_all(idle_watcher)
    states = Transfer.objects.order_by("pk").values_list("units", "state")
    assert list(states) == [(25, ORPHANED), (30, DETECTED)]
    assert_follows_the_node(base_node)


def test_a_chain_that_lost_its_tip_waits_and_vouches_for_nothing(base_node: Anvil, idle_watcher: Watcher) -> None:
    base_node.mine(4)
    read_all(idle_watcher)
    before = ChainCursor.objects.get()
    base_node.shorten(2)
    assert idle_watcher.tick(now=timezone.now()) is PassOutcome.IDLE
    after = ChainCursor.objects.get()
    assert (after.height, after.read_through_at) == (before.height, before.read_through_at)
    base_node.mine(3)
    read_all(idle_watcher)
    assert_follows_the_node(base_node)


def test_a_fork_deeper_than_final_stops_the_chain_and_takes_nothing_back(
    base_node: Anvil, idle_watcher: Watcher
) -> None:
    deposit = make_deposit()
    for staff in (True, False):
        user = make_user(f"{staff}@florin.test")
        user.is_staff = staff
        user.save()
        role = Role.VIEWER if staff else Role.OWNER
        Membership.objects.create(merchant=deposit.merchant, user=user, role=role)
    transfer(base_node, payer(base_node), USDC, address_of(deposit), 25)
    base_node.mine(6)
    read_all(idle_watcher)
    assert Transfer.objects.get().state == CONFIRMED
    fork(base_node, 7)
    base_node.mine()
    assert idle_watcher.tick(now=timezone.now()) is PassOutcome.HALTED
    assert idle_watcher.tick(now=timezone.now()) is PassOutcome.HALTED
    cursor = ChainCursor.objects.get()
    assert "depth 7" in cursor.halted_reason
    paid = Transfer.objects.get()
    assert paid.state == CONFIRMED
    # What is above the fork is in doubt, and told once: to the operators, and to owners with payments in it.
    assert cursor.doubted_above is not None
    assert cursor.doubted_above < paid.block_height
    [doubt] = doubts()
    assert (doubt.chain, doubt.payments, doubt.since) == ("base", 1, paid.block_time)
    mails = OutgoingMail.objects.order_by("recipient")
    assert [(mail.recipient, mail.subject) for mail in mails] == [
        ("False@florin.test", "Hold orders paid on Base"),
        ("True@florin.test", "Base was stopped: it contradicts what was read"),
    ]
    assert all("Payments in doubt" in mail.text for mail in mails)
    resume("base", height=cursor.doubted_above, now=timezone.now())
    assert (doubts(), Transfer.objects.get().state) == ([], "orphaned")


def test_reading_begins_at_the_head_with_room_to_follow_a_fork(base_node: Anvil) -> None:
    to = address_of(make_deposit())
    transfer(base_node, payer(base_node), USDC, to, 1)
    base_node.mine(10)
    public = make_watcher(base_node.url, NETWORK="mainnet")
    read_all(public)
    assert not Transfer.objects.exists()
    fork(base_node, 3)
    transfer(base_node, payer(base_node), USDC, to, 2)
    read_all(public)
    assert Transfer.objects.get().units == 2
    assert_follows_the_node(base_node)
    public.close()


def test_a_local_chain_that_was_replaced_is_read_anew(start_node: StartNode) -> None:
    first = start_node(8453, extra=["--timestamp", "1700000000"])
    prepare_chain(first)
    deposit = make_deposit()
    transfer(first, payer(first), USDC, address_of(deposit), 25)
    first.mine(6)
    transfer(first, payer(first), USDC, address_of(deposit), 26)
    watcher = make_watcher(first.url)
    read_all(watcher)
    first.stop()
    second = start_node(8453, port=first.port, extra=["--timestamp", "1700000001"])
    prepare_chain(second)
    transfer(second, payer(second), USDC, address_of(deposit), 27)
    read_all(watcher)
    states = Transfer.objects.order_by("pk").values_list("units", "state")
    assert list(states) == [(25, CONFIRMED), (26, ORPHANED), (27, DETECTED)]
    assert ChainCursor.objects.get().factory_ok is True
    assert_follows_the_node(second)
    watcher.close()


def test_a_public_chain_with_another_first_block_stops(base_node: Anvil) -> None:
    watcher = make_watcher(base_node.url)
    read_all(watcher)
    ChainCursor.objects.update(genesis_hash="0x" + "00" * 32)
    watcher.close()
    watcher = make_watcher(base_node.url, NETWORK="mainnet")
    assert watcher.tick(now=timezone.now()) is PassOutcome.AHEAD
    assert watcher.tick(now=timezone.now()) is PassOutcome.HALTED
    assert "another chain" in ChainCursor.objects.get().halted_reason
    watcher.close()
