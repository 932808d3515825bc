"""The merchant's export of the facade: which keys were given to which plugin, and the options of shops' invoices."""

from collections.abc import Iterator

from accounts.models import Merchant
from gateway.core.exports import ExportTable, table_of
from greenfield.models import Connection, InvoiceOptions


def tables(merchant: Merchant) -> Iterator[ExportTable]:
    """Return this app's files."""
    yield table_of(
        "plugin_connections",
        Connection.objects.filter(api_key__merchant=merchant),
        "api_key__public_id permissions application redirect_host",
    )
    yield table_of(
        "plugin_invoice_options", InvoiceOptions.objects.filter(checkout__merchant=merchant), "checkout__public_id sent"
    )
