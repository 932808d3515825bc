"""Settlements as the API and files show them."""

from decimal import Decimal
from typing import Final

from rest_framework import serializers as s

from gateway.core.api.serializers import Answer, Moment, Text
from gateway.core.money import format_units
from settlements import models
from settlements.states import SettlementStatus
from wallets.networks import chain_spec, decimals_of
from wallets.states import ClaimKind

CSV_HEADER: Final = """
    id created_at status purpose chain token amount to tx_hash explorer_url settled_at error
""".split()


class Settlement(Answer):
    """Money on its way from forwarders to the merchant's wallet."""

    id = s.CharField(source="public_id")
    chain = s.CharField()
    token = s.CharField()
    amount = s.CharField()
    to = s.CharField()
    status = s.ChoiceField(SettlementStatus.choices)
    txHash = Text(source="tx_hash", allow_null=True)
    created_at = Moment()

    def get_amount(self, settlement: models.Settlement) -> str:
        """Return the planned amount until the settlement ended, then the moved amount."""
        is_settled = settlement.status == SettlementStatus.SETTLED
        units = settlement.units_moved if is_settled else settlement.units
        return format_units(units, decimals_of(settlement.chain, settlement.token))


class ReportSettlement(Settlement):
    """Money that was sent on from forwarders to a receiving wallet. `amount` is what moved, or the plan until it ended."""

    txHash = None  # type: ignore[assignment]  # how DRF leaves out an inherited field
    purpose = s.ChoiceField(choices=ClaimKind.choices)
    tx_hash = Text(allow_null=True)
    explorer_url = s.CharField(allow_null=True)
    settled_at = Moment(allow_null=True)
    error = Text(allow_null=True)

    def get_explorer_url(self, settlement: models.Settlement) -> str | None:
        """Return the transaction's page in the chain's explorer."""
        tx_hash = settlement.tx_hash
        return chain_spec(settlement.chain).transaction_url(tx_hash) if tx_hash else None


def csv_cells(settlement: models.Settlement) -> tuple[object, ...]:
    """Return a line of a file; amounts are numbers there."""
    line = ReportSettlement.of(settlement)
    line["amount"] = Decimal(line["amount"])
    return tuple(line[name] for name in CSV_HEADER)
