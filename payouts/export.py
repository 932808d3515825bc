"""The merchant's export of refunds and payouts."""

from collections.abc import Iterator
from typing import Final

from accounts.models import Merchant
from gateway.core.exports import ExportTable, table_of
from payouts.models import Payout, PayoutSource

_PAYOUT: Final = (
    "public_id mode kind status exception chain token units address address_by reason reference email metadata "
    "movement__tx_hash imported_tx created_at addressed_at approved_at paid_at ended_at quote"
)


def tables(merchant: Merchant) -> Iterator[ExportTable]:
    """Return this app's files."""
    yield table_of("payouts", Payout.objects.filter(merchant=merchant), _PAYOUT)
    yield table_of(
        "payout_sources",
        PayoutSource.objects.filter(payout__merchant=merchant),
        "payout__public_id transfer__public_id units",
    )
