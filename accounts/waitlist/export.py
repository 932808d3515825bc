"""The merchant's export of the waitlist."""

from collections.abc import Iterator

from accounts.models import FiatInterest, Merchant
from gateway.core.exports import ExportTable, table_of


def tables(merchant: Merchant) -> Iterator[ExportTable]:
    """Return this app's file."""
    yield table_of(
        "fiat_waitlist",
        FiatInterest.objects.filter(merchant=merchant),
        "mode email company country monthly_volume created_at",
    )
