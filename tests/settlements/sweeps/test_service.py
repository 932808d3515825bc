"""Sweeps of forwarders on a local node, from a payment that a watcher saw to the merchant's wallet."""

from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from demo.localnet.anvil import Anvil
from demo.localnet.tokens import balance_of
from settlements.gas.node import GasNode
from settlements.models import GasTransaction, Hold, Settlement
from settlements.states import SettlementStatus
from settlements.sweeps.service import (
    sweep,
)
from tests.settlements.chain import USDC, WAITING, paid, settle
from wallets.forwarders.addresses import checksum

pytestmark = pytest.mark.django_db


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
