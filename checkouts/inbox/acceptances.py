"""Accepting short money: an owner or admin takes what a checkout received, less than its price, as its full payment.

A checkout that is underpaid completes with `exception: underpaid`. An expired one never changes: its successor does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.translation import gettext_noop

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from checkouts.amounts import needed_units
from checkouts.errors import DecisionFailedError
from checkouts.inbox.successors import LATE_KINDS, accept_expired, refuse_promised
from checkouts.inbox.undo import UNDO_SPAN, WAITING, apply_safely, due_decisions, undo
from checkouts.lifecycle.moves import complete_short, received, unsure
from checkouts.models import Acceptance, Checkout, InboxDecision, InboxItem
from checkouts.rows import TransferRow, credited_transfers
from checkouts.states import CheckoutStatus, InboxAct, InboxStatus
from gateway.core.api.errors import ConflictError
from gateway.core.money import from_units, readable
from wallets.transfers.returns import returns_of

_CHANGED = gettext_noop("What this checkout received has changed since you opened the page.")
_TWICE = gettext_noop("It is already being accepted as full payment.")
_LATER = {
    CheckoutStatus.PENDING: "The network reversed this money.",
    CheckoutStatus.PROCESSING: "A further payment came. The checkout completes once the network confirms it.",
    CheckoutStatus.COMPLETED: "A further payment completed the checkout.",
}


@dataclass(frozen=True, slots=True)
class ShortMoney:
    """Money in USD that may be accepted as full payment, and what is `missing` from the price."""

    amount: Decimal
    missing: Decimal


def short_money(checkout: Checkout, transfers: Sequence[TransferRow]) -> ShortMoney | None:
    """Return the final money of an underpaid or expired checkout that is less than its price; None if there is none to accept, or
    a refund promises some of it back.

    `transfers` are those credited to it. Late money in the inbox is accepted there, with what came in time.
    """
    if checkout.status == CheckoutStatus.EXPIRED:
        if _is_settled_otherwise(checkout):
            return None
    elif checkout.status != CheckoutStatus.UNDERPAID:
        return None
    sums = received(checkout, transfers, unsure=unsure(checkout, transfers))
    if sums.unconfirmed or not 0 < sums.confirmed < needed_units(checkout.amount):
        return None
    if any(one.reserved for one in returns_of([row.transfer_id for row in transfers]).values()):
        return None
    amount = from_units(sums.confirmed)
    return ShortMoney(amount, checkout.amount - amount)


def _is_settled_otherwise(expired: Checkout) -> bool:
    """Return whether an expired checkout's money paid a successor, or waits in the inbox with late money."""
    waiting = InboxItem.objects.filter(checkout=expired, reason__in=LATE_KINDS, status=InboxStatus.OPEN)
    return Checkout.objects.filter(replaces=expired).exists() or waiting.exists()


@transaction.atomic
def accept_as_paid(checkout: Checkout, *, amount: Decimal, now: datetime, actor: Actor) -> Acceptance:
    """Accept the `amount` in USD that a checkout received as its full payment; it takes effect UNDO_SPAN later.

    Raises ConflictError if the checkout has another amount now, or there is nothing to accept.
    """
    # Crediting, expiring, cancelling and refund notes take this lock too.
    held = Checkout.objects.locked().select_related("merchant").get(pk=checkout.pk)
    found = short_money(held, credited_transfers([held.pk]).get(held.pk, []))
    if found is None or found.amount != amount:
        raise ConflictError(_CHANGED)
    # An expired checkout has one successor.
    accepting = Q(item__checkout=held, act=InboxAct.ACCEPT_LATE)
    if InboxDecision.objects.filter(WAITING, accepting).exists():
        raise ConflictError(_TWICE)
    try:
        with transaction.atomic():
            acceptance = Acceptance.objects.create(
                checkout=held, amount=amount, actor=actor.person, decided_at=now, due_at=now + UNDO_SPAN
            )
    except IntegrityError as error:
        raise ConflictError(_TWICE) from error
    _audit(acceptance, "checkout.accepted", now=now, actor=actor)
    return acceptance


@transaction.atomic
def undo_acceptance(acceptance: Acceptance, *, now: datetime, actor: Actor) -> None:
    """Undo an acceptance. Raises ConflictError if it has taken effect or is undone already."""
    undo(Acceptance.objects.filter(pk=acceptance.pk), now=now, actor=actor)
    _audit(acceptance, "checkout.acceptance_undone", now=now, actor=actor)


def newest_acceptance(checkout: Checkout) -> Acceptance | None:
    """Return the newest acceptance of a checkout that was not undone, its actor loaded."""
    made = Acceptance.objects.filter(checkout=checkout, undone_at=None).select_related("actor")
    return made.order_by("-pk").first()


def apply_acceptances(*, now: datetime) -> int:
    """Complete the checkouts whose acceptance can no longer be undone; return how many. Safe to run concurrently."""
    rows = Acceptance.objects.all()
    return sum(apply_safely(rows, pk, apply=_apply, fail=_fail, now=now) for pk in due_decisions(rows, now=now))


@transaction.atomic
def _apply(pk: int, now: datetime) -> bool:
    waiting = Acceptance.objects.select_for_update(skip_locked=True, of=("self",)).filter(WAITING, pk=pk)
    acceptance = waiting.filter(due_at__lte=now).select_related("checkout__merchant", "actor").first()
    if acceptance is None:
        return False
    if acceptance.checkout.status == CheckoutStatus.EXPIRED:
        completed = accept_expired(acceptance.checkout_id, least=acceptance.amount, now=now)
    elif (held := _complete(acceptance, now)) is not None:
        completed = held
    else:
        return False
    Acceptance.objects.filter(pk=pk).update(done_at=now)
    _audit(acceptance, "checkout.acceptance_done", now=now, actor=Actor(acceptance.actor), completed=completed)
    return True


def _complete(acceptance: Acceptance, now: datetime) -> Checkout | None:
    """Complete an underpaid checkout; return it, or None if it expired meanwhile: then the next pass makes its successor."""
    checkout = Checkout.objects.locked().get(pk=acceptance.checkout_id)
    if checkout.status == CheckoutStatus.EXPIRED:
        # A successor locks inbox items and transfers before the checkout.
        return None
    if checkout.status != CheckoutStatus.UNDERPAID:
        raise DecisionFailedError(_LATER[CheckoutStatus(checkout.status)])
    refuse_promised(list(checkout.payments.values_list("transfer", flat=True)))
    complete_short(checkout, least=acceptance.amount, now=now)
    return checkout


@transaction.atomic
def _fail(pk: int, why: str, now: datetime) -> None:
    """Record why an acceptance could not take effect."""
    if Acceptance.objects.filter(WAITING, pk=pk).update(failed_at=now, failure=why[:200]):
        acceptance = Acceptance.objects.select_related("checkout__merchant").get(pk=pk)
        _audit(acceptance, "checkout.acceptance_failed", now=now)


def _audit(
    acceptance: Acceptance, action: str, *, now: datetime, actor: Actor = SYSTEM, completed: Checkout | None = None
) -> None:
    checkout = acceptance.checkout
    after = {
        "amount": f"{readable(acceptance.amount)} USD",
        "price": f"{readable(checkout.amount)} USD",
        "completed": completed.public_id if completed else None,
        "failure": acceptance.failure,
    }
    record(checkout.merchant, action=action, actor=actor, object_id=checkout.public_id, after=after, now=now)
