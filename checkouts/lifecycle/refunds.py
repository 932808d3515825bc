"""Records refunds that merchants sent. Florin holds no key that could send one."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from django.db import transaction

from accounts.audit.service import record
from accounts.models import User
from checkouts.models import Checkout, RefundNote
from checkouts.states import CheckoutException, CheckoutStatus
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.money import readable
from wallets.lookup import UnreadableHashError, spellings
from wallets.models import Transfer


def refundable(checkout: Checkout) -> Decimal:
    """Return the USD that a team may have refunded: the overpaid part, or money before expiry; 0 for none.

    Money that a successor took does not count. Refunds of inbox items are recorded there.
    """
    if checkout.status == CheckoutStatus.COMPLETED:
        is_over = checkout.exception == CheckoutException.OVERPAID
        return checkout.amount_received - checkout.amount if is_over else Decimal(0)
    if checkout.status != CheckoutStatus.EXPIRED or _has_successor(checkout):
        return Decimal(0)
    return checkout.amount_received


def _has_successor(checkout: Checkout) -> bool:
    return Checkout.objects.filter(replaces=checkout).exists()


@transaction.atomic
def note_refund(checkout: Checkout, tx_hash: str, *, actor: User, address: str | None, now: datetime) -> RefundNote:
    """Record a refund's transaction hash, in any spelling. `address` is the actor's, for the audit log.

    Raises ConflictError if there is nothing to send back or a note exists already, and InvalidRequestError if the text is
    not a transaction hash or is the hash of a payment.
    """
    # Accepting late money takes this lock too: refunded money pays no successor, and a successor's money is not refunded.
    held = Checkout.objects.locked().get(pk=checkout.pk)
    amount = refundable(held)
    if not amount:
        raise ConflictError("There is no money to send back.")
    if RefundNote.objects.filter(checkout=held).exists():
        raise ConflictError("A refund is already recorded.")
    brought_by = Transfer.objects.filter(payment__checkout=held).order_by("pk")
    note = RefundNote.objects.create(
        checkout=held, tx_hash=refund_hash(tx_hash, brought_by=list(brought_by)), author=actor, noted_at=now
    )
    record(
        held.merchant,
        action="checkout.refund_noted",
        actor=actor,
        object_id=held.public_id,
        after={"refund_tx": note.tx_hash, "amount": f"{readable(amount)} USD"},
        address=address,
        now=now,
    )
    return note


def refund_hash(text: str, *, brought_by: Sequence[Transfer]) -> str:
    """Return a refund's hash as its chain writes it. A refund may go over another chain than the payment.

    Raises InvalidRequestError for a text that is not a transaction hash, or is the hash of the payment.
    """
    if not text.strip():
        raise InvalidRequestError(
            "Enter the transaction that sent the money back.", param="refund_tx", code="parameter_missing"
        )
    try:
        named = spellings(text)
    except UnreadableHashError as error:
        raise InvalidRequestError(
            "This doesn't look like a transaction hash. Copy it from your wallet or an explorer.", param="refund_tx"
        ) from error
    if any(named.get(one.chain) == one.tx_hash for one in brought_by):
        raise InvalidRequestError(
            "This transaction brought the money. Enter the one that sent it back.", param="refund_tx"
        )
    own = (named[one.chain] for one in brought_by if one.chain in named)
    return next(own, None) or next(iter(named.values()))
