"""Forwarders are emptied without anybody asking: from a minimum on, and not too often."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts.audit.actors import SYSTEM
from accounts.models import AuditEntry, Merchant
from gateway.core.api.errors import InvalidRequestError
from localnet.anvil import Anvil
from settlements.gas.node import GasNode
from settlements.models import Hold, Settlement, SettlementSettings
from settlements.sweeps.schedule import MOST_HOURS, due_owners, set_intervals, settings_of, sweep_due
from tests.factories import NOON, make_merchant
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


# How often a merchant's forwarders are emptied without anybody asking.


def ask(merchant: Merchant, minimum: str, hours: int) -> SettlementSettings:
    return set_intervals(merchant, minimum=Decimal(minimum), every_hours=hours, actor=SYSTEM, now=NOON)


def test_what_was_said_holds_and_is_audited_once() -> None:
    merchant = make_merchant()
    for _ in range(2):
        ask(merchant, "250.00", 24)
    kept = settings_of(merchant)
    assert (kept.minimum, kept.every_hours) == (Decimal("250.00"), 24)
    told = AuditEntry.objects.filter(action="settlements.intervals_set")
    assert told.count() == 1


def test_where_nobody_said_anything_nothing_is_kept() -> None:
    merchant = make_merchant()
    assert settings_of(merchant)._state.adding
    assert not SettlementSettings.objects.exists()
    assert isinstance(settings_of(merchant).minimum, Decimal)


@pytest.mark.parametrize(
    ("minimum", "hours", "param"),
    [
        ("1", -1, "every_hours"),
        ("1", MOST_HOURS + 1, "every_hours"),
        ("-1", 1, "minimum"),
        ("1000000.01", 1, "minimum"),
        ("0.001", 1, "minimum"),
    ],
)
def test_what_cannot_be_kept_is_refused(minimum: str, hours: int, param: str) -> None:
    merchant = make_merchant()
    with pytest.raises(InvalidRequestError) as caught:
        ask(merchant, minimum, hours)
    assert caught.value.param == param
    assert not SettlementSettings.objects.exists()
