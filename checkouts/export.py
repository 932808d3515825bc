"""The merchant's export of checkouts, payments, inbox items, decisions about money, buyers' reports, and terminals."""

from collections.abc import Iterator
from typing import Final

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from accounts.models import Merchant
from checkouts.models import (
    Acceptance,
    BuyerReport,
    Checkout,
    InboxDecision,
    InboxItem,
    Payment,
    Quote,
    Terminal,
    TerminalSale,
)
from gateway.core.exports import ExportTable, table_of

_CHECKOUT: Final = """
    public_id mode status exception amount price currency amount_received accepted_amount description metadata customer_email customer_ref
    product_ref order_ref redirect_url webhook_url created_at expires_at paid_at escrow token_dues
"""
_QUOTE: Final = "checkout__public_id currency price usd_amount rate margin sources taken_at"
_ITEM: Final = "mode transfer__public_id checkout__public_id reason explanation status created_at resolved_at"
_DECISION: Final = """
    item__transfer__public_id item__reason act checkout__public_id refund_tx accepted_amount actor__email decided_at done_at
    undone_at undone_by__email failure
"""
_ACCEPTANCE: Final = """
    checkout__public_id amount actor__email decided_at done_at undone_at undone_by__email failure
"""
_TERMINAL: Final = """
    public_id mode name currency tips chain chains follows has_sign shows_day device created_by__email created_at paired_at last_seen_at revoked_at
"""
_SALE: Final = "terminal__public_id checkout__public_id tip is_by_customer created_at"
_REPORT: Final = "mode checkout__public_id tx_hash chain verdict details reported_at looked_at closed_at"


def _checkouts(merchant: Merchant) -> QuerySet[Checkout]:
    return Checkout.objects.filter(merchant=merchant).annotate(token_dues=Cast("dues", TextField()))


def _quotes(merchant: Merchant) -> QuerySet[Quote]:
    return Quote.objects.filter(checkout__merchant=merchant).annotate(sources=Cast("evidence", TextField()))


def tables(merchant: Merchant) -> Iterator[ExportTable]:
    """Return this app's files. A transfer and a reason identify an inbox item."""
    yield table_of("checkouts", _checkouts(merchant), _CHECKOUT)
    yield table_of("quotes", _quotes(merchant), _QUOTE)
    yield table_of(
        "payments",
        Payment.objects.filter(checkout__merchant=merchant),
        "checkout__public_id transfer__public_id reason credited_at",
    )
    yield table_of("inbox", InboxItem.objects.filter(merchant=merchant), _ITEM)
    yield table_of("inbox_decisions", InboxDecision.objects.filter(item__merchant=merchant), _DECISION)
    yield table_of("acceptances", Acceptance.objects.filter(checkout__merchant=merchant), _ACCEPTANCE)
    yield table_of("buyer_reports", BuyerReport.objects.filter(merchant=merchant), _REPORT)
    yield table_of("terminals", Terminal.objects.filter(merchant=merchant), _TERMINAL)
    yield table_of("terminal_sales", TerminalSale.objects.filter(terminal__merchant=merchant), _SALE)
