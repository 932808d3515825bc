"""A checkout's history, assembled from the rows of each step, with its webhook deliveries and its escrow."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from django.conf import settings
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.utils.module_loading import import_string
from django.utils.translation import gettext, gettext_noop

from accounts.states import Mode
from accounts.team.access import Seat
from checkouts.dashboard.words import HELD
from checkouts.inbox.rows import REASONS, VERDICTS, named
from checkouts.lifecycle.receipts import reason_against_receipt
from checkouts.models import Acceptance, AmountReservation, BuyerReport, Checkout, InboxItem, Payment
from checkouts.payloads import checkout_url, status_text
from checkouts.rows import Refund, TransferRow
from checkouts.states import FINAL, CheckoutStatus, InboxReason, InboxStatus, RescueVerdict
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
_IN_INBOX = {
    InboxReason.RIVAL: gettext_noop("Notice in the inbox"),
    InboxReason.REVERSED: gettext_noop("Alarm in the inbox"),
}
_MOVED: Final = gettext_noop("Payment moved to the inbox")


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
        return gettext("a stranger, who paid the gas")
    if hold.released_by == ReleasedBy.API:
        return gettext("an API key")
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
class TimelineRows:
    """The rows of a checkout that its page has already read, and the viewer."""

    checkout: Checkout
    seat: Seat
    transfers: Sequence[TransferRow]
    reports: Sequence[BuyerReport]
    successor: Checkout | None
    deliveries: Sequence[ShownDelivery]
    escrow: ShownEscrow | None
    acceptance: Acceptance | None


def timeline_of(history: TimelineRows) -> tuple[Step, ...]:
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


def _created(history: TimelineRows) -> Step:
    checkout = history.checkout
    note = checkout.asked
    link = None
    if checkout.replaces is not None:
        # Late money, or money in time that fell short: a person accepted either.
        note, words = _continuation(checkout.asked, status_text(checkout.replaces))
        link = _checkout_link(history, checkout.replaces, words)
    return Step(checkout.created_at, gettext("Checkout created"), note, link=link)


def _continuation(asked: str, ended: str) -> tuple[str, str]:
    """Return what is said of a checkout that took the money of one that ended so, and of the link to that one."""
    if ended == "cancelled":
        note, link = gettext("%(asked)s, with the money of the cancelled checkout"), gettext("Cancelled checkout")
    else:
        note, link = gettext("%(asked)s, with the money of the expired checkout"), gettext("Expired checkout")
    return note % {"asked": asked}, link


def _checkout_link(history: TimelineRows, other: Checkout, words: str) -> Link:
    url = history.seat.url("dashboard_checkout", checkout_id=other.public_id)
    return Link(words, url)


def _continued(history: TimelineRows) -> Iterator[Step]:
    if (successor := history.successor) is not None:
        link = _checkout_link(history, successor, gettext("New checkout"))
        yield Step(successor.created_at, gettext("Money accepted"), gettext("A new checkout took it"), "ok", link)


def _choices(checkout: Checkout) -> Iterator[Step]:
    for held in AmountReservation.objects.filter(checkout=checkout).order_by("pk"):
        amount = readable(held.price + from_units(held.suffix))
        note = gettext("Asked to pay exactly %(amount)s") % {"amount": amount}
        # What is due after a part payment is asked for without another choice.
        is_rest = held.price != checkout.amount
        yield Step(held.reserved_at, gettext("Rest asked for") if is_rest else gettext("Buyer chose a network"), note)


def _transfer_steps(history: TimelineRows) -> Iterator[Step]:
    its_own = Q(checkout=history.checkout) | Q(handed_by=history.checkout)
    payments = Payment.objects.filter(its_own)
    reasons = dict(payments.values_list("transfer", "reason"))
    for row in history.transfers:
        amount = f"{readable_units(row.units)} {row.token}"
        spec = chain_spec(row.chain)
        reason = reasons.get(row.transfer_id, "")
        # A simulated transfer has no transaction in an explorer.
        url = spec.transaction_url(row.tx_hash) if row.mode == Mode.LIVE else None
        link = Link(gettext("Transaction"), url, is_outside=True) if url else None
        why = gettext("Credited: %(reason)s") % {"reason": reason} if reason else ""
        yield Step(
            row.detected_at,
            gettext("%(amount)s seen on %(title)s") % {"amount": amount, "title": spec.title},
            why,
            "info",
            link,
        )
        if row.confirmed_at is not None:
            yield Step(row.confirmed_at, gettext("%(amount)s confirmed") % {"amount": amount}, "", "ok", link)
        if row.orphaned_at is not None:
            title = gettext("%(amount)s reversed by the network") % {"amount": amount}
            yield Step(row.orphaned_at, title, "", "bad", link)


def _moves(history: TimelineRows) -> Iterator[Step]:
    """Return the moves that events reported, by event time; a completion has its own time."""
    checkout = history.checkout
    events = Event.objects.filter(merchant=checkout.merchant_id, mode=checkout.mode, subject_id=checkout.public_id)
    for kind, at in events.order_by("pk").values_list("type", "created_at"):
        if kind == "checkout.underpaid":
            yield Step(at, gettext("Underpaid"), gettext("The buyer is asked for the rest"), "warn")
        if kind == "checkout.reversed":
            yield Step(at, gettext("Reversed"), gettext("Hold the goods back if you still can"), "bad")
        if kind == "checkout.restored":
            yield Step(at, gettext("Restored"), gettext("The money is back and final"), "ok")
        if kind == "checkout.expired":
            yield _end(checkout, at)
    if checkout.status == CheckoutStatus.COMPLETED and checkout.paid_at is not None:
        url = f"{checkout_url(checkout.code)}/receipt"
        has_receipt = not reason_against_receipt(checkout, history.transfers)
        link = Link(gettext("Receipt"), url, is_outside=True) if has_receipt else None
        yield Step(checkout.paid_at, gettext("Completed"), "", "ok", link)


def _end(checkout: Checkout, at: datetime) -> Step:
    if checkout.cancelled_at is not None:
        return Step(at, gettext("Cancelled"), gettext("Money that still comes waits in the inbox"))
    return Step(at, gettext("Expired"), gettext("Not paid in time"), "warn")


def _inbox(history: TimelineRows) -> Iterator[Step]:
    for item in InboxItem.objects.filter(checkout=history.checkout).order_by("pk"):
        reason = REASONS[InboxReason(item.reason)].short
        url = history.seat.url("dashboard_inbox_item", item_id=item.pk)
        link = Link(gettext("Inbox item"), url)
        what = gettext(_IN_INBOX.get(InboxReason(item.reason), _MOVED))
        yield Step(item.created_at, what, reason, "warn", link)
        if item.resolved_at is not None:
            yield Step(item.resolved_at, _item_ended(item), link=link)


def _item_ended(item: InboxItem) -> str:
    if item.reason == InboxReason.REVERSED and item.status == InboxStatus.CREDITED:
        return gettext("Inbox item restored")
    return {
        InboxStatus.CREDITED: gettext("Inbox item credited"),
        InboxStatus.REFUNDED: gettext("Inbox item refunded"),
        InboxStatus.DISMISSED: gettext("Inbox item dismissed"),
    }[InboxStatus(item.status)]


def _reports(history: TimelineRows) -> Iterator[Step]:
    link = Link(gettext("Reports of buyers"), history.seat.url("dashboard_buyer_reports"))
    for report in history.reports:
        verdict = gettext(VERDICTS[RescueVerdict(report.verdict)])
        title = gettext("Buyer reported a payment")
        yield Step(report.reported_at, title, verdict, link=link)


def _escrow(escrow: ShownEscrow | None) -> Iterator[Step]:
    if escrow is not None and escrow.released_at is not None:
        note = gettext("By %(released_by)s") % {"released_by": escrow.released_by}
        yield Step(escrow.released_at, escrow.badge.label, note, "ok")


def _refunds(history: TimelineRows) -> Iterator[Step]:
    """Return the refunds of its payments: when each was asked for, and paid, reversed or ended."""
    refunds_of: Callable[[Sequence[int]], Sequence[Refund]] = import_string(settings.CHECKOUT_REFUNDS)
    for refund in refunds_of([row.transfer_id for row in history.transfers]):
        link = Link(gettext("Refund"), history.seat.url("dashboard_payout", payout_id=refund.public_id))
        if not refund.is_noted:
            yield Step(
                refund.asked_at, gettext("Refund of %(amount)s asked for") % {"amount": refund.amount}, "", "info", link
            )
        if refund.paid_at is not None:
            yield Step(
                refund.paid_at, gettext("%(amount)s refunded") % {"amount": refund.amount}, refund.note, "", link
            )
        if refund.reversed_at is not None:
            yield Step(
                refund.reversed_at,
                gettext("Refund of %(amount)s reversed by the network") % {"amount": refund.amount},
                "",
                "bad",
                link,
            )
        if refund.ended_at is not None:
            yield Step(refund.ended_at, gettext("Refund of %(amount)s ended") % {"amount": refund.amount}, "", "", link)


def _accepted(history: TimelineRows) -> Iterator[Step]:
    acceptance = history.acceptance
    if acceptance is not None and acceptance.done_at is not None:
        price = f"{readable(history.checkout.amount)} USD"
        note = gettext("%(amount)s of %(price)s, by %(actor)s") % {
            "amount": readable(acceptance.amount),
            "price": price,
            "actor": named(acceptance.actor),
        }
        yield Step(acceptance.decided_at, gettext("Accepted as paid"), note, "ok")


def _webhooks(history: TimelineRows) -> Iterator[Step]:
    for delivery in history.deliveries:
        url = history.seat.url("dashboard_delivery", delivery_id=delivery.public_id)
        link, name = Link(gettext("Delivery"), url), {"event": delivery.event}
        if delivery.next_at is not None:
            failed = gettext("%(attempts)s failed") % {"attempts": delivery.attempts} if delivery.attempts else ""
            yield Step(delivery.next_at, gettext("Webhook %(event)s: next attempt") % name, failed, "next", link)
        elif delivery.finished_at is None:
            continue
        elif delivery.status == DeliveryStatus.DELIVERED:
            at = delivery.finished_at
            yield Step(at, gettext("Webhook %(event)s delivered") % name, delivery.url, "ok", link)
        elif delivery.status == DeliveryStatus.FAILED:
            at = delivery.finished_at
            yield Step(at, gettext("Webhook %(event)s failed") % name, delivery.url, "bad", link)
        elif delivery.status == DeliveryStatus.CANCELLED:
            yield Step(
                delivery.finished_at,
                gettext("Webhook %(event)s cancelled") % name,
                gettext("The endpoint was deleted."),
                link=link,
            )
