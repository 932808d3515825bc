"""A checkout's history, put together from the rows that each step of it left."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from checkouts.dashboard.deliveries import ShownDelivery
from checkouts.dashboard.escrow import ShownEscrow
from checkouts.dashboard.inbox_words import OUTCOMES, REASONS, VERDICTS
from checkouts.models import (
    AmountReservation,
    BuyerReport,
    Checkout,
    InboxItem,
    Payment,
)
from checkouts.rows import TransferRow
from checkouts.states import (
    CheckoutStatus,
    InboxReason,
    InboxStatus,
    RescueVerdict,
)
from gateway.core.money import from_units, readable, readable_units
from wallets.networks import chain_spec
from webhooks.models import Event
from webhooks.states import DeliveryStatus


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happened. `tone` is a badge's: ok, warn, bad, info or empty."""

    at: datetime
    title: str
    note: str = ""
    tone: str = ""


def timeline_of(
    checkout: Checkout,
    transfers: Sequence[TransferRow],
    reports: Sequence[BuyerReport],
    successor: Checkout | None,
    deliveries: Sequence[ShownDelivery],
    escrow: ShownEscrow | None,
) -> tuple[Step, ...]:
    """Return what happened to a checkout, the oldest first."""
    steps = [
        Step(checkout.created_at, "Created", f"{readable(checkout.amount)} USD"),
        *_choices(checkout),
        *_transfer_steps(checkout, transfers),
        *_moves(checkout),
        *_inbox(checkout),
        *_reports(reports),
        *_webhooks(deliveries),
        *_escrow(escrow),
    ]
    if successor is not None:
        note = successor.public_id
        steps.append(Step(successor.created_at, "Continued by a new checkout", note))
    # A step that takes no time comes after the one that caused it.
    return tuple(sorted(steps, key=lambda step: step.at))


def _choices(checkout: Checkout) -> Iterator[Step]:
    for held in AmountReservation.objects.filter(checkout=checkout).order_by("pk"):
        amount = readable(held.price + from_units(held.suffix))
        note = f"{amount} names this checkout"
        yield Step(held.reserved_at, "Buyer chose a network with exact amounts", note)


def _transfer_steps(
    checkout: Checkout, transfers: Iterable[TransferRow]
) -> Iterator[Step]:
    its_own = Q(checkout=checkout) | Q(handed_by=checkout)
    payments = Payment.objects.filter(its_own)
    reasons = dict(payments.values_list("transfer", "reason"))
    for row in transfers:
        amount = f"{readable_units(row.units)} {row.token}"
        spec = chain_spec(row.chain)
        reason = reasons.get(row.transfer_id, "")
        note = f"Known by {reason}" if reason else ""
        yield Step(row.detected_at, f"{amount} seen on {spec.title}", note, "info")
        if row.confirmed_at is not None:
            yield Step(row.confirmed_at, f"{amount} confirmed", "", "ok")
        if row.orphaned_at is not None:
            yield Step(
                row.orphaned_at, f"{amount} taken back by the network", "", "bad"
            )


def _moves(checkout: Checkout) -> Iterator[Step]:
    """What the merchant was told of, at the time it was; a completion has a time of its own."""
    events = Event.objects.filter(
        merchant=checkout.merchant_id, mode=checkout.mode, subject_id=checkout.public_id
    )
    for kind, at in events.order_by("pk").values_list("type", "created_at"):
        if kind == "checkout.underpaid":
            yield Step(at, "Underpaid", "The buyer is asked for the rest", "warn")
        if kind == "checkout.expired":
            yield _end(checkout, at)
    if checkout.status == CheckoutStatus.COMPLETED and checkout.paid_at is not None:
        yield Step(checkout.paid_at, "Completed", "", "ok")


def _end(checkout: Checkout, at: datetime) -> Step:
    if checkout.cancelled_at is not None:
        return Step(at, "Cancelled", "Money that still comes waits in the inbox")
    return Step(at, "Expired", "Its networks were read to the end", "warn")


def _inbox(checkout: Checkout) -> Iterator[Step]:
    for item in InboxItem.objects.filter(checkout=checkout).order_by("pk"):
        reason = REASONS[InboxReason(item.reason)].short
        is_notice = item.reason == InboxReason.RIVAL
        what = "Notice in the inbox" if is_notice else "Money came to the inbox"
        yield Step(item.created_at, what, reason, "warn")
        if item.resolved_at is not None:
            outcome = OUTCOMES[InboxStatus(item.status)]
            yield Step(item.resolved_at, f"Inbox: {outcome.lower()}")


def _reports(reports: Iterable[BuyerReport]) -> Iterator[Step]:
    for report in reports:
        verdict = VERDICTS[RescueVerdict(report.verdict)]
        yield Step(report.reported_at, "Buyer looked for a payment", verdict)


def _escrow(escrow: ShownEscrow | None) -> Iterator[Step]:
    if escrow is not None and escrow.released_at is not None:
        note = f"By {escrow.released_by}"
        yield Step(escrow.released_at, escrow.badge.label, note, "ok")


def _webhooks(deliveries: Iterable[ShownDelivery]) -> Iterator[Step]:
    for delivery in deliveries:
        if delivery.finished_at is None:
            continue
        if delivery.status == DeliveryStatus.DELIVERED:
            yield Step(
                delivery.finished_at, f"{delivery.event} delivered", delivery.url, "ok"
            )
        if delivery.status == DeliveryStatus.FAILED:
            words = f"{delivery.event} not delivered"
            yield Step(delivery.finished_at, words, delivery.url, "bad")
