"""Settlements in the API's format."""

from typing import Any

from gateway.core.money import format_units
from gateway.core.times import iso
from settlements.models import Settlement
from settlements.states import SettlementStatus


def settlement_payload(settlement: Settlement) -> dict[str, Any]:
    """Return one settlement; `amount` is the planned amount until it ended, then the moved amount."""
    is_settled = settlement.status == SettlementStatus.SETTLED
    units = settlement.units_moved if is_settled else settlement.units
    return {
        "id": settlement.public_id,
        "chain": settlement.chain,
        "token": settlement.token,
        "amount": format_units(units),
        "to": settlement.to,
        "status": settlement.status,
        "txHash": settlement.tx_hash or None,
        "created_at": iso(settlement.created_at),
    }
