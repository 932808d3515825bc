"""Decisions about money in the inbox: they take effect half a minute later, and can be undone until then."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Final

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_noop

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from checkouts.attribution.credit import write_credits
from checkouts.errors import DecisionFailedError
from checkouts.inbox.successors import (
    PROMISED,
    accept_late,
    awaits_others,
    close_items,
    late_units,
    money_of,
    refuse_promised,
)
from checkouts.inbox.undo import UNDO_SPAN, WAITING, apply_safely, due_decisions, undo
from checkouts.lifecycle.bells import ring_pages
from checkouts.lifecycle.inbox_events import inbox_events
from checkouts.lifecycle.moves import complete_short, recompute
from checkouts.models import Acceptance, Checkout, InboxDecision, InboxItem
from checkouts.payloads import remaining_units, status_text
from checkouts.pricing import value_of
from checkouts.reservations import reserve_rest
from checkouts.selectors import paid_otherwise
from checkouts.states import CheckoutStatus, InboxAct, InboxReason, InboxStatus
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.money import TOKEN_DECIMALS, from_units, readable
from wallets.models import Transfer, TransferClaim
from wallets.networks import is_of_dollars
from wallets.states import TransferState
from wallets.transfers.returns import returns_of
from webhooks.outbox.events import publish

# REFUNDED stands for a refund that may be asked for: the item is refunded once that is paid.
_MONEY = frozenset({InboxAct.CREDIT, InboxAct.REFUNDED, InboxAct.DISMISS})
_LATE = _MONEY | {InboxAct.ACCEPT_LATE}
# The acts for each kind of item. Reversed money no longer exists, and a notice is about credited money: both can only be dismissed.
ACTS: Final[Mapping[str, frozenset[InboxAct]]] = {
    InboxReason.LATE: _LATE,
    InboxReason.LATE_OUTAGE: _LATE,
    InboxReason.EXTRA: _MONEY,
    InboxReason.WRONG_NETWORK: _MONEY,
    InboxReason.WRONG_TOKEN: _MONEY,
    InboxReason.DUST: frozenset({InboxAct.DISMISS}),
    InboxReason.UNMATCHED: _MONEY,
    InboxReason.AMBIGUOUS: _MONEY,
    InboxReason.REVERSED: frozenset({InboxAct.DISMISS}),
    InboxReason.RIVAL: frozenset({InboxAct.DISMISS}),
}

_MISFIT: Final = gettext_noop("This is not possible for an item with the reason {reason}.")
_FULL: Final = {
    "completed": gettext_noop("{checkout} is completed and accepts no more money."),
    "expired": gettext_noop("{checkout} is expired and accepts no more money."),
    "cancelled": gettext_noop("{checkout} is cancelled and accepts no more money."),
}
# What another person decided, and what the merchant's rule did: as it stands, undone since, failed.
_FASTER: Final = (
    gettext_noop("{name} decided about this before you: {act}."),
    gettext_noop("{name} decided about this before you: {act}. It was undone since."),
    gettext_noop("{name} decided about this before you: {act}. It could not take effect."),
)
_FASTER_RULE: Final = (
    gettext_noop("Your rule for certain money decided about this before you: {act}."),
    gettext_noop("Your rule for certain money decided about this before you: {act}. It was undone since."),
    gettext_noop("Your rule for certain money decided about this before you: {act}. It could not take effect."),
)

# About money that was credited: it is not in the inbox.
_NOTICES: Final = (InboxReason.REVERSED, InboxReason.RIVAL)


def free_transfer(pk: int) -> Transfer:
    """Lock an unused transfer. Raises DecisionFailedError if it is used, promised back, or a reorg removed it."""
    transfer = Transfer.objects.select_for_update(of=("self",), no_key=True).get(pk=pk)
    if TransferClaim.objects.filter(transfer=pk).exists():
        raise DecisionFailedError("This transfer has already been credited.")
    if transfer.state == TransferState.ORPHANED:
        raise DecisionFailedError("The network reversed this transfer.")
    refuse_promised([pk])
    return transfer


def acts_of(item: InboxItem) -> frozenset[InboxAct]:
    """Return the acts for an item. Checkouts count dollars with six decimals: no other token is credited."""
    transfer = item.transfer
    is_other = transfer.decimals != TOKEN_DECIMALS or not is_of_dollars(transfer.token)
    return ACTS[item.reason] - ({InboxAct.CREDIT} if is_other else set())


@transaction.atomic
def decide_item(
    item: InboxItem,
    *,
    act: InboxAct,
    now: datetime,
    actor: Actor,
    checkout: Checkout | None = None,
    accepted: Decimal | None = None,
    seen: int | None = None,
) -> InboxDecision:
    """Decide about an open item; it takes effect UNDO_SPAN later.

    A credit names its `checkout`. `accepted` is the sum in USD that the checkout will have: the actor accepts it as full
    payment, also if it is less than the price. An expired checkout may be credited so: its successor gets the money. `seen` is the
    id of the newest decision that the actor knew of, 0 for none. Raises InvalidRequestError where the act does not fit the item, and
    for REFUNDED, which no person says (`close_returned`); ConflictError if another decision came first, or a refund promises the
    money back.
    """
    _refuse_misfit(item, act, checkout, accepted)
    _hold_undecided(item, seen)
    if is_promised_back(item):
        raise ConflictError(PROMISED)
    is_accepting = act in (InboxAct.ACCEPT_LATE, InboxAct.CREDIT)
    if is_accepting and accepted is not None:
        _refuse_changed(item, checkout or item.checkout, accepted)
    if act == InboxAct.ACCEPT_LATE:
        _refuse_twice(item)
    try:
        with transaction.atomic():
            decision = InboxDecision.objects.create(
                item=item,
                act=act,
                checkout=checkout if act == InboxAct.CREDIT else None,
                accepted_amount=accepted if is_accepting else None,
                # None for the system: a merchant's rule decided.
                actor=actor.user,
                decided_at=now,
                due_at=now + UNDO_SPAN,
            )
    except IntegrityError as error:
        raise _who_was_faster(item) from error
    _audit(decision, "inbox.decided", now=now, actor=actor)
    return decision


@transaction.atomic
def undo_decision(decision: InboxDecision, *, now: datetime, actor: Actor = SYSTEM) -> None:
    """Undo a decision. Raises ConflictError if it has taken effect or is undone already."""
    undo(InboxDecision.objects.filter(pk=decision.pk), now=now, actor=actor)
    _audit(decision, "inbox.undone", now=now, actor=actor)


@transaction.atomic
def resolve_returned(*, now: datetime) -> int:
    """Resolve the open items of money that refunds have sent back, and that were locked when it was; return how many."""
    items = close_returned(now=now)
    publish(inbox_events(items), now=now)
    return len(items)


def close_returned(transfer_ids: Collection[int] | None = None, *, now: datetime) -> list[InboxItem]:
    """Resolve the open items of money that refunds have sent back, of some transfers or of all; the caller publishes their events.

    It may hold refunds, which are locked after items: so items that somebody else has locked are left for `resolve_returned`.
    """
    returned = InboxItem.objects.filter(status=InboxStatus.OPEN, transfer__sent_back__returned__gt=0)
    if transfer_ids is not None:
        returned = returned.filter(transfer__in=transfer_ids)
    found = returned.exclude(reason__in=_NOTICES).order_by("pk")
    items = list(found.select_for_update(of=("self",), no_key=True, skip_locked=True))
    close_items(items, InboxStatus.REFUNDED, now=now)
    ring_pages([item.checkout_id for item in items if item.checkout_id is not None])
    return items


def apply_decisions(*, now: datetime) -> int:
    """Apply the decisions that can no longer be undone; return how many. Safe to run concurrently."""
    return sum(_apply_safely(pk, now) for pk in due_decisions(InboxDecision.objects.all(), now=now))


def _apply_safely(pk: int, now: datetime) -> bool:
    return apply_safely(InboxDecision.objects.all(), pk, apply=_apply, fail=_fail, now=now)


@transaction.atomic
def _apply(pk: int, now: datetime) -> bool:
    decision = (
        InboxDecision.objects.select_for_update(skip_locked=True, of=("self",))
        .filter(WAITING, pk=pk, due_at__lte=now)
        .select_related("item__transfer", "item__merchant", "actor", "checkout")
        .first()
    )
    if decision is None:
        return False
    item = _hold(decision.item_id)
    if item.status != InboxStatus.OPEN:
        raise DecisionFailedError(f"In the meantime this item was {item.status}.")
    # Before its effect, which ends with the events about it.
    InboxDecision.objects.filter(pk=pk).update(done_at=now)
    _EFFECTS[InboxAct(decision.act)](decision, now)
    # The page of the checkout it was meant for tells of the decision.
    ring_pages([item.checkout_id] if item.checkout_id is not None else [])
    _audit(decision, "inbox.done", now=now, actor=Actor(decision.actor))
    return True


@transaction.atomic
def _fail(pk: int, why: str, now: datetime) -> None:
    """Reopen the item, and record why the decision could not take effect."""
    waiting = InboxDecision.objects.filter(WAITING, pk=pk)
    if waiting.update(failed_at=now, failure=why[:200]):
        decision = InboxDecision.objects.select_related("item__merchant").get(pk=pk)
        _audit(decision, "inbox.failed", now=now)


def _credit(decision: InboxDecision, now: datetime) -> None:
    chosen = decision.checkout
    assert chosen is not None  # noqa: S101 - a constraint of the table
    if chosen.status == CheckoutStatus.EXPIRED and decision.accepted_amount is not None:
        accept_late(decision.item, checkout_id=chosen.pk, least=decision.accepted_amount, now=now)
        return
    transfer = free_transfer(decision.item.transfer_id)
    checkout = Checkout.objects.locked().get(pk=chosen.pk)
    # One whose money is not final yet is paid too, as the rules have it: this money may be another buyer's.
    if checkout.is_final or not remaining_units(checkout):
        raise DecisionFailedError(f"{checkout.public_id} is now {status_text(checkout)} and accepts no more money.")
    write_credits([(transfer, checkout, "credited by a person")], now)
    close_items([decision.item], InboxStatus.CREDITED, now=now)
    final, items, accepted = {transfer.pk}, [decision.item], decision.accepted_amount
    if accepted is None:
        recompute([checkout], now=now, confirmed=final, items=items)
        reserve_rest([checkout], now=now)
    else:
        complete_short(checkout, least=accepted, now=now, confirmed=final, items=items)


def _accept_late(decision: InboxDecision, now: datetime) -> None:
    if decision.actor is None:
        _refuse_uncertain(decision.item, now)
    accept_late(decision.item, least=decision.accepted_amount, now=now)


def _refuse_uncertain(item: InboxItem, now: datetime) -> None:
    """Raise DecisionFailedError where late money is no longer as certain as it was when a merchant's rule decided about it."""
    if item.checkout is not None and paid_otherwise([item.checkout]):
        raise DecisionFailedError("Another try of this order was paid since.")
    if awaits_others(item, now=now):
        raise DecisionFailedError("This money may be lost, or waits for a second node since.")


def _refunded(decision: InboxDecision, now: datetime) -> None:
    close_items([decision.item], InboxStatus.REFUNDED, now=now)
    publish(inbox_events([decision.item]), now=now)


def _dismiss(decision: InboxDecision, now: datetime) -> None:
    close_items([decision.item], InboxStatus.DISMISSED, now=now)
    publish(inbox_events([decision.item]), now=now)


_EFFECTS: Mapping[InboxAct, Callable[[InboxDecision, datetime], None]] = {
    InboxAct.CREDIT: _credit,
    InboxAct.ACCEPT_LATE: _accept_late,
    # Decided by a process of the release before.
    InboxAct.REFUNDED: _refunded,
    InboxAct.DISMISS: _dismiss,
}


def _hold(item_id: int) -> InboxItem:
    # `no_key`: a decision's foreign key to it needs only the key.
    items = InboxItem.objects.select_for_update(of=("self",), no_key=True)
    return items.get(pk=item_id)


def _hold_undecided(item: InboxItem, seen: int | None) -> None:
    """Lock an open item. Raises ConflictError if there is a decision that the actor has not seen."""
    if _hold(item.pk).status != InboxStatus.OPEN:
        raise _who_was_faster(item)
    newest = item.decisions.order_by("-pk").values_list("pk", flat=True).first()
    if seen is not None and seen != (newest or 0):
        raise _who_was_faster(item)


def is_promised_back(item: InboxItem) -> bool:
    """Return whether a refund promises an item's money back, so that nothing else may use or dismiss it."""
    return bool(promised_back([item]))


def promised_back(items: Iterable[InboxItem]) -> set[int]:
    """Return the keys of those items that `is_promised_back`."""
    transfers = {item.pk: item.transfer_id for item in items if item.reason not in _NOTICES}
    returns = returns_of(list(transfers.values())) if transfers else {}
    return {pk for pk, transfer_id in transfers.items() if transfer_id in returns and returns[transfer_id].reserved}


def _refuse_twice(item: InboxItem) -> None:
    """Refuse a second acceptance: accepting one late transfer accepts all late ones of the checkout."""
    accepting = InboxDecision.objects.filter(WAITING, act=InboxAct.ACCEPT_LATE, item__checkout=item.checkout_id)
    if accepting.exclude(item=item.pk).exists():
        raise ConflictError(gettext_noop("All late money for this checkout is already being accepted."))
    if Acceptance.objects.filter(WAITING, checkout=item.checkout_id).exists():
        raise ConflictError(gettext_noop("What this checkout received is already being accepted as full payment."))


def _refuse_changed(item: InboxItem, checkout: Checkout | None, accepted: Decimal) -> None:
    """Refuse a sum that is not what the checkout has now, with the item's money."""
    if checkout is None or accepted != sum_with(item, checkout):
        raise ConflictError(gettext_noop("The money for this checkout has changed since you opened the page."))


def sum_with(item: InboxItem, checkout: Checkout) -> Decimal:
    """Return the sum in USD that a checkout, or the successor of an expired one, has with the item's money."""
    if checkout.status == CheckoutStatus.EXPIRED:
        return from_units(late_units(item, checkout.pk))
    return checkout.amount_received + from_units(value_of(checkout, [money_of(item.transfer)]))


def _refuse_misfit(item: InboxItem, act: InboxAct, checkout: Checkout | None, accepted: Decimal | None) -> None:
    if act not in acts_of(item) or act == InboxAct.REFUNDED:
        raise InvalidRequestError(_MISFIT, param="act", values={"reason": item.reason})
    if act == InboxAct.CREDIT:
        _refuse_checkout(item, checkout, accepted)


def _refuse_checkout(item: InboxItem, checkout: Checkout | None, accepted: Decimal | None) -> None:
    if checkout is None:
        raise InvalidRequestError(
            gettext_noop("Enter the checkout to credit."), param="checkout", code="parameter_missing"
        )
    # The caller searches only the merchant's checkouts; a mistake there would give one merchant's money to another.
    if (checkout.merchant_id, checkout.mode) != (item.merchant_id, item.mode):
        raise InvalidRequestError(gettext_noop("There is no such checkout."), param="checkout")
    if checkout.is_final and (accepted is None or not has_no_successor(checkout)):
        raise ConflictError(_FULL[status_text(checkout)], values={"checkout": checkout.public_id})


def has_no_successor(checkout: Checkout) -> bool:
    """Return whether a checkout expired and nobody accepted its money, so that a successor may have some."""
    return checkout.status == CheckoutStatus.EXPIRED and not Checkout.objects.filter(replaces=checkout).exists()


def _who_was_faster(item: InboxItem) -> ConflictError:
    newest = item.decisions.order_by("-pk").select_related("actor").first()
    if newest is None:
        return ConflictError(gettext_noop("This item is already resolved."))
    since = 1 if newest.undone_at else 2 if newest.failed_at else 0
    act = InboxAct(newest.act).word
    if newest.actor is None:
        return ConflictError(_FASTER_RULE[since], values={"act": act})
    return ConflictError(_FASTER[since], values={"name": newest.actor.name or newest.actor.email, "act": act})


def _audit(decision: InboxDecision, action: str, *, now: datetime, actor: Actor = SYSTEM) -> None:
    checkout = decision.checkout
    after = {
        "act": str(decision.act),
        "transfer": decision.item.transfer_id,
        "checkout": checkout.public_id if checkout else None,
        "refund_tx": decision.refund_tx,
        "by": "rule" if decision.actor is None else "person",
        "accepted": readable(decision.accepted_amount) if decision.accepted_amount else None,
        "failure": decision.failure,
    }
    record(decision.item.merchant, action=action, actor=actor, object_id=str(decision.item_id), after=after, now=now)
