"""Forwarders are emptied without anybody asking: from a minimum on, and not too often."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Merchant
from demo.localnet.anvil import Anvil
from settlements.gas.node import GasNode
from settlements.models import Hold, Settlement, SettlementSettings
from settlements.sweeps.schedule import due_owners, sweep_due
from tests.factories import make_merchant
from tests.settlements.chain import paid, settle
from wallets.states import ClaimKind

pytestmark = pytest.mark.django_db
DAY = timedelta(hours=25)


def due(*, later: timedelta = timedelta()) -> list[int]:
    found = due_owners("base", "USDC", now=timezone.now() + later)
    assert {purpose for _, purpose in found} <= {ClaimKind.CHECKOUT}
    return sorted(merchant for merchant, _ in found)


def wants(merchant: Merchant, **values: Any) -> None:
    SettlementSettings.objects.update_or_create(merchant=merchant, defaults=values)


def test_forwarders_wait_until_they_hold_ten_dollars_together(base_node: Anvil, base_gas_node: GasNode) -> None:
    merchant = make_merchant()
    paid(base_node, 6_000_000, merchant=merchant)
    assert due() == []
    paid(base_node, 4_000_000, merchant=merchant)
    assert due() == [merchant.pk]


def test_a_merchant_says_from_how_much_on_and_how_often(base_node: Anvil, base_gas_node: GasNode) -> None:
    merchant = make_merchant()
    paid(base_node, 25_000_000, merchant=merchant)
    wants(merchant, minimum=26)
    assert due() == []
    wants(merchant, minimum=25)
    assert due() == [merchant.pk]
    wants(merchant, every_hours=0)
    assert due() == []


def test_the_next_one_comes_after_the_interval(base_node: Anvil, base_gas_node: GasNode) -> None:
    merchant = make_merchant()
    paid(base_node, 25_000_000, merchant=merchant)
    assert len(sweep_due("base", node=base_gas_node, now=timezone.now())) == 1
    settle(base_gas_node, base_node)
    paid(base_node, 25_000_000, merchant=merchant)
    assert due() == []
    assert due(later=DAY) == [merchant.pk]


def test_the_money_of_a_closed_account_is_settled_all_the_same(base_node: Anvil, base_gas_node: GasNode) -> None:
    merchant = make_merchant()
    paid(base_node, 25_000_000, merchant=merchant)
    Merchant.objects.filter(pk=merchant.pk).update(closed_at=timezone.now())
    assert due() == [merchant.pk]
    sweep_due("base", node=base_gas_node, now=timezone.now())
    settle(base_gas_node, base_node)
    assert Settlement.objects.get(merchant=merchant).units_moved == 25_000_000


def test_what_is_held_in_escrow_counts_for_nothing(base_node: Anvil, base_gas_node: GasNode) -> None:
    [deposit] = paid(base_node, 25_000_000)
    Hold.objects.create(merchant=deposit.merchant, mode="live", subject_id="chk", nonce=deposit.nonce)
    assert due() == []
