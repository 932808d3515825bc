"""Moves checkouts: the only writer of status, amounts received, counts, and their events, fees and reversals."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, TypeAlias, cast

from django.db import connection
from django.utils.functional import SimpleLazyObject

from accounts.fees.service import CompletedPayment, charge, unvoid, void
from accounts.states import FeeKind, Mode
from checkouts.amounts import needed_units, overpaid_above_units
from checkouts.errors import DecisionFailedError, IllegalMoveError
from checkouts.lifecycle.bells import ring_pages
from checkouts.lifecycle.counts import CountKey, DayChange, add_to_days, add_volumes, count, day_of
from checkouts.lifecycle.escrow import end_completed, releases_of
from checkouts.lifecycle.inbox_events import inbox_events
from checkouts.lifecycle.receipts import promise_receipts, withdraw_receipts
from checkouts.lifecycle.reversal_mails import mail_restored, mail_reversed
from checkouts.models import Checkout, InboxItem
from checkouts.payloads import checkout_payload
from checkouts.pricing import value_of
from checkouts.rows import TransferRow, credited_transfers
from checkouts.states import (
    FINAL,
    MOVES,
    REAL_PART,
    TIME_FOR_THE_REST,
    CheckoutException,
    CheckoutStatus,
    InboxReason,
    InboxStatus,
    Received,
    derive_status,
)
from gateway.core import json
from gateway.core.ids import new_id
from gateway.core.money import from_units, round_to_cent
from gateway.core.tracing import mark
from wallets.models import Transfer
from wallets.networks import chain_spec
from wallets.receiving.service import expect_deposit
from wallets.states import TransferState
from wallets.transfers.service import ask_witnesses
from wallets.watchers.demand import WATCH_AFTER_EXPIRY
from webhooks.outbox.events import NewEvent, OptInEvent, publish

Reversal: TypeAlias = tuple[Checkout, TransferRow]
Releases: TypeAlias = Mapping[int, str]
"""What `releases_of` returns."""

EVENT_OF = {
    CheckoutStatus.COMPLETED: "checkout.completed",
    CheckoutStatus.EXPIRED: "checkout.expired",
    CheckoutStatus.UNDERPAID: "checkout.underpaid",
}
REVERSED = "checkout.reversed"
RESTORED = "checkout.restored"
# For endpoints that chose them.
PROCESSING = "checkout.processing"
TRANSFER_CONFIRMED = "checkout.transfer_confirmed"

Transfers = Mapping[int, Sequence[TransferRow]]


def charge_completed(
    completed: Iterable[Checkout], transfers: Mapping[int, Sequence[TransferRow]], *, now: datetime
) -> None:
    """Charge the fee of each live checkout that just completed, on everything it has received."""
    payments = [_payment(checkout, transfers[checkout.pk][-1]) for checkout in _live(completed)]
    charge(payments, now=now)


def follow_reversals(turned: Iterable[Checkout], *, now: datetime) -> None:
    """Refund the fees of checkouts that turned `reversed`, and charge again those that no longer are."""
    lost: list[str] = []
    back: list[str] = []
    for checkout in _live(turned):
        is_lost = checkout.exception == CheckoutException.REVERSED
        (lost if is_lost else back).append(checkout.public_id)
    void(FeeKind.CHECKOUT, lost, now=now)
    unvoid(FeeKind.CHECKOUT, back, now=now)


def _live(checkouts: Iterable[Checkout]) -> list[Checkout]:
    return [checkout for checkout in checkouts if checkout.mode == Mode.LIVE]


def _payment(checkout: Checkout, last: TransferRow) -> CompletedPayment:
    """Return the fee's payment facts: of the newest transfer, as in the daily total."""
    return CompletedPayment(
        merchant_id=checkout.merchant_id,
        kind=FeeKind.CHECKOUT,
        subject_id=checkout.public_id,
        chain=last.chain,
        token=last.token,
        received=checkout.amount_received,
    )


_MARK: Final = """
    UPDATE checkouts_payment SET reversed_at = %s
    WHERE transfer_id = ANY(%s) AND reversed_at IS NULL RETURNING transfer_id
"""
_UNMARK: Final = """
    UPDATE checkouts_payment p SET reversed_at = NULL FROM wallets_transfer t
    WHERE p.checkout_id = ANY(%s) AND p.reversed_at IS NOT NULL AND t.id = p.transfer_id AND t.state = 'confirmed'
    RETURNING p.transfer_id
"""


def mark_reversed(reversals: Sequence[Reversal], *, now: datetime) -> list[Reversal]:
    """Claim the reversals that nobody was told of; return them."""
    if not reversals:
        return []
    ids = [transfer.transfer_id for _, transfer in reversals]
    with connection.cursor() as cursor:
        cursor.execute(_MARK, [now, ids])
        new = {transfer_id for (transfer_id,) in cursor}
    return [pair for pair in reversals if pair[1].transfer_id in new]


def mark_restored(doubted: Sequence[Checkout], turned: Sequence[Checkout], *, now: datetime) -> list[InboxItem]:
    """Close the alerts of transfers that are final again, and queue mails about checkouts that have all their money back.

    Return the alerts.
    """
    if not doubted:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_UNMARK, [[checkout.pk for checkout in doubted]])
        back = [transfer_id for (transfer_id,) in cursor]
    closed = _set_alerts(back, InboxStatus.OPEN, InboxStatus.CREDITED, resolved_at=now)
    for checkout in turned:
        if checkout.exception != CheckoutException.REVERSED:
            mail_restored(checkout, now)
    return closed


def alert(reversals: Sequence[Reversal], *, now: datetime) -> list[InboxItem]:
    """Write inbox alerts and queue mails about reversals that `mark_reversed` returned. Return the alerts that are open now."""
    if not reversals:
        return []
    ids = [transfer.transfer_id for _, transfer in reversals]
    told = InboxItem.objects.filter(reason=InboxReason.REVERSED, transfer__in=ids)
    known = set(told.values_list("transfer_id", flat=True))
    again = _set_alerts(ids, InboxStatus.CREDITED, InboxStatus.OPEN, resolved_at=None)
    fresh = _write_alerts([one for one in reversals if one[1].transfer_id not in known], now)
    for checkout, pairs in groupby(reversals, key=itemgetter(0)):
        mail_reversed(checkout, [transfer for _, transfer in pairs], now)
        withdraw_receipts(checkout, now=now)
    return [*again, *fresh]


def _set_alerts(
    transfer_ids: Sequence[int], before: InboxStatus, after: InboxStatus, *, resolved_at: datetime | None
) -> list[InboxItem]:
    """Change alerts that nobody decided about; return them.

    Items come before checkouts in the order of locks. So one that a person is deciding about is left to that person.
    """
    items = InboxItem.objects.select_for_update(skip_locked=True, of=("self",)).filter(
        reason=InboxReason.REVERSED, transfer__in=transfer_ids, status=before
    )
    standing = {"decisions__undone_at": None, "decisions__failed_at": None}
    decided = InboxItem.objects.filter(transfer__in=transfer_ids, decisions__isnull=False, **standing)
    free = items.exclude(pk__in=decided.values("pk"))
    changed = list(free.order_by("pk"))
    for item in changed:
        item.status, item.resolved_at = after, resolved_at
    InboxItem.objects.filter(pk__in=[item.pk for item in changed]).update(status=after, resolved_at=resolved_at)
    return changed


def _write_alerts(reversals: Sequence[Reversal], now: datetime) -> list[InboxItem]:
    return InboxItem.objects.bulk_create(
        InboxItem(
            merchant_id=checkout.merchant_id,
            mode=checkout.mode,
            transfer_id=transfer.transfer_id,
            checkout=checkout,
            reason=InboxReason.REVERSED,
            explanation="a reorganisation removed this transfer after the checkout completed",
            created_at=now,
        )
        for checkout, transfer in reversals
    )


def recompute(
    checkouts: Sequence[Checkout], *, now: datetime, confirmed: Collection[int] = (), items: Iterable[InboxItem] = ()
) -> None:
    """Derive each checkout's status and sums from its transfers, and write events for changes.

    `confirmed` are the ids of transfers that became final, or that are final and were just credited. `items` were opened or closed
    in the same transaction, which has ended its other writes.
    """
    transfers = credited_transfers([checkout.pk for checkout in checkouts])
    movement = _Movement(items)
    for checkout in checkouts:
        movement.follow(checkout, transfers.get(checkout.pk, []), now, confirmed)
    movement.write(transfers, now)
    # For all checkouts, even those without a status move: a transfer may have become final or been removed. The page of an expired
    # checkout tells what its successor made of its money.
    ring_pages({checkout.pk for checkout in checkouts} | {one.replaces_id for one in checkouts if one.replaces_id})


def expire(checkouts: Sequence[Checkout], *, now: datetime) -> None:
    """Expire unpaid checkouts; the caller has checked that their chains were read far enough."""
    movement = _Movement()
    for checkout in checkouts:
        movement.move(checkout, CheckoutStatus.EXPIRED)
    movement.write(credited_transfers([checkout.pk for checkout in checkouts]), now)
    ring_pages(checkout.pk for checkout in checkouts)


def cancel(checkout: Checkout, *, now: datetime) -> None:
    """Cancel a checkout: `expired`, with its time ended now; the caller has checked that no money came."""
    checkout.cancelled_at = now
    checkout.expires_at = min(checkout.expires_at, now)
    expire([checkout], now=now)
    # After the status: a constraint refuses a live checkout that is cancelled.
    Checkout.objects.filter(pk=checkout.pk).update(cancelled_at=checkout.cancelled_at, expires_at=checkout.expires_at)


def complete_short(
    checkout: Checkout,
    *,
    least: Decimal,
    now: datetime,
    confirmed: Collection[int] = (),
    items: Iterable[InboxItem] = (),
) -> None:
    """Complete a live checkout, which the caller locked, with what was credited to it: a person accepts it as the price.

    `least` is the sum in USD that the person saw; `confirmed` and `items` as `recompute` takes them. Raises DecisionFailedError if less is left, or some of it is not final.
    """
    transfers = credited_transfers([checkout.pk]).get(checkout.pk, [])
    sums = received(checkout, transfers, unsure=unsure(checkout, transfers))
    if sums.unconfirmed:
        raise DecisionFailedError("Some of this money is not final yet. Wait until it is.")
    if (amount := from_units(sums.confirmed)) < least:
        raise DecisionFailedError("The network reversed some of this money.")
    if sums.confirmed < needed_units(checkout.amount):
        checkout.accepted_amount = amount
    recompute([checkout], now=now, confirmed=confirmed, items=items)


def received(checkout: Checkout, transfers: Iterable[TransferRow], *, unsure: Collection[int] = ()) -> Received:
    """Return the worth of a checkout's credited transfers that are still on their chains; `unsure` ones do not count as final."""
    standing = [t for t in transfers if t.state != TransferState.ORPHANED]
    final = [t for t in standing if t.state == TransferState.CONFIRMED]
    confirmed = value_of(checkout, (t.money for t in final if t.transfer_id not in unsure))
    return Received(
        seen=value_of(checkout, (t.money for t in standing)),
        confirmed=confirmed,
        waiting=value_of(checkout, (t.money for t in final)) - confirmed,
    )


def unsure(checkout: Checkout, transfers: Sequence[TransferRow]) -> set[int]:
    """Return the ids of transfers that complete nothing yet, though they may be final: parts of a large sum that wait for a second
    node, and money that a halted chain may have lost.

    A person decided about a successor's money.
    """
    return unvouched_parts(checkout, transfers).keys() | _doubted(checkout, transfers)


def _doubted(checkout: Checkout, transfers: Iterable[TransferRow]) -> set[int]:
    if checkout.is_final or checkout.replaces_id is not None:
        return set()
    return {one.transfer_id for one in transfers if one.is_doubted}


def unvouched_parts(checkout: Checkout, transfers: Sequence[TransferRow]) -> dict[int, TransferRow]:
    """Return the parts of a large sum that two nodes must know first, by transfer id, whatever chains they came on.

    A large transfer is not among them: it becomes final only then. A person decided about a successor's money.
    """
    if checkout.is_final or checkout.replaces_id is not None:
        return {}
    seen = received(checkout, transfers).seen
    return {one.transfer_id: one for one in transfers if not one.is_vouched and is_large_part(one, seen)}


def is_large_part(one: TransferRow | Transfer, seen: int) -> bool:
    """Whether a transfer is a part of a large sum `seen`, in millionths of a USD: too small for its chain to wait for a second node."""
    large = chain_spec(one.chain).large_units
    is_there = one.mode == Mode.LIVE and one.state != TransferState.ORPHANED
    return is_there and large is not None and one.units < large <= seen


@dataclass(frozen=True, slots=True)
class _PlannedEvent:
    """An event that is written after the rows; `transfer` became final."""

    checkout: Checkout
    type: str
    transfer: TransferRow | None = None


class _Movement:
    """The changes of a batch of checkouts, collected so that each table is written once."""

    def __init__(self, items: Iterable[InboxItem] = ()) -> None:
        self.items = list(items)
        self.changed: dict[int, Checkout] = {}
        self.told: list[_PlannedEvent] = []
        self.doubted: list[Checkout] = []
        self.reversals: list[Reversal] = []
        self.counts: Counter[CountKey] = Counter()
        self.ended: list[Checkout] = []
        self.turned: list[Checkout] = []
        self.unasked: list[int] = []
        self.extended: list[Checkout] = []

    def follow(
        self, checkout: Checkout, transfers: Sequence[TransferRow], now: datetime, confirmed: Collection[int]
    ) -> None:
        """Update one checkout from its transfers, of which some are `confirmed` just now."""
        parts = unvouched_parts(checkout, transfers)
        self.unasked += [pk for pk, one in parts.items() if one.is_vouched is None]
        sums = received(checkout, transfers, unsure=parts.keys() | _doubted(checkout, transfers))
        amount_received = from_units(sums.seen)
        is_begun = checkout.amount_received < checkout.amount * REAL_PART <= amount_received
        if amount_received != checkout.amount_received:
            checkout.amount_received = amount_received
            self.changed[checkout.pk] = checkout
        needed = needed_units(checkout.amount, checkout.accepted_amount)
        status = derive_status(CheckoutStatus(checkout.status), sums, needed_units=needed)
        self._note_covered(checkout, status)
        self._note_confirmed(checkout, [one for one in transfers if one.transfer_id in confirmed])
        if status != checkout.status:
            self.move(checkout, status, paid_at=now)
            mark(f"checkout {status}", checkout.public_id, began=now)
        if is_begun:
            self._give_time(checkout, now)
        self._note_shortfall(checkout, sums)
        self._note_exception(checkout, sums, _lost(checkout, transfers))

    def move(self, checkout: Checkout, status: CheckoutStatus, *, paid_at: datetime | None = None) -> None:
        """Move one checkout. Raises IllegalMoveError if the table of moves does not allow it."""
        before = CheckoutStatus(checkout.status)
        if status not in MOVES[before]:
            raise IllegalMoveError(checkout.public_id, before, status)
        self.counts[checkout.merchant_id, checkout.mode, before] -= 1
        self.counts[checkout.merchant_id, checkout.mode, status] += 1
        checkout.status = status
        self.changed[checkout.pk] = checkout
        if status == CheckoutStatus.COMPLETED:
            checkout.paid_at = paid_at
        if status in (CheckoutStatus.COMPLETED, CheckoutStatus.EXPIRED):
            self.ended.append(checkout)
            self._tell(checkout)

    def _give_time(self, checkout: Checkout, now: datetime) -> None:
        """Let the buyer of a part-paid checkout send the rest, for `TIME_FOR_THE_REST` at least.

        Only once `REAL_PART` came, so that cents do not hold a price open, and only then. Only before the end: until then no later money was judged,
        so what is in time stays one question with one answer.
        """
        until = now + TIME_FOR_THE_REST
        asks_for_more = checkout.status in (CheckoutStatus.PENDING, CheckoutStatus.UNDERPAID)
        if asks_for_more and now < checkout.expires_at < until:
            checkout.expires_at = until
            self.changed[checkout.pk] = checkout
            self.extended.append(checkout)

    def _note_covered(self, checkout: Checkout, status: CheckoutStatus) -> None:
        """Report that the price is covered, also where the money is final already: each completion follows this event."""
        is_new = checkout.status not in (CheckoutStatus.PROCESSING, *FINAL)
        if is_new and status in (CheckoutStatus.PROCESSING, CheckoutStatus.COMPLETED):
            self.told.append(_PlannedEvent(checkout, PROCESSING))

    def _note_confirmed(self, checkout: Checkout, transfers: Iterable[TransferRow]) -> None:
        # What an expired checkout was paid became final before, or belongs to its successor.
        if checkout.status != CheckoutStatus.EXPIRED:
            final = [one for one in transfers if one.state == TransferState.CONFIRMED]
            self.told += [_PlannedEvent(checkout, TRANSFER_CONFIRMED, one) for one in final]

    def _note_shortfall(self, checkout: Checkout, sums: Received) -> None:
        """Report a shortfall, and again after each top-up that still falls short."""
        if checkout.status != CheckoutStatus.UNDERPAID:
            reported = Decimal(0)
        elif sums.unconfirmed:
            return
        else:
            reported = from_units(sums.confirmed)
        if reported == checkout.underpaid_reported:
            return
        checkout.underpaid_reported = reported
        self.changed[checkout.pk] = checkout
        if reported:
            self._tell(checkout)

    def _note_exception(self, checkout: Checkout, sums: Received, lost: Sequence[TransferRow]) -> None:
        # Repeated each time: a second transfer may be removed after the alert about the first.
        self.reversals += [(checkout, transfer) for transfer in lost]
        exception = _exception(checkout, sums, is_reversed=bool(lost))
        if CheckoutException.REVERSED in (exception, checkout.exception):
            self.doubted.append(checkout)
            if exception != checkout.exception:
                self.turned.append(checkout)
        if exception == checkout.exception:
            return
        checkout.exception = exception
        self.changed[checkout.pk] = checkout

    def _tell(self, checkout: Checkout) -> None:
        self.told.append(_PlannedEvent(checkout, EVENT_OF[CheckoutStatus(checkout.status)]))

    def _tell_of_reversals(self, lost: Iterable[Reversal]) -> None:
        """Add an event for each checkout that lost money, again or for the first time, and for each that has all back."""
        hit = {checkout.pk for checkout, _ in lost} | {c.pk for c in self.turned}
        for checkout in self.doubted:
            if checkout.pk in hit:
                is_lost = checkout.exception == CheckoutException.REVERSED
                self.told.append(_PlannedEvent(checkout, REVERSED if is_lost else RESTORED))

    def _completed(self) -> list[Checkout]:
        completed = EVENT_OF[CheckoutStatus.COMPLETED]
        return [told.checkout for told in self.told if told.type == completed]

    def _restored(self) -> list[Checkout]:
        return [checkout for checkout in self.turned if checkout.exception != CheckoutException.REVERSED]

    def write(self, transfers: Transfers, now: datetime) -> None:
        """Write everything, events last: their counter is the last lock in the order."""
        lost = mark_reversed(self.reversals, now=now)
        self._tell_of_reversals(lost)
        # Before the events, which tell it.
        end_completed([*self._completed(), *self._restored()])
        # Read once, and only if an event is written.
        releases = cast("Releases", SimpleLazyObject(lambda: releases_of([told.checkout for told in self.told])))
        events = [self._event(told, transfers.get(told.checkout.pk, []), releases) for told in self.told]
        if self.changed:
            _update(list(self.changed.values()))
            count(self.counts)
            for one in self.extended:
                expect_deposit(bytes(one.deposit_nonce), watched_until=one.expires_at + WATCH_AFTER_EXPIRY)
            add_to_days(_day(one, transfers.get(one.pk, [])) for one in self.ended)
            add_volumes(self.turned)
        ask_witnesses(self.unasked, now=now)
        # One can complete and be reversed at once: another of its transfers was final and was removed.
        charge_completed(self._completed(), transfers, now=now)
        follow_reversals(self.turned, now=now)
        self.items += alert(lost, now=now)
        self.items += mark_restored(self.doubted, self.turned, now=now)
        promise_receipts([*self._completed(), *self._restored()], now=now)
        publish([*events, *inbox_events(self.items)], now=now)

    def _event(
        self, told: _PlannedEvent, transfers: Sequence[TransferRow], releases: Releases
    ) -> NewEvent | OptInEvent:
        checkout, transfer = told.checkout, told.transfer
        read = partial(_subject, told, transfers, releases)
        if transfer is not None:
            # Once for each transfer: a successor may take it over, and a reorg may remove it and bring it back.
            return _opt_in(told, f"transfer:{transfer.transfer_id}:confirmed", read)
        if told.type == PROCESSING:
            return _opt_in(told, new_id(checkout.public_id), read)
        checkout.event_count += 1
        self.changed[checkout.pk] = checkout
        return NewEvent(
            merchant_id=checkout.merchant_id,
            mode=Mode(checkout.mode),
            type=told.type,
            subject_id=checkout.public_id,
            occurrence=f"{checkout.public_id}:{checkout.event_count}",
            data=json.dumps(read()),
            url=checkout.webhook_url,
        )


def _opt_in(told: _PlannedEvent, occurrence: str, read: Callable[[], Mapping[str, Any]]) -> OptInEvent:
    checkout = told.checkout
    return OptInEvent(checkout.merchant_id, Mode(checkout.mode), told.type, occurrence, read)


def _subject(told: _PlannedEvent, transfers: Sequence[TransferRow], releases: Releases) -> dict[str, Any]:
    """Return the checkout as GET does, with the transfer that an event is about."""
    checkout, transfer = told.checkout, told.transfer
    replaces = checkout.replaces.public_id if checkout.replaces else None
    payload = checkout_payload(checkout, transfers, replaces=replaces, released_by=releases.get(checkout.pk))
    if transfer is not None:
        payload["changed_transfer"] = {
            "chain": transfer.chain,
            "tx_hash": transfer.tx_hash,
            "position": transfer.position,
        }
    return payload


def _day(checkout: Checkout, transfers: Sequence[TransferRow]) -> DayChange:
    """Return the contribution of a checkout's end to its daily total."""
    whose = checkout.merchant_id, checkout.mode
    if checkout.paid_at is None or checkout.status == CheckoutStatus.EXPIRED:
        return DayChange(*whose, day_of(checkout.expires_at), expired=1)
    # The newest recorded one, because the nightly check can determine it from the rows.
    last = transfers[-1]
    # As `CHECKOUT_DAYS.raw` adds it up: the money that a person accepted, where it is less than the price.
    volume = round_to_cent(checkout.amount if checkout.accepted_amount is None else checkout.accepted_amount)
    return DayChange(*whose, day_of(checkout.paid_at), last.chain, last.token, completed=1, volume=volume)


def _lost(checkout: Checkout, transfers: Sequence[TransferRow]) -> list[TransferRow]:
    """Return what a reorg took from a checkout after completion, or after finality."""
    paid_at = checkout.paid_at
    if paid_at is None:
        return []
    return [
        transfer
        for transfer in transfers
        if transfer.orphaned_at is not None and (transfer.confirmed_at is not None or transfer.orphaned_at >= paid_at)
    ]


def _exception(checkout: Checkout, sums: Received, *, is_reversed: bool) -> CheckoutException:
    if checkout.status == CheckoutStatus.UNDERPAID:
        return CheckoutException.UNDERPAID
    if checkout.status == CheckoutStatus.EXPIRED:
        is_short = 0 < sums.seen < needed_units(checkout.amount)
        return CheckoutException.UNDERPAID if is_short else CheckoutException.NONE
    if checkout.status != CheckoutStatus.COMPLETED:
        return CheckoutException.NONE
    # A transfer that came back counts again once it is final again.
    if is_reversed or sums.confirmed < needed_units(checkout.amount, checkout.accepted_amount):
        return CheckoutException.REVERSED
    if sums.seen < needed_units(checkout.amount):
        return CheckoutException.UNDERPAID
    if sums.seen > overpaid_above_units(checkout.amount):
        return CheckoutException.OVERPAID
    return CheckoutException.NONE


# What was accepted is written with the status: a constraint refuses a live checkout whose money was accepted, and the day's
# volume is read back where the checkout is reversed at once.
_UPDATE = """
    UPDATE checkouts_checkout c
    SET status = u.status, exception = u.exception, amount_received = u.received, accepted_amount = u.accepted,
        underpaid_reported = u.reported, event_count = u.event_count, paid_at = u.paid_at, expires_at = u.expires_at
    FROM unnest(%b::bigint[], %b::text[], %b::text[], %s::numeric[], %s::numeric[], %s::numeric[], %b::int[],
                %b::timestamptz[], %b::timestamptz[])
         AS u(id, status, exception, received, accepted, reported, event_count, paid_at, expires_at)
    WHERE c.id = u.id
"""


def _update(checkouts: Sequence[Checkout]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            _UPDATE,
            [
                [c.pk for c in checkouts],
                [str(c.status) for c in checkouts],
                [str(c.exception) for c in checkouts],
                [c.amount_received for c in checkouts],
                [c.accepted_amount for c in checkouts],
                [c.underpaid_reported for c in checkouts],
                [c.event_count for c in checkouts],
                [c.paid_at for c in checkouts],
                [c.expires_at for c in checkouts],
            ],
        )
