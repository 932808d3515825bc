"""Queues receipts by mail. Their texts are made when they are sent, not while checkouts are locked."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid5

from django.db import connection, transaction
from django.db.models import Q

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.models import Membership
from accounts.states import Mode
from checkouts.errors import MailLimitError
from checkouts.models import Checkout
from checkouts.rows import TransferRow, credited_transfers
from checkouts.states import CheckoutException, CheckoutStatus
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.api.rate_limits import Limit, hit
from gateway.core.texts import pgettext_noop
from mails.addresses import masked
from mails.models import OutgoingMail
from mails.outbox import insert_mails, queue_unwritten, ring_after_commit

WITHDRAWN: Final = "withdrawn"
"""Part of the key of a mail that takes a receipt back. Its writer is that of receipts, which says nothing of it in older releases."""

# Limits of receipts that members send by hand, so that no stranger is flooded.
PER_MERCHANT: Final = Limit("receipt.merchant", 60, seconds=3_600)
PER_RECIPIENT: Final = Limit("receipt.recipient", 10, seconds=86_400)
PER_CHECKOUT: Final = Limit("receipt.checkout", 3, seconds=86_400)
_TOO_MANY_BY_MERCHANT: Final = pgettext_noop(
    "team", "Your team can send {most} receipts an hour. Try again in an hour."
)
_TOO_MANY_TO_ONE: Final = pgettext_noop(
    "team", "This address can get {most} receipts from you a day. Try again tomorrow."
)
_TOO_MANY_OF_ONE: Final = pgettext_noop("team", "This receipt can be sent {most} times a day. Try again tomorrow.")

_UNPAID: Final = pgettext_noop("team", "Only a completed checkout has a receipt.")
_REVERSED: Final = pgettext_noop("team", "The network reversed this payment, so there is no receipt to send.")
_DOUBTED: Final = pgettext_noop(
    "team", "This payment is in doubt, so there is no receipt to send now. Try again once its network is read again."
)
_OUTSIDE_TEAM: Final = pgettext_noop("team", "In test mode, receipts go only to e-mail addresses of your team.")

# In test mode no money moves, and a leaked test key could mail strangers. So only the team's own addresses get mail.
_ADDRESSED: Final = """
    unnest(%(ids)s::text[], %(merchants)s::bigint[], %(modes)s::text[], %(emails)s::text[])
         AS paid (public_id, merchant_id, mode, email)
    JOIN accounts_merchant m ON m.id = paid.merchant_id AND m.mails_receipts
    WHERE paid.mode = 'live' OR EXISTS (
        SELECT FROM accounts_membership member JOIN accounts_user u ON u.id = member.user_id
        WHERE member.merchant_id = m.id AND lower(u.email) = lower(paid.email))
"""
_PROMISE: Final = insert_mails(_ADDRESSED, key="'receipt:' || paid.public_id", recipient="paid.email")


def promise_receipts(completed: Iterable[Checkout], *, now: datetime) -> None:
    """Queue a receipt for each checkout with a buyer's address whose merchant mails receipts, in the caller's transaction.

    One that was sent is not queued again; one that was dropped is, when its checkout is restored. Runs one statement, or none if no buyer left an address.
    """
    addressed = [checkout for checkout in completed if checkout.customer_email]
    if not addressed:
        return
    parameters: dict[str, Any] = {
        "now": now,
        "ids": [checkout.public_id for checkout in addressed],
        "merchants": [checkout.merchant_id for checkout in addressed],
        "modes": [str(checkout.mode) for checkout in addressed],
        "emails": [checkout.customer_email for checkout in addressed],
    }
    with connection.cursor() as cursor:
        cursor.execute(_PROMISE, parameters)
        is_any_new = cursor.rowcount > 0
    if is_any_new:
        ring_after_commit()


def withdraw_receipts(checkout: Checkout, *, now: datetime) -> None:
    """Queue a mail to each address that got a receipt of a checkout whose payment was reversed, once for ever."""
    key = f"receipt:{checkout.public_id}"
    mails = OutgoingMail.objects.filter(Q(key=key) | Q(key__startswith=f"{key}:"), sent_at__isnull=False)
    sent = mails.exclude(key__startswith=f"{key}:{WITHDRAWN}:").order_by("-pk").values_list("recipient", "pk")
    # Of several to one address the first counts, so that the mail's key does not change.
    queue_unwritten([(f"{key}:{WITHDRAWN}:{pk}", to) for to, pk in dict(sent).items()], now=now)


def reason_against_receipt(checkout: Checkout, transfers: Sequence[TransferRow]) -> str:
    """Return a sentence on why a checkout has no receipt now; empty if it has one. `transfers` are those credited to it."""
    if checkout.status != CheckoutStatus.COMPLETED:
        return _UNPAID
    if checkout.exception == CheckoutException.REVERSED:
        return _REVERSED
    return _DOUBTED if any(row.is_doubted for row in transfers) else ""


@transaction.atomic
def send_receipt(checkout: Checkout, email: str, *, nonce: UUID, actor: Actor, now: datetime) -> bool:
    """Queue a receipt to an address that a member typed; return whether this call did it.

    The same `nonce` and `email` queue one mail. `email` is valid and stays with the mail; the audit log has it masked.
    Raises ConflictError where there is no receipt, InvalidRequestError (`email`) for an address outside of the team in test
    mode, and MailLimitError when a limit is reached.
    """
    if refusal := reason_against_receipt(checkout, credited_transfers([checkout.pk]).get(checkout.pk, [])):
        raise ConflictError(refusal)
    if checkout.mode == Mode.TEST and not _is_in_team(checkout.merchant_id, email):
        raise InvalidRequestError(_OUTSIDE_TEAM, param="email")
    key = f"receipt:{checkout.public_id}:{uuid5(nonce, email)}"
    if not queue_unwritten([(key, email)], now=now):
        return False
    # After the insert, so that a double click counts once; an error rolls back the mail.
    _count(checkout, email, now=now)
    record(
        checkout.merchant,
        action="checkout.receipt_sent",
        actor=actor,
        object_id=checkout.public_id,
        after={"email": masked(email)},
        now=now,
    )
    return True


def _is_in_team(merchant_id: int, email: str) -> bool:
    team = Membership.objects.filter(merchant=merchant_id)
    return team.filter(user__email__iexact=email).exists()


def _count(checkout: Checkout, email: str, *, now: datetime) -> None:
    merchant = str(checkout.merchant_id)
    # The narrowest limit is last, so that requests refused by the others do not count against it.
    limits = (
        (PER_MERCHANT, merchant, _TOO_MANY_BY_MERCHANT),
        (PER_RECIPIENT, f"{merchant}:{email.casefold()}", _TOO_MANY_TO_ONE),
        (PER_CHECKOUT, checkout.public_id, _TOO_MANY_OF_ONE),
    )
    for limit, identity, words in limits:
        if hit(limit, identity, now=now.timestamp()).exceeded:
            raise MailLimitError(words, values={"most": limit.most})
