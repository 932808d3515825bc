"""The texts of a receipt by mail, rendered when it is sent.

Queuing happens while checkouts are locked and must not fail because of a template. Also, a payment that a reorg removed
before sending must not be confirmed.
"""

from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext

from accounts.brand.facts import with_brand
from checkouts.lifecycle.receipts import WITHDRAWN
from checkouts.lifecycle.signed_receipts import FILE_NAME, MEDIA_TYPE, signed_receipt
from checkouts.line_items import Invoice
from checkouts.models import Checkout
from checkouts.page.build import Conditions, build_page
from checkouts.page.news import read_news
from checkouts.page.receipt_facts import ReceiptFacts, receipt_facts
from checkouts.page.state import CheckoutPage, PageQuery, ShownRate
from checkouts.payloads import checkout_url
from checkouts.rows import credited_transfers
from checkouts.states import CheckoutException, CheckoutStatus
from gateway.core.api.errors import ConflictError
from mails.words import MailFile, MailWords, TooEarlyError


class ReceiptLine(NamedTuple):
    """A labelled fact of a receipt, such as `Network: Base`, with an optional `url` to its source."""

    label: str
    value: str
    url: str = ""


def receipt_words(subject: str) -> MailWords | None:
    """Return the receipt of a completed checkout in the active language.

    `subject` is the checkout's id, followed by a colon and a mail's own id if a member sent it by hand, or if it takes a receipt
    back. None if there is nothing to confirm: the checkout is unknown, not completed, or its money was removed by a reorg; if
    the money returns, the automatic receipt is queued again. Raises TooEarlyError while a payment is in doubt.
    """
    public_id, _, own = subject.partition(":")
    if own.startswith(f"{WITHDRAWN}:"):
        return _withdrawn_words(public_id)
    completed = Checkout.objects.filter(public_id=public_id, status=CheckoutStatus.COMPLETED).exclude(
        exception=CheckoutException.REVERSED
    )
    checkout = with_brand(completed).first()
    if checkout is None:
        return None
    page = _page(checkout)
    if page.is_doubted:
        raise TooEarlyError
    names = {"merchant": page.merchant_name}
    title = gettext("Receipt from %(merchant)s") % names
    context = {
        "title": title,
        "is_test": page.is_test,
        "received": page.received,
        "lines": _lines(page, receipt_facts(checkout)),
        "receipt_url": f"{checkout_url(page.code)}/receipt",
        "signed_url": f"{checkout_url(page.code)}/receipt.jws" if settings.ENCRYPTION_KEYS else "",
        "support_url": page.brand.support_url,
        "legal_lines": page.brand.legal_lines,
        **names,
    }
    # "Test" comes first: mail programs truncate the end.
    test_title = gettext("Test receipt from %(merchant)s") % names
    return MailWords(
        subject=test_title if page.is_test else title,
        text=_render("checkouts/emails/receipt.txt", context),
        html=_render("checkouts/emails/receipt.html", context),
        file=_signed(checkout),
    )


def _signed(checkout: Checkout) -> MailFile | None:
    """Return the signed receipt as a file, because a link needs this server; None where nothing can be signed."""
    try:
        # A mail is written when it is sent, by the process that sends it.
        token = signed_receipt(checkout, now=timezone.now())
    except ConflictError:
        return None
    return MailFile(FILE_NAME, token, MEDIA_TYPE)


def _withdrawn_words(public_id: str) -> MailWords | None:
    """Return what takes a receipt back, in words of its page; None if the money is back."""
    reversed_ = Checkout.objects.filter(public_id=public_id, exception=CheckoutException.REVERSED)
    checkout = with_brand(reversed_).first()
    if checkout is None:
        return None
    page = _page(checkout)
    names = {"merchant": page.merchant_name}
    title = (
        gettext("Test receipt from %(merchant)s") if page.is_test else gettext("Receipt from %(merchant)s")
    ) % names
    said = gettext(
        "The network reversed this payment, so it confirms nothing now. If the money returns, the receipt returns too. "
        "Ask %(merchant)s before you send anything again."
    )
    parts = [
        gettext("This receipt is withdrawn."),
        said % names,
        f"{gettext('Receipt number')}: {page.receipt_number}\n{checkout_url(page.code)}/receipt",
    ]
    return MailWords(f"{title}: {gettext('Reversed by the network')}", "\n\n".join(parts) + "\n")


def _page(checkout: Checkout) -> CheckoutPage:
    return build_page(
        checkout,
        transfers=credited_transfers([checkout.pk]).get(checkout.pk, []),
        choice=PageQuery(),
        conditions=Conditions(news=read_news(checkout)),
        # The page of a completed checkout does not depend on the time.
        now=checkout.paid_at or checkout.created_at,
    )


def _lines(page: CheckoutPage, facts: ReceiptFacts) -> list[ReceiptLine]:
    lines = [
        ReceiptLine(gettext("Paid"), page.received),
        ReceiptLine(gettext("For"), " ".join(page.description.split())),
        ReceiptLine(gettext("Order"), " ".join(facts.order_ref.split())),
        *_invoiced(facts.invoice),
        *(
            ReceiptLine(
                f"{item.quantity} \N{MULTIPLICATION SIGN} {' '.join(item.name.split())}", f"{page.sign}{item.total}"
            )
            for item in facts.items
        ),
        ReceiptLine(gettext("Price"), f"{page.sign}{page.price} {page.currency}"),
        *_quoted(page),
        ReceiptLine(gettext("Overpaid"), page.excess),
        ReceiptLine(gettext("Refunded"), page.refunded),
        ReceiptLine(
            gettext("Held"),
            gettext("until %(merchant)s releases it") % {"merchant": page.merchant_name} if page.is_held else "",
        ),
        ReceiptLine(gettext("Date"), _moment(page.paid_at)),
        ReceiptLine(gettext("Receipt number"), page.receipt_number),
    ]
    is_one = len(page.transfers) == 1
    for transfer in page.transfers:
        lines += [
            # A single transfer is already described above.
            ReceiptLine(gettext("Amount"), "" if is_one else transfer.amount),
            ReceiptLine(gettext("Network"), transfer.chain_name),
            ReceiptLine(gettext("Transaction"), transfer.tx_hash, transfer.url or ""),
        ]
    return [line for line in lines if line.value]


def _invoiced(invoice: Invoice | None) -> list[ReceiptLine]:
    if invoice is None:
        return []
    return [
        ReceiptLine(gettext("Invoice number"), invoice.number),
        ReceiptLine(gettext("Billed to"), invoice.buyer),
        ReceiptLine(gettext("Due date"), date_format(invoice.due, "j M Y") if invoice.due else ""),
    ]


def _quoted(page: CheckoutPage) -> list[ReceiptLine]:
    """Return the lines of a price that was converted, and of other rates that its money was counted at."""
    others = [
        line
        for one in page.rates
        for line in (ReceiptLine(gettext("Exchange rate"), f"1 {one.currency} = {one.rate} USD"), *_rate_lines(one))
    ]
    if page.quote is None:
        return others
    margin = f"{page.quote.margin} %" if page.quote.margin else ""
    return [
        ReceiptLine(gettext("In US dollars"), f"{page.quote.usd} USD"),
        ReceiptLine(gettext("Exchange rate"), f"1 {page.currency} = {page.quote.rate} USD"),
        ReceiptLine(gettext("Seller's margin"), margin),
        *_rate_lines(page.quote),
        *others,
    ]


def _rate_lines(rate: ShownRate) -> list[ReceiptLine]:
    return [
        ReceiptLine(gettext("Rate from"), f"{source.name}: {source.rate}, {_moment(source.taken_at)}")
        for source in rate.sources
    ]


def _moment(moment: datetime | None) -> str:
    return f"{date_format(moment, 'j M Y, H:i')} UTC" if moment else ""


def _render(template: str, context: dict[str, Any]) -> str:
    return render_to_string(template, context).strip() + "\n"
