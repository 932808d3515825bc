"""The merchant's export of machines' payments."""

from collections.abc import Iterator
from typing import Final

from accounts.models import Merchant
from gateway.core.exports import ExportTable, table_of
from x402.models import X402Payment

_PAYMENT: Final = """
    public_id mode protocol chain token units required_units tx_hash position payer pay_to is_signed resource status
    verified_at final_at settled_at reversed_at
"""


def tables(merchant: Merchant) -> Iterator[ExportTable]:
    """Return this app's files."""
    payments = X402Payment.objects.filter(merchant=merchant)
    yield table_of("x402_payments", payments, _PAYMENT)
