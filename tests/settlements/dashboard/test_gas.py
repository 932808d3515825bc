"""The box that tells of gas."""

from decimal import Decimal

import pytest
from django.utils import timezone

from settlements.models import GasAccount
from tests.dashboard.machines import GAS_KEY, make_gas_transaction
from tests.dashboard.people import Desk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_nodes")]


@pytest.mark.usefixtures("gas_key")
def test_the_gas_box_warns_of_a_low_balance_and_tells_the_limit(viewer: Desk) -> None:
    now = timezone.now()
    made = make_gas_transaction("50000000000000000", now=now)
    GasAccount.objects.filter(pk=made.account.pk).update(balance_wei=Decimal(10) ** 15, balance_at=now)
    page = viewer.get("dashboard_settlements")
    rows = {row.chain: row for row in page.context["gas"]}
    base = rows["base"]
    assert (base.balance, base.spent, base.limit) == (Decimal("0.001"), Decimal("0.05"), Decimal("0.05"))
    assert base.is_low
    assert base.is_spent
    assert rows["polygon"].balance is None
    assert "Gas runs low on Base" in page.text
    assert GAS_KEY[2:] not in page.text
