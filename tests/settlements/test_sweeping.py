"""Sweeps of forwarders on a local node, from a payment that a watcher saw to the merchant's wallet."""

from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from settlements.gas.node import GasNode
from settlements.models import GasTransaction, Hold, Settlement, SettlementItem
from settlements.services.planning import Waiting, waiting_items, write_batch
from settlements.services.sweeping import resume, sweep
from settlements.services.tending import tend
from settlements.states import SettlementStatus
from tests.nodes.anvil import Anvil
from tests.nodes.local_chain import payer
from tests.nodes.tokens import balance_of, token_address
from tests.wallets.factories import address_of, make_deposit, make_watcher, read_all
from tests.wallets.paying import transfer
from wallets.forwarder import checksum
from wallets.models import DepositAddress

pytestmark = pytest.mark.django_db
USDC = token_address("USDC")
WAITING = Waiting("base", "USDC")


@pytest.fixture(autouse=True)
def _tokens(base_settings: Any) -> None:
    base_settings.CHAIN_SETTINGS = base_settings.CHAIN_SETTINGS | {
        "BASE_TOKEN_USDC": USDC,
        "BASE_CONFIRMATIONS": "6",
    }
    # A local node's gas is dear.
    base_settings.GAS_COIN_USD = {"base": "10"}


def paid(node: Anvil, *units: int) -> list[DepositAddress]:
    """Deposit addresses that a watcher saw being paid for good."""
    deposits = []
    watcher = make_watcher(node.url)
    read_all(watcher)
    for amount in units:
        deposit = make_deposit()
        transfer(node, payer(node), USDC, address_of(deposit), amount)
        deposits.append(deposit)
    node.mine(6)
    read_all(watcher)
    watcher.close()
    return deposits


def settle(node: GasNode, base_node: Anvil) -> None:
    """Let the chain grow, and everybody look."""
    base_node.mine(6)
    tend("base", node=node, now=timezone.now())
    resume("base", node=node, now=timezone.now())


def test_what_waits_arrives_at_the_merchants_wallets(
    node: GasNode, base_node: Anvil
) -> None:
    deposits = paid(base_node, 25_000_000, 30_000_000)
    wallet = checksum(bytes(deposits[0].destination))
    before = balance_of(base_node, USDC, wallet)
    settlements = sweep(WAITING, node=node, now=timezone.now())
    assert {one.status for one in settlements} == {SettlementStatus.SENT}
    settle(node, base_node)
    for settlement in settlements:
        settlement.refresh_from_db()
        assert settlement.status == SettlementStatus.SETTLED
        assert settlement.units_moved == settlement.units
        assert settlement.tx_hash
    assert GasTransaction.objects.count() == 1
    assert balance_of(base_node, USDC, wallet) == before + 55_000_000


def test_two_runs_send_one_batch(node: GasNode, base_node: Anvil) -> None:
    paid(base_node, 25_000_000)
    assert sweep(WAITING, node=node, now=timezone.now())
    assert sweep(WAITING, node=node, now=timezone.now()) == []
    assert GasTransaction.objects.count() == 1


def test_a_forwarder_is_in_one_open_settlement(base_node: Anvil) -> None:
    paid(base_node, 25_000_000)
    items = waiting_items(WAITING, now=timezone.now())
    write_batch(WAITING, items, now=timezone.now())
    with pytest.raises(IntegrityError):
        write_batch(WAITING, items, now=timezone.now())


def test_a_batch_that_was_never_sent_is_sent_by_the_next_run(
    node: GasNode, base_node: Anvil
) -> None:
    paid(base_node, 25_000_000)
    now = timezone.now()
    [settlement] = write_batch(WAITING, waiting_items(WAITING, now=now), now=now)
    resume("base", node=node, now=timezone.now())
    settle(node, base_node)
    settlement.refresh_from_db()
    assert settlement.status == SettlementStatus.SETTLED


def test_what_costs_more_than_it_is_worth_waits(
    node: GasNode, base_node: Anvil
) -> None:
    paid(base_node, 10_000)
    assert sweep(WAITING, node=node, now=timezone.now()) == []
    assert not SettlementItem.objects.exists()


def test_nothing_waits_that_is_held_in_escrow(node: GasNode, base_node: Anvil) -> None:
    [deposit] = paid(base_node, 25_000_000)
    hold = Hold.objects.create(
        merchant=deposit.merchant, mode="live", subject_id="chk", nonce=deposit.nonce
    )
    assert sweep(WAITING, node=node, now=timezone.now()) == []
    hold.released_at, hold.released_by = timezone.now(), "member"
    hold.save()
    assert len(sweep(WAITING, node=node, now=timezone.now())) == 1
    assert Settlement.objects.count() == 1
