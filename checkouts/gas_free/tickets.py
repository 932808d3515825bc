"""Tickets of payments that we send: our signed copy of what was offered; and what is said where we do not send one."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import structlog
from django.core import signing

from checkouts.models import Checkout
from gateway.core.api.errors import ConflictError, InvalidRequestError
from settlements.gas.claims import TakenSubjectError, refuse_taken

log = structlog.get_logger(__name__)

FREE_TICKET: Final = "free."
"""How such a ticket begins."""

MOST_TRIES: Final = 3
"""How often a checkout's payment is sent, one after the other; only one that failed on the chain counts."""


def write_ticket(checkout: Checkout, content: Mapping[str, Any]) -> str:
    """Return the ticket of what is offered."""
    return FREE_TICKET + signing.dumps(content, salt=_salt(checkout))


def read_ticket(checkout: Checkout, ticket: str) -> Mapping[str, Any]:
    """Return what was offered. Raises InvalidRequestError for a ticket that is not ours, or of another checkout."""
    try:
        content: Mapping[str, Any] = signing.loads(ticket.removeprefix(FREE_TICKET), salt=_salt(checkout))
    except signing.BadSignature:
        raise InvalidRequestError("ticket belongs to another checkout, or is too old.", param="ticket") from None
    return content


def reference_of(checkout: Checkout, number: int) -> str:
    """Return the ledger's reference of a try, from 1."""
    return f"{checkout.public_id}:{number}"


def not_free(reason: str) -> ConflictError:
    """Return the error gas_free_unavailable: the payer's own transaction is the way. The reason is only logged."""
    log.info("a payment needs its payer's own transaction", reason=reason)
    return ConflictError("The account's own transaction is needed for this payment.", code="gas_free_unavailable")


def pending() -> ConflictError:
    """Return the error payment_pending: a payment of the checkout is on its way."""
    return ConflictError("A payment of this checkout is on its way already.", code="payment_pending")


def refuse_second(checkout: Checkout, *, now: datetime) -> None:
    """Raise ConflictError, as `taken`, while a transaction on any chain may still pay the checkout, so that no second one is signed."""
    try:
        refuse_taken(checkout.public_id, now=now)
    except TakenSubjectError as error:
        raise taken(error) from None


def taken(error: TakenSubjectError) -> ConflictError:
    """Return payment_pending if a transaction of the checkout is sent; gas_free_unavailable until one that failed is past its end."""
    return pending() if error.is_on_its_way else not_free("claim")


def unsigned() -> InvalidRequestError:
    """Return the error signature_invalid: the account did not sign what the ticket is of."""
    return InvalidRequestError("This is no signature of the account.", param="signature", code="signature_invalid")


def insufficient() -> ConflictError:
    """Return the error funds_insufficient."""
    return ConflictError("The account does not hold the amount.", code="funds_insufficient")


def _salt(checkout: Checkout) -> str:
    return f"checkouts.gas_free.{checkout.public_id}"
