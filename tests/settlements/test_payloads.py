"""Settlements as the API tells of them."""

import pytest

from settlements.models import Settlement
from settlements.payloads import settlement_payload
from settlements.states import SettlementStatus
from tests.factories import NOON


@pytest.mark.parametrize(
    ("status", "amount"), [(SettlementStatus.PENDING, "49.000000"), (SettlementStatus.SETTLED, "48.500000")]
)
def test_the_amount_is_what_moves_until_it_is_what_moved(status: SettlementStatus, amount: str) -> None:
    told = settlement_payload(
        Settlement(chain="base", token="USDC", status=status, units=49_000_000, units_moved=48_500_000, created_at=NOON)
    )
    assert told["amount"] == amount
    assert told["txHash"] is None
