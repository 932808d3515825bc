"""Sweeps of forwarders on a local node, from a payment that a watcher saw to the merchant's wallet."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from demo.localnet.anvil import Anvil
from demo.localnet.tokens import balance_of
from settlements.gas.node import GasNode
from settlements.models import GasTransaction, Hold, Settlement, SettlementItem
from settlements.states import SettlementStatus
from settlements.sweeps.calls import MOST_ITEMS
from settlements.sweeps.plan import (
    waiting_items,
    write_batch,
)
from settlements.sweeps.service import (
    UNSENT_FOR,
    resume,
    sweep,
)
from tests.factories import make_merchant
from tests.settlements.chain import USDC, WAITING, paid, paid_together, settle
from wallets.forwarders.addresses import checksum

pytestmark = pytest.mark.django_db

# Of any transaction (EIP-7825).
MOST_GAS = 2**24


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


def test_a_batch_that_cannot_be_sent_for_a_day_sets_its_forwarders_free(
    node: GasNode, base_node: Anvil, base_settings: Any
) -> None:
    paid(base_node, 25_000_000)
    base_settings.GAS_MAX_GWEI = {"base": "0.000000001"}
    [settlement] = sweep(WAITING, node=node, now=timezone.now())
    assert settlement.status == SettlementStatus.PENDING
    later = timezone.now() + UNSENT_FOR + timedelta(minutes=1)
    assert resume("base", node=node, now=later) == 1
    settlement.refresh_from_db()
    assert settlement.status == SettlementStatus.FAILED
    assert len(waiting_items(WAITING, now=later)) == 1


def test_gas_that_became_dear_before_it_was_sent_is_not_paid(
    node: GasNode, base_node: Anvil, base_settings: Any
) -> None:
    paid(base_node, 25_000_000)
    now = timezone.now()
    [settlement] = write_batch(WAITING, waiting_items(WAITING, now=now), now=now)
    base_settings.GAS_COIN_USD = {"base": "100000000"}
    resume("base", node=node, now=now)
    settlement.refresh_from_db()
    assert settlement.status == SettlementStatus.FAILED
    assert "gas would cost too much" in settlement.error
    assert not GasTransaction.objects.exists()


def test_a_full_batch_of_a_token_with_a_block_list_fits_its_gas(
    node: GasNode, base_node: Anvil, base_settings: Any
) -> None:
    base_settings.GAS_DAILY_COINS = {"base": "1"}
    paid_together(
        base_node, MOST_ITEMS, merchant=make_merchant(), units=250_000_000_000 // 150
    )
    assert len(sweep(WAITING, node=node, now=timezone.now())) == MOST_ITEMS
    settle(node, base_node)
    [made] = GasTransaction.objects.all()
    assert made.gas_used is not None
    assert MOST_ITEMS * 70_000 < made.gas_used < made.gas_limit < MOST_GAS
    statuses = Settlement.objects.values_list("status", flat=True)
    assert set(statuses) == {SettlementStatus.SETTLED}


def test_batches_are_no_larger_than_the_days_limit_pays_for(
    node: GasNode, base_node: Anvil, base_settings: Any
) -> None:
    paid(base_node, *[25_000_000] * 6)
    prices = node.prices()
    limit = 1_000_000 * (2 * prices.base_fee + prices.tip)
    base_settings.GAS_DAILY_COINS = {"base": str(Decimal(limit) / 10**18)}
    sweep(WAITING, node=node, now=timezone.now())
    [made] = GasTransaction.objects.all()
    assert made.gas_limit <= 1_000_000
    assert Settlement.objects.filter(status=SettlementStatus.PENDING).exists()
