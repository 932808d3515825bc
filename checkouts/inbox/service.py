"""Decisions about money in the inbox: they take effect half a minute later, and can be undone until then.

Late money that a person accepts pays a successor: a new checkout.
"""

import secrets
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

import structlog
from django.db import IntegrityError, InterfaceError, OperationalError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from accounts.states import Mode
from checkouts.amounts import needed_units
from checkouts.attribution.credit import write_credits
from checkouts.errors import DecisionFailedError
from checkouts.lifecycle.counts import DayChange, add_to_days, count, day_of
from checkouts.lifecycle.endings import refund_hash
from checkouts.lifecycle.moves import recompute
from checkouts.models import Checkout, InboxDecision, InboxItem, Payment
from checkouts.states import CheckoutStatus, InboxAct, InboxReason, InboxStatus
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.ids import new_id
from gateway.core.money import TOKEN_DECIMALS
from wallets.models import Transfer, TransferClaim
from wallets.states import TransferState

log = structlog.get_logger(__name__)

LATE_KINDS: Final = (InboxReason.LATE, InboxReason.LATE_OUTAGE)
# Copied from the expired checkout.
_INHERITED: Final = (
    "merchant_id",
    "mode",
    "amount",
    "currency",
    "description",
    "metadata",
    "customer_email",
    "redirect_url",
    "webhook_url",
    "customer_ref",
    "product_ref",
    "order_ref",
    # The money does not move: the successor shares the expired checkout's hold.
    "escrow",
)

UNDO_SPAN: Final = timedelta(seconds=30)
# An unexpected failure is retried, and delays no other decision.
_SET_ASIDE: Final = timedelta(minutes=1)
_AT_ONCE: Final = 200

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

_STANDING = Q(undone_at=None, failed_at=None)
_WAITING = _STANDING & Q(done_at=None)


def free_transfer(pk: int) -> Transfer:
    """Lock an unused transfer. Raises DecisionFailedError if it is used, or a reorg removed it."""
    transfer = _lock_transfers([pk])[0]
    if TransferClaim.objects.filter(transfer=pk).exists():
        raise DecisionFailedError("This transfer has already been credited.")
    if transfer.state == TransferState.ORPHANED:
        raise DecisionFailedError("The network reversed this transfer.")
    return transfer


def late_items(item: InboxItem) -> list[InboxItem]:
    """Return the item and its checkout's other late items without a decision.

    Transfers that a reorg removed, or that were credited elsewhere, are left out.
    """
    decided = InboxDecision.objects.filter(item=OuterRef("pk"), undone_at=None, failed_at=None)
    others = Q(checkout=item.checkout_id, reason__in=LATE_KINDS) & ~Exists(decided)
    unused = Q(transfer__claim=None) | Q(transfer__payment__checkout=item.checkout_id)
    found = InboxItem.objects.filter(Q(pk=item.pk) | others, unused, status=InboxStatus.OPEN, checkout__isnull=False)
    return list(found.exclude(transfer__state=TransferState.ORPHANED).order_by("pk"))


def late_units(item: InboxItem) -> int:
    """Return the successor's total in base units: the expired one's payments and all late money."""
    transfers = Transfer.objects.filter(pk__in=_transfer_ids(late_items(item)))
    return sum(int(transfer.units) for transfer in transfers)


def accept_late(item: InboxItem, *, now: datetime) -> Checkout:
    """Create the successor of an item's expired checkout, paid by all its money; return it completed.

    Raises DecisionFailedError where the money is not enough, not final, or the checkout has a successor already.
    """
    items = _hold_late_items(item)
    transfers = _lock_transfers(_transfer_ids(items))
    expired = _lock_expired(item)
    if _transfer_ids(items) != {transfer.pk for transfer in transfers}:
        raise DecisionFailedError("Its first payment has been marked as refunded.")
    _refuse_unready(expired, transfers)
    successor = _succeed(expired, now)
    _hand_over(expired, successor, transfers, now)
    recompute([successor], now=now)
    if successor.status != CheckoutStatus.COMPLETED:
        raise DecisionFailedError("The money is not enough for the price.")
    resolved = InboxItem.objects.filter(pk__in=[other.pk for other in items])
    resolved.update(status=InboxStatus.CREDITED, resolved_at=now)
    return successor


def _hold_late_items(item: InboxItem) -> list[InboxItem]:
    """Lock the late items, then read again: another decision may have changed them."""
    ids = {late.pk for late in late_items(item)}
    held = InboxItem.objects.select_for_update(of=("self",), no_key=True)
    list(held.filter(pk__in=ids).order_by("pk"))
    items = [late for late in late_items(item) if late.pk in ids]
    if item.pk not in {late.pk for late in items}:
        raise DecisionFailedError("The network reversed this transfer, or it has already been credited.")
    return items


def _standing_payments(checkouts: Collection[int | None]) -> QuerySet[Payment]:
    """Return the payments except those that a reorg removed and those that the merchant refunded."""
    paid = Payment.objects.filter(checkout__in=checkouts, checkout__refund_note__isnull=True)
    return paid.exclude(transfer__state=TransferState.ORPHANED)


def _transfer_ids(items: Sequence[InboxItem]) -> set[int]:
    paid = _standing_payments({item.checkout_id for item in items})
    ids = set(paid.values_list("transfer_id", flat=True))
    return ids | {item.transfer_id for item in items}


def _lock_transfers(ids: Collection[int]) -> list[Transfer]:
    rows = Transfer.objects.select_for_update(of=("self",), no_key=True)
    return list(rows.filter(pk__in=ids).order_by("pk"))


def _lock_expired(item: InboxItem) -> Checkout:
    expired = Checkout.objects.locked().filter(inbox_items=item.pk).first()
    if expired is None or expired.status != CheckoutStatus.EXPIRED:
        raise DecisionFailedError("No expired checkout matches this money.")
    if Checkout.objects.filter(replaces=expired).exists():
        raise DecisionFailedError("Late money was accepted for this checkout before.")
    return expired


def _refuse_unready(expired: Checkout, transfers: Sequence[Transfer]) -> None:
    # Otherwise a fork could leave a successor that cannot be paid.
    if any(transfer.state != TransferState.CONFIRMED for transfer in transfers):
        raise DecisionFailedError("Some of this money is not final yet. Wait until it is.")
    if sum(int(transfer.units) for transfer in transfers) < needed_units(expired.amount):
        raise DecisionFailedError("The money is not enough for the price.")


def _succeed(expired: Checkout, now: datetime) -> Checkout:
    inherited = {name: getattr(expired, name) for name in _INHERITED}
    successor = Checkout.objects.create(
        public_id=new_id(f"chk_{Mode(expired.mode)}"),
        replaces=expired,
        # It is paid from the start, so it offers nothing.
        offers={},
        amount_received=Decimal(0),
        underpaid_reported=Decimal(0),
        deposit_nonce=secrets.token_bytes(32),
        expires_at=now,
        created_at=now,
        **inherited,
    )
    key = (expired.merchant_id, expired.mode, str(CheckoutStatus.PENDING))
    count(Counter({key: 1}))
    today = day_of(now)
    add_to_days([DayChange(expired.merchant_id, expired.mode, today, made=successor.pk)])
    return successor


def _hand_over(expired: Checkout, successor: Checkout, transfers: Sequence[Transfer], now: datetime) -> None:
    paid = set(_standing_payments([expired.pk]).values_list("transfer_id", flat=True))
    if not paid <= {transfer.pk for transfer in transfers}:
        # Rows that are not locked may change meanwhile.
        raise DecisionFailedError("More money arrived for it just now. Decide again.")
    handed = Payment.objects.filter(transfer__in=paid)
    handed.update(checkout=successor, handed_by=expired)
    fresh = [transfer for transfer in transfers if transfer.pk not in paid]
    reason = f"late for {expired.public_id}, accepted by a person"
    write_credits([(transfer, successor, reason) for transfer in fresh], now)


def acts_of(item: InboxItem) -> frozenset[InboxAct]:
    """Return the acts for an item. Checkouts count six decimals: no other token is credited."""
    is_other = item.transfer.decimals != TOKEN_DECIMALS
    return ACTS[item.reason] - ({InboxAct.CREDIT} if is_other else set())


@transaction.atomic
def decide_item(
    item: InboxItem,
    *,
    act: InboxAct,
    now: datetime,
    actor: Actor,
    checkout: Checkout | None = None,
    refund_tx: str = "",
    seen: int | None = None,
) -> InboxDecision:
    """Decide about an open item; it takes effect UNDO_SPAN later.

    A credit names its live `checkout`, a refund the transaction that sent the money back, in any spelling. `seen` is the id
    of the newest decision that the actor knew of, 0 for none. Raises InvalidRequestError where the act does not fit the
    item, and ConflictError if another decision came first.
    """
    _refuse_misfit(item, act, checkout)
    sent_back = ""
    if act == InboxAct.REFUNDED:
        sent_back = refund_hash(refund_tx, brought_by=[item.transfer])
    _hold_undecided(item, seen)
    if act == InboxAct.ACCEPT_LATE:
        _refuse_twice(item)
    try:
        with transaction.atomic():
            decision = InboxDecision.objects.create(
                item=item,
                act=act,
                checkout=checkout if act == InboxAct.CREDIT else None,
                refund_tx=sent_back,
                actor=actor.person,
                decided_at=now,
                due_at=now + UNDO_SPAN,
            )
    except IntegrityError as error:
        raise ConflictError(_who_was_faster(item)) from error
    _audit(decision, "inbox.decided", now=now, actor=actor)
    return decision


@transaction.atomic
def undo_decision(decision: InboxDecision, *, now: datetime, actor: Actor = SYSTEM) -> None:
    """Undo a decision. Raises ConflictError if it has taken effect or is undone already."""
    # The row's lock waits for a worker that is about to apply it.
    undone = InboxDecision.objects.filter(_WAITING, pk=decision.pk, due_at__gt=now)
    if not undone.update(undone_at=now, undone_by=actor.person):
        raise ConflictError(_why_not_undone(decision))
    _audit(decision, "inbox.undone", now=now, actor=actor)


def apply_decisions(*, now: datetime) -> int:
    """Apply the decisions that can no longer be undone; return how many. Safe to run concurrently."""
    due = InboxDecision.objects.filter(_WAITING, due_at__lte=now)
    first = due.order_by("due_at", "pk").values_list("pk", flat=True)[:_AT_ONCE]
    return sum(_apply_safely(pk, now) for pk in list(first))


def _apply_safely(pk: int, now: datetime) -> bool:
    try:
        return _apply(pk, now)
    except DecisionFailedError as error:
        _fail(pk, str(error), now)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("inbox decision set aside", decision=pk)
        InboxDecision.objects.filter(_WAITING, pk=pk).update(due_at=now + _SET_ASIDE)
    return False


@transaction.atomic
def _apply(pk: int, now: datetime) -> bool:
    decision = (
        InboxDecision.objects.select_for_update(skip_locked=True, of=("self",))
        .filter(_WAITING, pk=pk, due_at__lte=now)
        .select_related("item__transfer", "item__merchant", "actor", "checkout")
        .first()
    )
    if decision is None:
        return False
    item = _hold(decision.item_id)
    if item.status != InboxStatus.OPEN:
        raise DecisionFailedError(f"In the meantime this item was {item.status}.")
    status = _EFFECTS[InboxAct(decision.act)](decision, now)
    InboxItem.objects.filter(pk=decision.item_id).update(status=status, resolved_at=now)
    InboxDecision.objects.filter(pk=pk).update(done_at=now)
    _audit(decision, "inbox.done", now=now, actor=Actor(decision.actor))
    return True


@transaction.atomic
def _fail(pk: int, why: str, now: datetime) -> None:
    """Reopen the item, and record why the decision could not take effect."""
    waiting = InboxDecision.objects.filter(_WAITING, pk=pk)
    if waiting.update(failed_at=now, failure=why[:200]):
        decision = InboxDecision.objects.select_related("item__merchant").get(pk=pk)
        _audit(decision, "inbox.failed", now=now)


def _credit(decision: InboxDecision, now: datetime) -> InboxStatus:
    transfer = free_transfer(decision.item.transfer_id)
    chosen = decision.checkout
    assert chosen is not None  # noqa: S101 - a constraint of the table
    checkout = Checkout.objects.locked().get(pk=chosen.pk)
    if checkout.is_final:
        raise DecisionFailedError(f"{checkout.public_id} is now {checkout.status} and accepts no more money.")
    write_credits([(transfer, checkout, "credited by a person")], now)
    recompute([checkout], now=now)
    return InboxStatus.CREDITED


def _accept_late(decision: InboxDecision, now: datetime) -> InboxStatus:
    accept_late(decision.item, now=now)
    return InboxStatus.CREDITED


_EFFECTS: Mapping[InboxAct, Callable[[InboxDecision, datetime], InboxStatus]] = {
    InboxAct.CREDIT: _credit,
    InboxAct.ACCEPT_LATE: _accept_late,
    InboxAct.REFUNDED: lambda _decision, _now: InboxStatus.REFUNDED,
    InboxAct.DISMISS: lambda _decision, _now: InboxStatus.DISMISSED,
}


def _hold(item_id: int) -> InboxItem:
    # `no_key`: a decision's foreign key to it needs only the key.
    items = InboxItem.objects.select_for_update(of=("self",), no_key=True)
    return items.get(pk=item_id)


def _hold_undecided(item: InboxItem, seen: int | None) -> None:
    """Lock an open item. Raises ConflictError if there is a decision that the actor has not seen."""
    if _hold(item.pk).status != InboxStatus.OPEN:
        raise ConflictError(_who_was_faster(item))
    newest = item.decisions.order_by("-pk").values_list("pk", flat=True).first()
    if seen is not None and seen != (newest or 0):
        raise ConflictError(_who_was_faster(item))


def _refuse_twice(item: InboxItem) -> None:
    """Refuse a second acceptance: accepting one late transfer accepts all late ones of the checkout."""
    accepting = InboxDecision.objects.filter(_WAITING, act=InboxAct.ACCEPT_LATE, item__checkout=item.checkout_id)
    if accepting.exclude(item=item.pk).exists():
        raise ConflictError("All late money for this checkout is already being accepted.")


def _refuse_misfit(item: InboxItem, act: InboxAct, checkout: Checkout | None) -> None:
    if act not in acts_of(item):
        raise InvalidRequestError(f"This is not possible for an item with the reason {item.reason}.", param="act")
    if act == InboxAct.CREDIT:
        _refuse_checkout(item, checkout)


def _refuse_checkout(item: InboxItem, checkout: Checkout | None) -> None:
    if checkout is None:
        raise InvalidRequestError("Enter the checkout to credit.", param="checkout", code="parameter_missing")
    # The caller searches only the merchant's checkouts; a mistake there would give one merchant's money to another.
    if (checkout.merchant_id, checkout.mode) != (item.merchant_id, item.mode):
        raise InvalidRequestError("There is no such checkout.", param="checkout")
    if checkout.is_final:
        raise ConflictError(f"{checkout.public_id} is {checkout.status} and accepts no more money.")


def _why_not_undone(decision: InboxDecision) -> str:
    now = InboxDecision.objects.get(pk=decision.pk)
    if now.undone_at:
        return "Another team member has already undone this."
    if now.failed_at:
        return "This did not take effect, so there is nothing to undo."
    return "This has already taken effect and cannot be undone."


def _who_was_faster(item: InboxItem) -> str:
    newest = item.decisions.order_by("-pk").select_related("actor").first()
    if newest is None:
        return "This item is already resolved."
    who = newest.actor
    name = (who.name or who.email) if who else "Somebody"
    said = f"{name} decided about this before you: {newest.get_act_display().lower()}."
    if newest.undone_at:
        return f"{said} It was undone since."
    return f"{said} It could not take effect." if newest.failed_at else said


def _audit(decision: InboxDecision, action: str, *, now: datetime, actor: Actor = SYSTEM) -> None:
    checkout = decision.checkout
    after = {
        "act": str(decision.act),
        "transfer": decision.item.transfer_id,
        "checkout": checkout.public_id if checkout else None,
        "refund_tx": decision.refund_tx,
        "failure": decision.failure,
    }
    record(decision.item.merchant, action=action, actor=actor, object_id=str(decision.item_id), after=after, now=now)
