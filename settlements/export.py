"""The merchant's export of settlements and holds."""

from collections.abc import Iterator
from typing import Final

from accounts.models import Merchant
from gateway.core.exports import ExportTable, table_of
from settlements.models import Hold, Settlement

_SETTLEMENT: Final = (
    "public_id mode purpose chain token to units units_moved status sender tx_hash error created_at settled_at"
)
_HOLD: Final = "subject_id mode created_at released_at released_by released_actor__email"


def tables(merchant: Merchant) -> Iterator[ExportTable]:
    """Return this app's files."""
    settlements = Settlement.objects.filter(merchant=merchant)
    yield table_of("settlements", settlements, _SETTLEMENT)
    yield table_of("escrow_holds", Hold.objects.filter(merchant=merchant), _HOLD)
