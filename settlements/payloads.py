"""Settlements in the API's format."""

from decimal import Decimal
from typing import Any, Final

from gateway.core.money import format_units
from gateway.core.times import iso, iso_or_none
from settlements.models import Settlement
from settlements.states import SettlementStatus
from wallets.networks import chain_spec, decimals_of

CSV_HEADER: Final = """
    id created_at status purpose chain token amount to tx_hash explorer_url settled_at error
""".split()


def settlement_line(settlement: Settlement) -> dict[str, Any]:
    """Return a line of `GET /reports/settlements`."""
    told = settlement_payload(settlement)
    tx_hash = told.pop("txHash")
    spec = chain_spec(settlement.chain)
    return told | {
        "purpose": settlement.purpose,
        "tx_hash": tx_hash,
        "explorer_url": spec.transaction_url(tx_hash) if tx_hash else None,
        "settled_at": iso_or_none(settlement.settled_at),
        "error": settlement.error or None,
    }


def csv_cells(settlement: Settlement) -> tuple[object, ...]:
    """Return a line of a file; amounts are numbers there."""
    line = settlement_line(settlement)
    line |= {"amount": Decimal(line["amount"])}
    return tuple(line[name] for name in CSV_HEADER)


def settlement_payload(settlement: Settlement) -> dict[str, Any]:
    """Return one settlement; `amount` is the planned amount until it ended, then the moved amount."""
    is_settled = settlement.status == SettlementStatus.SETTLED
    units = settlement.units_moved if is_settled else settlement.units
    decimals = decimals_of(settlement.chain, settlement.token)
    return {
        "id": settlement.public_id,
        "chain": settlement.chain,
        "token": settlement.token,
        "amount": format_units(units, decimals),
        "to": settlement.to,
        "status": settlement.status,
        "txHash": settlement.tx_hash or None,
        "created_at": iso(settlement.created_at),
    }
