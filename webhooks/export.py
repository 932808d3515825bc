"""The merchant's export of webhooks, without bodies, which repeat the checkouts."""

from collections.abc import Iterator

from accounts.models import Merchant
from gateway.core.exports import ExportTable, table_of
from webhooks.models import Delivery, Endpoint
from webhooks.states import NOTES


def tables(merchant: Merchant) -> Iterator[ExportTable]:
    """Return this app's files."""
    yield table_of(
        "webhook_endpoints",
        Endpoint.objects.filter(merchant=merchant).exclude(mode=NOTES),
        "public_id mode url name events created_at created_by disabled_at disabled_reason",
    )
    yield table_of(
        "webhook_deliveries",
        Delivery.objects.filter(merchant=merchant).exclude(mode=NOTES),
        "public_id mode event_type status tries created_at finished_at",
    )
