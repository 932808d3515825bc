"""The watcher against a real node: what is paid is recorded once, confirmed by depth, and followed through forks."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import deploy_token, token_address
from tests.nodes import proxy as faults
from tests.nodes.fixtures import StartNode
from tests.nodes.proxy import RpcProxy
from tests.wallets.factories import address_of, make_deposit, make_watcher, read_all
from tests.wallets.paying import mint, transfer, transfer_many
from wallets.chains.base import ChainUnavailableError, ReorgDuringReadError
from wallets.models import Block, ChainCursor, Transfer
from wallets.states import TransferState
from wallets.watchers.blocks import Watcher
from wallets.watchers.passes import PassOutcome

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("somebody_may_pay")]
USDC = token_address("USDC")
DETECTED, CONFIRMED, ORPHANED = TransferState


@pytest.fixture
def watcher(base_node: Anvil) -> Iterator[Watcher]:
    yield from watched(base_node)


def watched(*nodes: Anvil, **options: Any) -> Iterator[Watcher]:
    watcher = make_watcher(*(node.url for node in nodes), **options)
    yield watcher
    watcher.close()


def states() -> list[str]:
    return list(Transfer.objects.order_by("pk").values_list("state", flat=True))


def test_a_payment_is_detected_in_the_next_pass(base_node: Anvil, watcher: Watcher) -> None:
    deposit = make_deposit()
    read_all(watcher)
    tx_hash = transfer(base_node, payer(base_node), USDC, address_of(deposit), 25_000_000)
    assert watcher.tick(now=timezone.now()) is PassOutcome.IDLE
    found = Transfer.objects.get()
    block = base_node.block()
    assert found.tx_hash == tx_hash
    assert (found.units, found.token, found.token_address) == (25_000_000, "USDC", USDC)
    assert (found.sender, found.recipient) == (payer(base_node).address, address_of(deposit))
    assert (found.deposit_id, found.merchant_id) == (deposit.pk, deposit.merchant_id)
    assert (found.mode, found.state, found.position) == ("live", DETECTED, 0)
    assert (found.block_height, found.block_hash) == (int(block["number"], 16), block["hash"])
    assert found.block_time.timestamp() == int(block["timestamp"], 16)
    assert found.queued_at is not None


def test_the_price_of_gas_is_a_mean_of_the_newest_blocks(base_node: Anvil, watcher: Watcher) -> None:
    read_all(watcher)
    newest = int(base_node.block()["baseFeePerGas"], 16)
    ChainCursor.objects.update(base_fee=8 * newest)
    watcher.tick(now=timezone.now())
    assert ChainCursor.objects.get().base_fee == (7 * 8 * newest + newest) // 8


def test_the_highest_price_that_is_read_does_not_stop_the_watcher(base_node: Anvil, watcher: Watcher) -> None:
    read_all(watcher)
    # Fifteen hexadecimal digits, the most that a number of a node may have.
    ChainCursor.objects.update(base_fee=2**60 - 1)
    watcher.tick(now=timezone.now())
    assert 0 < (ChainCursor.objects.get().base_fee or 0) < 2**60


def test_a_payment_is_confirmed_when_its_block_is_the_sixth_from_the_head(base_node: Anvil, watcher: Watcher) -> None:
    transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 1)
    base_node.mine(4)
    read_all(watcher)
    assert states() == [DETECTED]
    Transfer.objects.update(queued_at=None)
    base_node.mine()
    read_all(watcher)
    assert states() == [CONFIRMED]
    found = Transfer.objects.get()
    assert found.confirmed_at is not None
    assert found.queued_at == found.confirmed_at


def test_what_is_paid_to_an_address_of_simulated_money_is_left_alone(base_node: Anvil, watcher: Watcher) -> None:
    make_deposit()
    transfer(base_node, payer(base_node), USDC, address_of(make_deposit(mode="test")), 25_000_000)
    read_all(watcher)
    assert states() == []
    assert ChainCursor.objects.get().height == base_node.block_number()


def test_a_known_wrong_token_is_recorded_under_its_own_name(base_node: Anvil, watcher: Watcher) -> None:
    wrong = deploy_token(base_node, "USDbC")
    mint(base_node, wrong, address_of(make_deposit()), 25_000_000)
    read_all(watcher)
    assert Transfer.objects.get().token == "USDbC"


def test_an_amount_of_any_size_is_exact(base_node: Anvil, watcher: Watcher) -> None:
    bank = deploy_token(base_node, "USDbC")
    units = 2**255 + 1
    mint(base_node, bank, address_of(make_deposit()), units)
    read_all(watcher)
    assert Transfer.objects.get().units == units


def test_each_transfer_of_a_transaction_has_its_own_position(base_node: Anvil, watcher: Watcher) -> None:
    mine, other = make_deposit(), make_deposit()
    stranger = base_node.accounts[7].address
    payments = [(stranger, 1), (address_of(mine), 2), (address_of(other), 3), (address_of(mine), 4)]
    transfer_many(base_node, payer(base_node), USDC, payments)
    read_all(watcher)
    found = Transfer.objects.order_by("position").values_list("position", "units", "deposit")
    assert list(found) == [(1, 2, mine.pk), (2, 3, other.pk), (3, 4, mine.pk)]


def test_reading_a_block_again_changes_nothing(base_node: Anvil, watcher: Watcher) -> None:
    transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 1)
    read_all(watcher)
    before = list(Transfer.objects.values())
    ChainCursor.objects.update(height=-1, block_hash="")
    read_all(watcher)
    assert list(Transfer.objects.values()) == before


def test_blocks_without_transfers_move_the_cursor(base_node: Anvil, watcher: Watcher) -> None:
    base_node.mine(3)
    read_all(watcher)
    cursor = ChainCursor.objects.get()
    assert cursor.height == cursor.head == base_node.block_number()
    assert cursor.block_hash == base_node.block()["hash"]


def test_a_pass_with_nothing_new_still_vouches_for_the_chain(base_node: Anvil, watcher: Watcher) -> None:
    read_all(watcher)
    now = timezone.now()
    assert watcher.tick(now=now) is PassOutcome.IDLE
    cursor = ChainCursor.objects.get()
    assert (cursor.read_through_at, cursor.head_at) == (now, now)
    assert base_node.block_number() == cursor.height


def test_the_factory_is_looked_for_and_noted(base_node: Anvil, watcher: Watcher) -> None:
    assert base_node.block_number() > 0
    read_all(watcher)
    assert ChainCursor.objects.get().factory_ok is True


def test_past_a_thousand_addresses_the_database_alone_decides(
    base_node: Anvil, watcher: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wallets.selectors.MOST_RECIPIENTS", 1)
    mine, other = make_deposit(), make_deposit()
    payments = [(base_node.accounts[7].address, 5), (address_of(mine), 6)]
    transfer_many(base_node, payer(base_node), USDC, payments)
    transfer(base_node, payer(base_node), USDC, address_of(other), 7)
    read_all(watcher)
    units = Transfer.objects.order_by("units").values_list("units", flat=True)
    assert list(units) == [6, 7]


def test_far_behind_the_head_ranges_are_read_and_the_window_grows(base_node: Anvil, watcher: Watcher) -> None:
    deposit = make_deposit()
    transfer(base_node, payer(base_node), USDC, address_of(deposit), 1)
    base_node.mine(40)
    transfer_many(base_node, payer(base_node), USDC, [(address_of(deposit), 2)] * 2)
    base_node.mine(90)
    read_all(watcher)
    assert Transfer.objects.filter(state=CONFIRMED).count() == 3
    assert list(Transfer.objects.order_by("pk").values_list("position", flat=True)) == [0, 0, 1]
    assert ChainCursor.objects.get().window > 10


def test_no_node_means_nothing_moves_and_the_failure_is_told(start_node: StartNode) -> None:
    node = start_node(8453)
    watcher = make_watcher(node.url)
    read_all(watcher)
    before = ChainCursor.objects.get()
    node.stop()
    with pytest.raises(ChainUnavailableError):
        watcher.tick(now=timezone.now())
    after = ChainCursor.objects.get()
    assert (after.height, after.read_through_at) == (before.height, before.read_through_at)
    assert after.failing_since is not None
    assert "does not answer" in after.last_error
    watcher.close()


def test_old_block_hashes_are_forgotten(base_node: Anvil, watcher: Watcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wallets.watchers.ingest.LEAST_KEPT_BLOCKS", 5)
    base_node.mine(40)
    read_all(watcher)
    kept = list(Block.objects.order_by("height").values_list("height", flat=True))
    head = base_node.block_number()
    assert kept == list(range(head - 23, head + 1))


def test_reading_can_begin_at_a_block_that_is_not_there_yet(base_node: Anvil) -> None:
    height = base_node.block_number()
    watcher = make_watcher(base_node.url, START_BLOCK=str(height + 3))
    to = address_of(make_deposit())
    transfer(base_node, payer(base_node), USDC, to, 1)
    read_all(watcher)
    base_node.mine()
    read_all(watcher)
    transfer(base_node, payer(base_node), USDC, to, 2)
    read_all(watcher)
    assert list(Transfer.objects.values_list("units", flat=True)) == [2]
    watcher.close()


REFUSES_ANY_RANGE = faults.refuses(-32005, "block range too large", method="eth_getLogs")


def test_a_block_that_no_window_is_small_enough_for_is_told(base_node: Anvil) -> None:
    with RpcProxy(base_node.url) as proxy:
        watcher = make_watcher(proxy.url)
        make_deposit()
        base_node.mine(100)
        proxy.fault = REFUSES_ANY_RANGE
        with pytest.raises(ChainUnavailableError):
            read_all(watcher)
        cursor = ChainCursor.objects.get()
        assert (cursor.window, cursor.height) == (1, -1)
        assert "range" in cursor.last_error
        watcher.close()


@pytest.mark.parametrize(
    "fault",
    [
        REFUSES_ANY_RANGE,
        faults.results(lambda method, result: None if method == "eth_getTransactionReceipt" else result),
        faults.results(
            lambda method, result: (
                [log | {"blockHash": "0x" + "ab" * 32} for log in result] if method == "eth_getLogs" else result
            )
        ),
    ],
    ids=["takes no block", "has no receipts", "contradicts itself"],
)
def test_a_node_that_always_fails_to_read_leaves_the_reading_to_the_next(base_node: Anvil, fault: faults.Fault) -> None:
    with RpcProxy(base_node.url) as proxy:
        watcher = make_watcher(proxy.url, base_node.url)
        transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 25)
        proxy.fault = fault
        for _ in range(3):
            with suppress(ReorgDuringReadError):
                read_all(watcher)
        assert states() == [DETECTED]
        assert ChainCursor.objects.get().height == base_node.block_number()
        watcher.close()


def test_a_node_far_behind_does_not_pass_for_a_deep_fork(base_node: Anvil, watcher: Watcher) -> None:
    base_node.mine(3)
    read_all(watcher)
    # As if another node had led us on, by more blocks than are remembered.
    ChainCursor.objects.update(height=F("height") + 1_000, block_hash="0x" + "ab" * 32)
    Block.objects.all().delete()
    with pytest.raises(ChainUnavailableError):
        read_all(watcher)
    cursor = ChainCursor.objects.get()
    assert not cursor.halted_reason
    assert cursor.last_error


def test_two_nodes_on_different_forks_are_told_and_nothing_is_taken_back(base_node: Anvil) -> None:
    with RpcProxy(base_node.url) as proxy:
        watcher = make_watcher(proxy.url)
        transfer(base_node, payer(base_node), USDC, address_of(make_deposit()), 1)
        read_all(watcher)
        base_node.mine()
        newest = base_node.block_number()

        def other_parent(method: str, result: Any) -> Any:
            is_newest = method == "eth_getBlockByNumber" and int(result["number"], 16) == newest
            return result | {"parentHash": "0x" + "12" * 32} if is_newest else result

        proxy.fault = faults.results(other_parent)
        with pytest.raises(ReorgDuringReadError):
            read_all(watcher)
        assert states() == [DETECTED]
        watcher.close()
