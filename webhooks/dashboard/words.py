"""Labels of deliveries, endpoints and errors on the merchant's pages."""

from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from django.utils.translation import gettext, gettext_noop

from gateway.core.web.badges import Badge
from webhooks.models import Attempt, Endpoint
from webhooks.states import DeliveryStatus

_TABS: Final = (
    DeliveryStatus.PENDING,
    DeliveryStatus.DELIVERED,
    DeliveryStatus.FAILED,
    DeliveryStatus.HELD,
    DeliveryStatus.CANCELLED,
)
FAILING_TAB: Final = "failing"
TABS: Final = (
    ("", gettext_noop("All")),
    (FAILING_TAB, gettext_noop("Failing")),
    *((status, status.badge.word) for status in _TABS),
)
"""All, those that failed at least once and will be tried again, and those of each status."""

EVENTS: Final = MappingProxyType(
    {
        "checkout.completed": gettext_noop("The payment is final: deliver."),
        "checkout.expired": gettext_noop("It was not paid in time, or was cancelled."),
        "checkout.underpaid": gettext_noop("The final payments are too little."),
        "checkout.reversed": gettext_noop("A reorg removed money of a completed checkout: hold the order."),
        "checkout.restored": gettext_noop("All money of a reversed checkout is back."),
        "x402.payment.reversed": gettext_noop("A reorg reversed a machine's payment."),
        "x402.payment.returned": gettext_noop("A machine's reversed payment is valid again."),
        "gateway.restored": gettext_noop("The installation came back from a backup."),
        "checkout.processing": gettext_noop("Money that covers the price was seen. It may not be final yet."),
        "checkout.transfer_confirmed": gettext_noop("One transfer of a checkout is final, be it a part or too much."),
        "inbox.opened": gettext_noop("Money waits in the inbox for a person."),
        "inbox.closed": gettext_noop("An inbox item is decided, or its money is back."),
        "refund.claimed": gettext_noop("A buyer gave or changed the address of a refund."),
        "refund.approved": gettext_noop("A refund is approved: it waits for your wallet."),
        "refund.paid": gettext_noop("A refund is paid, and final. Again if it comes back after a reorg."),
        "refund.reversed": gettext_noop("A reorg removed the transaction that paid a refund."),
        "refund.ended": gettext_noop("A refund was cancelled, or its claim page expired."),
        "payout.claimed": gettext_noop("A recipient gave or changed the address of a payout."),
        "payout.approved": gettext_noop("A payout is approved: it waits for your wallet."),
        "payout.paid": gettext_noop("A payout is paid, and final. Again if it comes back after a reorg."),
        "payout.reversed": gettext_noop("A reorg removed the transaction that paid a payout."),
        "payout.ended": gettext_noop("A payout was cancelled, or its claim page expired."),
        "system.disrupted": gettext_noop("A network is late or stopped, its sources disagree, or its gas runs out."),
        "system.recovered": gettext_noop("What disrupted your payments is over."),
    }
)
"""What each type of event says, in a sentence."""

# The error classes of webhooks.delivery.transport.
_ERRORS: Final = MappingProxyType(
    {
        "timeout": gettext_noop("No answer within 30 seconds, or no connection within 5."),
        "tls_failed": gettext_noop("The certificate could not be trusted, or TLS failed."),
        "url_invalid": gettext_noop("The URL cannot be called."),
        "disconnected": gettext_noop("The connection was closed before an answer came."),
        "forbidden_address": gettext_noop("The host name resolves to a private address. We never connect to those."),
        "name_not_resolved": gettext_noop("DNS does not know this host name."),
        "connection_refused": gettext_noop("Nothing listens there: the connection was refused."),
        "connection_failed": gettext_noop("No connection could be made."),
        "response_invalid": gettext_noop("The answer was not HTTP that we understand."),
        "internal": gettext_noop("It could not be sent. This is our fault, not your server's."),
    }
)
_SILENT: Final = gettext_noop("There was no answer.")


def result_of(attempt: Attempt) -> str:
    """Return an attempt's result in a few words: `200 OK`, `timeout`."""
    if attempt.status_code is None:
        return attempt.error.replace("_", " ")
    return status_in_words(attempt.status_code)


def status_in_words(code: int) -> str:
    """Return a status code with its name, if it has one."""
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return str(code)


def trouble_of(attempt: Attempt) -> str:
    """Return a sentence on why an attempt failed; empty if it succeeded."""
    code = attempt.status_code
    if code is None:
        return gettext(_ERRORS.get(attempt.error, _SILENT))
    if code == HTTPStatus.GONE:
        return gettext('Status 410 means "stop calling", so the endpoint was disabled.')
    if 300 <= code < 400:
        return gettext("We do not follow redirects. Set the final URL.")
    if code >= 400 or code < 200:
        return gettext("Only a status from 200 to 299 counts as received.")
    return ""


def health_of(endpoint: Endpoint) -> Badge:
    """Return the badge of an endpoint's health."""
    return endpoint.health.badge
