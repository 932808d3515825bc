"""Labels of deliveries, endpoints and errors on the merchant's pages."""

from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from django.utils.translation import gettext_noop

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
        "checkout.completed": "The payment is final: deliver.",
        "checkout.expired": "It was not paid in time, or was cancelled.",
        "checkout.underpaid": "The final payments are too little.",
        "checkout.reversed": "A reorg removed money of a completed checkout: hold the order.",
        "checkout.restored": "All money of a reversed checkout is back.",
        "x402.payment.reversed": "A reorg reversed a machine's payment.",
        "x402.payment.returned": "A machine's reversed payment is valid again.",
        "gateway.restored": "The installation came back from a backup.",
        "checkout.processing": "Money that covers the price was seen, and is not final yet.",
        "checkout.transfer_confirmed": "One transfer of a checkout is final, be it a part or too much.",
        "inbox.opened": "Money waits in the inbox for a person.",
        "inbox.closed": "An inbox item is decided, or its money is back.",
        "refund.claimed": "A buyer gave or changed the address of a refund.",
        "refund.approved": "A refund is approved: it waits for your wallet.",
        "refund.paid": "A refund is paid, and final. Again if it comes back after a reorg.",
        "refund.reversed": "A reorg removed the transaction that paid a refund.",
        "refund.ended": "A refund was cancelled, or its claim page expired.",
        "payout.claimed": "A recipient gave or changed the address of a payout.",
        "payout.approved": "A payout is approved: it waits for your wallet.",
        "payout.paid": "A payout is paid, and final. Again if it comes back after a reorg.",
        "payout.reversed": "A reorg removed the transaction that paid a payout.",
        "payout.ended": "A payout was cancelled, or its claim page expired.",
    }
)
"""What each type of event says, in a sentence."""

# The error classes of webhooks.delivery.transport.
_ERRORS: Final = MappingProxyType(
    {
        "timeout": "No answer within 30 seconds, or no connection within 5.",
        "tls_failed": "The certificate could not be trusted, or TLS failed.",
        "url_invalid": "The URL cannot be called.",
        "disconnected": "The connection was closed before an answer came.",
        "forbidden_address": "The host name resolves to a private address. We never connect to those.",
        "name_not_resolved": "DNS does not know this host name.",
        "connection_refused": "Nothing listens there: the connection was refused.",
        "connection_failed": "No connection could be made.",
        "response_invalid": "The answer was not HTTP that we understand.",
        "internal": "It could not be sent. This is our fault, not your server's.",
    }
)


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
        return _ERRORS.get(attempt.error, "There was no answer.")
    if code == HTTPStatus.GONE:
        return 'Status 410 means "stop calling", so the endpoint was disabled.'
    if 300 <= code < 400:
        return "We do not follow redirects. Set the final URL."
    if code >= 400 or code < 200:
        return "Only a status from 200 to 299 counts as received."
    return ""


def health_of(endpoint: Endpoint) -> Badge:
    """Return the badge of an endpoint's health."""
    return endpoint.health.badge
