"""Cancels unpaid checkouts."""

from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from checkouts.lifecycle.moves import cancel
from checkouts.models import Checkout, TestStep
from checkouts.scenarios import StepKind
from checkouts.states import CheckoutStatus
from gateway.core.api.errors import ConflictError
from gateway.core.texts import pgettext_noop

_COMPLETED: Final = pgettext_noop("team", "The checkout is completed already.")
_EXPIRED: Final = pgettext_noop("team", "The checkout is expired already.")
_PAID: Final = pgettext_noop("team", "This checkout has received money, so it can no longer be cancelled.")
_WAITING: Final = pgettext_noop("team", "Money for this checkout waits in the inbox. Decide about that first.")
_UNDECIDED: Final = pgettext_noop(
    "team", "A payment has just come in that may be for this checkout. Try again in a minute."
)


# All rows that show money for the checkout, from the watcher's transfer to a person's credit not applied yet.
_SEEN = """
    SELECT
        EXISTS (SELECT FROM checkouts_payment WHERE checkout_id = %(id)s)
        OR EXISTS (
            SELECT FROM wallets_depositaddress d JOIN wallets_transfer t ON t.deposit_id = d.id
            WHERE d.nonce = %(nonce)s::bytea AND t.decided_at IS NULL),
        EXISTS (SELECT FROM checkouts_inboxitem WHERE checkout_id = %(id)s AND status = 'open')
        OR EXISTS (
            SELECT FROM checkouts_inboxdecision
            WHERE checkout_id = %(id)s AND done_at IS NULL AND undone_at IS NULL AND failed_at IS NULL),
        EXISTS (
            SELECT FROM wallets_transfer
            WHERE queued_at IS NOT NULL AND decided_at IS NULL AND wallet_id IS NOT NULL
              AND merchant_id = %(merchant)s AND mode = %(mode)s AND chain = ANY(%(chains)s::text[]))
"""


@transaction.atomic
def cancel_checkout(pk: int, *, actor: Actor = SYSTEM, now: datetime) -> bool:
    """Cancel a checkout before it is paid; return whether this call did it.

    It is `expired` and `cancelled` from then on, `checkout.expired` is sent, and the audit log says who did it. Later money
    goes to the inbox. Raises ConflictError (state_conflict) if money was seen, or the checkout has ended.
    """
    steps = _hold_test_steps(pk)
    checkout = Checkout.objects.locked().select_related("merchant").get(pk=pk)
    if checkout.cancelled_at is not None:
        return False
    if checkout.is_final:
        raise ConflictError(_COMPLETED if checkout.status == CheckoutStatus.COMPLETED else _EXPIRED)
    # Under the lock, which crediting needs too: all that the watcher wrote before is visible here.
    if refusal := reason_against_cancelling(checkout):
        raise ConflictError(refusal)
    cancel(checkout, now=now)
    TestStep.objects.filter(pk__in=steps).update(done_at=now)
    record(
        checkout.merchant,
        action="checkout.cancelled",
        actor=actor,
        object_id=checkout.public_id,
        before={"cancelled": False},
        after={"cancelled": True},
        now=now,
    )
    return True


def reason_against_cancelling(checkout: Checkout) -> str:
    """Return a sentence on the money that prevents cancelling a live checkout; empty if there is none."""
    parameters: dict[str, Any] = {
        "id": checkout.pk,
        "nonce": bytes(checkout.deposit_nonce),
        "merchant": checkout.merchant_id,
        "mode": checkout.mode,
        "chains": [chain for chain, offer in checkout.offers.items() if offer.get("wallet")],
    }
    with connection.cursor() as cursor:
        cursor.execute(_SEEN, parameters)
        is_paid, is_waiting, is_undecided = cursor.fetchone()
    if is_paid:
        return _PAID
    if is_waiting:
        return _WAITING
    return _UNDECIDED if is_undecided else ""


def _hold_test_steps(pk: int) -> list[int]:
    """Lock the scenario steps that a cancelled test checkout must not play; steps with late money remain.

    Before the checkout: playing a step locks the step first, then the checkout.
    """
    steps = TestStep.objects.filter(checkout=pk, done_at=None)
    left = steps.exclude(kind=StepKind.PAY_LATE).order_by("pk")
    return list(left.select_for_update(of=("self",)).values_list("pk", flat=True))
