"""A checkout's history, assembled from the rows of each step, with its webhook deliveries and its escrow."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from django.conf import settings
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.utils.module_loading import import_string

from accounts.states import Mode
from accounts.team.access import Seat
from checkouts.dashboard.words import HELD
from checkouts.inbox.rows import REASONS, VERDICTS, named, outcome_of
from checkouts.lifecycle.receipts import reason_against_receipt
from checkouts.models import Acceptance, AmountReservation, BuyerReport, Checkout, InboxItem, Payment
from checkouts.payloads import checkout_url, status_text
from checkouts.rows import Refund, TransferRow
from checkouts.states import FINAL, CheckoutStatus, InboxReason, RescueVerdict
from gateway.core.money import from_units, readable, readable_units
from gateway.core.web.badges import Badge
from settlements.models import Hold
from settlements.states import ReleasedBy
from settlements.sweeps.escrow import holds_of
from wallets.networks import chain_spec
from webhooks.models import Attempt, Delivery, Event
from webhooks.states import DeliveryStatus

RELEASED: Final = Badge("Released from escrow", "ok")

# These items are about money that is not in the inbox.
_IN_INBOX = {InboxReason.RIVAL: "Notice in the inbox", InboxReason.REVERSED: "Alarm in the inbox"}


@dataclass(frozen=True, slots=True)
class ShownDelivery:
    """A delivery of an event. `last` is the endpoint's last answer: a status code or a kind of failure."""

    public_id: str
    event: str
    url: str
    badge: Badge
    status: str
    attempts: int
    # The number of the next try, if one failed.
    failing_try: int | None
    last: str
    next_at: datetime | None
    finished_at: datetime | None
    can_repeat: bool

    @property
    def is_waiting(self) -> bool:
        """Whether a retry is due soon."""
        return self.status == DeliveryStatus.PENDING


def deliveries_to(checkout: Checkout) -> QuerySet[Delivery]:
    """Return the deliveries of a checkout's events, in order, their event and endpoint loaded."""
    of_events = Delivery.objects.filter(
        event__merchant=checkout.merchant_id, event__mode=checkout.mode, event__subject_id=checkout.public_id
    )
    rows = of_events.select_related("event", "endpoint").order_by("pk")
    # No bodies are shown here, and the page polls every two seconds.
    return rows.defer("event__body")


def deliveries_of(checkout: Checkout) -> tuple[ShownDelivery, ...]:
    """Return the state of each delivery of a checkout's events."""
    newest = Attempt.objects.filter(delivery=OuterRef("pk")).order_by("-pk")
    rows = deliveries_to(checkout).annotate(
        attempt_count=Count("attempts"),
        last_code=Subquery(newest.values("status_code")[:1]),
        last_error=Subquery(newest.values("error")[:1]),
    )
    return tuple(
        ShownDelivery(
            public_id=row.public_id,
            event=row.event.type,
            url=row.endpoint.url,
            badge=DeliveryStatus(row.status).badge,
            status=row.status,
            attempts=row.attempt_count,
            failing_try=row.tries + 1 if row.tries and row.status == DeliveryStatus.PENDING else None,
            last=str(row.last_code or row.last_error or ""),
            next_at=_next_at(row),
            finished_at=row.finished_at,
            can_repeat=row.endpoint.disabled_at is None,
        )
        for row in rows
    )


def _next_at(row: Delivery) -> datetime | None:
    return row.next_attempt_at if row.status == DeliveryStatus.PENDING else None


@dataclass(frozen=True, slots=True)
class ShownEscrow:
    """Money in escrow. `released_by` is empty, and `released_at` None, while it is held.

    `is_outside` says that a third party's transaction sent it to the merchant's wallet.
    """

    badge: Badge
    released_by: str
    released_at: datetime | None
    is_releasable: bool
    is_outside: bool


def escrow_of(checkout: Checkout) -> ShownEscrow | None:
    """Return a checkout's escrow status; None if it has none."""
    if not checkout.escrow:
        return None
    hold = holds_of([checkout.hold_subject])[checkout.hold_subject]
    is_held = hold.released_at is None
    return ShownEscrow(
        badge=HELD if is_held else RELEASED,
        released_by=_who(hold),
        released_at=hold.released_at,
        is_releasable=is_held and checkout.status in FINAL,
        is_outside=hold.released_by == ReleasedBy.EXTERNAL,
    )


def _who(hold: Hold) -> str:
    if hold.released_by == ReleasedBy.EXTERNAL:
        return "a stranger, who paid the gas"
    if hold.released_by == ReleasedBy.API:
        return "an API key"
    return hold.released_actor.email if hold.released_actor else ""


class Link(NamedTuple):
    """A link to a step's details. External links open in a new tab."""

    words: str
    url: str
    is_outside: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A step that happened or is due. `tone` is a badge's (ok, warn, bad, info or empty), or `next` while it is due."""

    at: datetime
    title: str
    note: str = ""
    tone: str = ""
    link: Link | None = None


@dataclass(frozen=True, slots=True)
class History:
    """The rows of a checkout that its page has already read, and the viewer."""

    checkout: Checkout
    seat: Seat
    transfers: Sequence[TransferRow]
    reports: Sequence[BuyerReport]
    successor: Checkout | None
    deliveries: Sequence[ShownDelivery]
    escrow: ShownEscrow | None
    acceptance: Acceptance | None


def timeline_of(history: History) -> tuple[Step, ...]:
    """Return a checkout's steps, oldest first."""
    steps = [
        _created(history),
        *_choices(history.checkout),
        *_transfer_steps(history),
        *_moves(history),
        *_inbox(history),
        *_reports(history),
        *_webhooks(history),
        *_escrow(history.escrow),
        *_continued(history),
        *_refunds(history),
        *_accepted(history),
    ]
    # A step without duration comes after its cause.
    return tuple(sorted(steps, key=lambda step: step.at))


def _created(history: History) -> Step:
    checkout = history.checkout
    note = checkout.asked
    link = None
    if checkout.replaces is not None:
        # Late money, or money in time that fell short: a person accepted either.
        ended = status_text(checkout.replaces)
        note = f"{note}, with the money of the {ended} checkout"
        link = _checkout_link(history, checkout.replaces, f"{ended.title()} checkout")
    return Step(checkout.created_at, "Checkout created", note, link=link)


def _checkout_link(history: History, other: Checkout, words: str) -> Link:
    url = history.seat.url("dashboard_checkout", checkout_id=other.public_id)
    return Link(words, url)


def _continued(history: History) -> Iterator[Step]:
    if (successor := history.successor) is not None:
        link = _checkout_link(history, successor, "New checkout")
        yield Step(successor.created_at, "Money accepted", "A new checkout took it", "ok", link)


def _choices(checkout: Checkout) -> Iterator[Step]:
    for held in AmountReservation.objects.filter(checkout=checkout).order_by("pk"):
        amount = readable(held.price + from_units(held.suffix))
        note = f"Asked to pay exactly {amount}"
        # What is due after a part payment is asked for without another choice.
        is_rest = held.price != checkout.amount
        yield Step(held.reserved_at, "Rest asked for" if is_rest else "Buyer chose a network", note)


def _transfer_steps(history: History) -> Iterator[Step]:
    its_own = Q(checkout=history.checkout) | Q(handed_by=history.checkout)
    payments = Payment.objects.filter(its_own)
    reasons = dict(payments.values_list("transfer", "reason"))
    for row in history.transfers:
        amount = f"{readable_units(row.units)} {row.token}"
        spec = chain_spec(row.chain)
        reason = reasons.get(row.transfer_id, "")
        # A simulated transfer has no transaction in an explorer.
        url = spec.transaction_url(row.tx_hash) if row.mode == Mode.LIVE else None
        link = Link("Transaction", url, is_outside=True) if url else None
        why = f"Credited: {reason}" if reason else ""
        yield Step(row.detected_at, f"{amount} seen on {spec.title}", why, "info", link)
        if row.confirmed_at is not None:
            yield Step(row.confirmed_at, f"{amount} confirmed", "", "ok", link)
        if row.orphaned_at is not None:
            title = f"{amount} reversed by the network"
            yield Step(row.orphaned_at, title, "", "bad", link)


def _moves(history: History) -> Iterator[Step]:
    """Return the moves that events reported, by event time; a completion has its own time."""
    checkout = history.checkout
    events = Event.objects.filter(merchant=checkout.merchant_id, mode=checkout.mode, subject_id=checkout.public_id)
    for kind, at in events.order_by("pk").values_list("type", "created_at"):
        if kind == "checkout.underpaid":
            yield Step(at, "Underpaid", "The buyer is asked for the rest", "warn")
        if kind == "checkout.reversed":
            yield Step(at, "Reversed", "Hold the goods back if you still can", "bad")
        if kind == "checkout.restored":
            yield Step(at, "Restored", "The money is back and final", "ok")
        if kind == "checkout.expired":
            yield _end(checkout, at)
    if checkout.status == CheckoutStatus.COMPLETED and checkout.paid_at is not None:
        url = f"{checkout_url(checkout.code)}/receipt"
        has_receipt = not reason_against_receipt(checkout, history.transfers)
        link = Link("Receipt", url, is_outside=True) if has_receipt else None
        yield Step(checkout.paid_at, "Completed", "", "ok", link)


def _end(checkout: Checkout, at: datetime) -> Step:
    if checkout.cancelled_at is not None:
        return Step(at, "Cancelled", "Money that still comes waits in the inbox")
    return Step(at, "Expired", "Not paid in time", "warn")


def _inbox(history: History) -> Iterator[Step]:
    for item in InboxItem.objects.filter(checkout=history.checkout).order_by("pk"):
        reason = REASONS[InboxReason(item.reason)].short
        url = history.seat.url("dashboard_inbox_item", item_id=item.pk)
        link = Link("Inbox item", url)
        what = _IN_INBOX.get(InboxReason(item.reason), "Payment moved to the inbox")
        yield Step(item.created_at, what, reason, "warn", link)
        if item.resolved_at is not None:
            title = f"Inbox item {outcome_of(item).lower()}"
            yield Step(item.resolved_at, title, link=link)


def _reports(history: History) -> Iterator[Step]:
    link = Link("Reports of buyers", history.seat.url("dashboard_buyer_reports"))
    for report in history.reports:
        verdict = VERDICTS[RescueVerdict(report.verdict)]
        title = "Buyer reported a payment"
        yield Step(report.reported_at, title, verdict, link=link)


def _escrow(escrow: ShownEscrow | None) -> Iterator[Step]:
    if escrow is not None and escrow.released_at is not None:
        note = f"By {escrow.released_by}"
        yield Step(escrow.released_at, escrow.badge.label, note, "ok")


def _refunds(history: History) -> Iterator[Step]:
    """Return the refunds of its payments: when each was asked for, and paid, reversed or ended."""
    refunds_of: Callable[[Sequence[int]], Sequence[Refund]] = import_string(settings.CHECKOUT_REFUNDS)
    for refund in refunds_of([row.transfer_id for row in history.transfers]):
        link = Link("Refund", history.seat.url("dashboard_payout", payout_id=refund.public_id))
        if not refund.is_noted:
            yield Step(refund.asked_at, f"Refund of {refund.amount} asked for", "", "info", link)
        if refund.paid_at is not None:
            yield Step(refund.paid_at, f"{refund.amount} refunded", refund.note, "", link)
        if refund.reversed_at is not None:
            yield Step(refund.reversed_at, f"Refund of {refund.amount} reversed by the network", "", "bad", link)
        if refund.ended_at is not None:
            yield Step(refund.ended_at, f"Refund of {refund.amount} ended", "", "", link)


def _accepted(history: History) -> Iterator[Step]:
    acceptance = history.acceptance
    if acceptance is not None and acceptance.done_at is not None:
        price = f"{readable(history.checkout.amount)} USD"
        note = f"{readable(acceptance.amount)} of {price}, by {named(acceptance.actor)}"
        yield Step(acceptance.decided_at, "Accepted as paid", note, "ok")


def _webhooks(history: History) -> Iterator[Step]:
    for delivery in history.deliveries:
        url = history.seat.url("dashboard_delivery", delivery_id=delivery.public_id)
        link, name = Link("Delivery", url), f"Webhook {delivery.event}"
        if delivery.next_at is not None:
            failed = f"{delivery.attempts} failed" if delivery.attempts else ""
            yield Step(delivery.next_at, f"{name}: next attempt", failed, "next", link)
        elif delivery.finished_at is None:
            continue
        elif delivery.status == DeliveryStatus.DELIVERED:
            at = delivery.finished_at
            yield Step(at, f"{name} delivered", delivery.url, "ok", link)
        elif delivery.status == DeliveryStatus.FAILED:
            at = delivery.finished_at
            yield Step(at, f"{name} failed", delivery.url, "bad", link)
        elif delivery.status == DeliveryStatus.CANCELLED:
            yield Step(delivery.finished_at, f"{name} cancelled", "The endpoint was deleted.", link=link)
