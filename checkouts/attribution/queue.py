"""Decides the queued transfers to checkouts' addresses, in batches, with the checkouts they may pay under lock."""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from accounts.models import Merchant
from checkouts.attribution.candidates import Arrival, Surroundings
from checkouts.attribution.credit import BatchDecisions, QueuedTransfer, Refused, release, write_credits, write_inbox
from checkouts.attribution.deposit_rules import CheckoutFacts, Credit, ToInbox, TransferFacts, decide_deposit
from checkouts.attribution.exact_rules import Verdict, decide_exact
from checkouts.lifecycle.bells import ring_pages
from checkouts.lifecycle.moves import recompute
from checkouts.models import Checkout, Payment
from checkouts.pricing import is_due_on, value_of
from checkouts.reservations import reserve_rest
from checkouts.states import CheckoutStatus, InboxReason
from gateway.core.restores import lost_checkouts_may_be_paid
from gateway.core.tracing import mark
from wallets.models import Transfer
from wallets.networks import is_accepted, six_decimals
from wallets.states import ClaimKind, TransferState
from wallets.transfers.service import BATCH, SET_ASIDE, process_queue, transfer_subject

# How often a decision may change to another checkout before the next pass must take it.
_TRIES = 3
# Locks are held during a batch, and all merchants share the queue. So after about a second the rest waits.
_LOOKING_SECONDS = 0.5
_LOOKED_AT = 25


class LockedCheckouts:
    """The locked checkouts of a batch. `credited_before` maps those of its transfers that are credited already.

    `handed_by` are expired checkouts: their successors took over some of these transfers.
    """

    def __init__(
        self, locked: Iterable[Checkout], credited_before: Mapping[int, int], handed_by: Collection[int] = ()
    ) -> None:
        self.credited_before = credited_before
        self.handed_by = handed_by
        self.by_pk: dict[int, Checkout] = {}
        self.by_nonce: dict[bytes, Checkout] = {}
        self.add(locked)

    def add(self, locked: Iterable[Checkout]) -> None:
        """Add further locked checkouts."""
        for checkout in locked:
            self.by_pk[checkout.pk] = checkout
            self.by_nonce[bytes(checkout.deposit_nonce)] = checkout


def decide(transfers: Sequence[QueuedTransfer]) -> tuple[BatchDecisions, LockedCheckouts]:
    """Decide transfers that were never decided, and lock the checkouts that the batch touches.

    A transfer that a reorg removed waits until it returns. When the time is used up, the other transfers are returned as
    `left` and stay queued.
    """
    undecided = [
        transfer for transfer in transfers if transfer.decided_at is None and transfer.state != TransferState.ORPHANED
    ]
    arrivals = [_arrival(t) for t in undecided if t.wallet_id is not None]
    doubts = _doubts(arrivals)
    guessed = _first_look(arrivals, doubts)
    work = _Work(undecided, arrivals, guessed, doubts)
    checkouts = _lock(transfers, work.likely())
    outcome = work.decide(checkouts)
    for _ in range(_TRIES):
        further = _lock_if_free(outcome.wanted) if outcome.wanted else []
        if not further:
            break
        checkouts.add(further)
        outcome = work.decide(checkouts)
    return outcome, checkouts


class _Doubts(NamedTuple):
    """When a price alone is not enough: merchants that review round payments with a rival, and times with lost checkouts."""

    cautious: set[int]
    lost: set[datetime]


def _first_look(arrivals: Sequence[Arrival], doubts: _Doubts) -> dict[int, Verdict]:
    """Judge transfers without locks, as many as time allows; return the verdicts by transfer id."""
    verdicts: dict[int, Verdict] = {}
    around = _surroundings(())
    ends_at = time.monotonic() + _LOOKING_SECONDS
    for start in range(0, len(arrivals), _LOOKED_AT):
        some = arrivals[start : start + _LOOKED_AT]
        around.look_around(some)
        verdicts |= {a.pk: _judge(a, around, doubts) for a in around.named_first(some)}
        if time.monotonic() >= ends_at:
            break
    return verdicts


def _surroundings(arrivals: Sequence[Arrival]) -> Surroundings:
    return Surroundings(arrivals, rival_span=_rival_span())


def _rival_span() -> timedelta:
    return timedelta(minutes=settings.RIVAL_MINUTES)


def _doubts(arrivals: Sequence[Arrival]) -> _Doubts:
    ids = {arrival.merchant_id for arrival in arrivals}
    if not ids:
        return _Doubts(set(), set())
    found = Merchant.objects.filter(pk__in=ids, round_price_rivals=True)
    lost = lost_checkouts_may_be_paid([one.facts.block_time for one in arrivals])
    return _Doubts(set(found.values_list("pk", flat=True)), lost)


def _judge(arrival: Arrival, around: Surroundings, doubts: _Doubts) -> Verdict:
    """Judge one transfer, and count its money for the next ones."""
    verdict = decide_exact(
        arrival.facts,
        around.known(arrival.pk),
        rival_span=_rival_span(),
        doubts_round_prices=arrival.merchant_id in doubts.cautious,
        doubts_prices=arrival.facts.block_time in doubts.lost,
    )
    if isinstance(verdict.decision, Credit) and verdict.checkout is not None:
        around.count(verdict.checkout.pk, arrival.facts.units)
    return verdict


def _lock(transfers: Sequence[QueuedTransfer], likely: set[int]) -> LockedCheckouts:
    """Lock the checkouts that the batch is known to touch, in the usual order."""
    nonces = {bytes(t.nonce) for t in transfers if t.nonce is not None and not t.decided_at}
    decided = [t.pk for t in transfers if t.decided_at is not None]
    payments = list(Payment.objects.filter(transfer__in=decided)) if decided else []
    paid = {payment.transfer_id: payment.checkout_id for payment in payments}
    handed_by = {p.handed_by_id for p in payments if p.handed_by_id is not None}
    touched = Q(deposit_nonce__in=nonces) if nonces else Q()
    if ids := likely | set(paid.values()) | handed_by:
        touched |= Q(pk__in=ids)
    locked = Checkout.objects.locked().filter(touched) if touched else []
    return LockedCheckouts(locked, paid, handed_by)


def _lock_if_free(ids: Iterable[int]) -> list[Checkout]:
    """Lock the checkouts that no other transaction has locked. Never waits, because the usual lock order is not kept."""
    return list(Checkout.objects.filter(pk__in=ids).order_by("pk").select_for_update(of=("self",), skip_locked=True))


class _Work:
    """A batch to decide, with the first look's verdicts on wallet transfers.

    A transfer unmatched at first stays unmatched: it touches no checkout, so a lock would change nothing. Most payments of a
    rush are of this kind. It is judged again only if this batch paid a checkout that cast doubt on it.
    """

    def __init__(
        self,
        undecided: Sequence[QueuedTransfer],
        arrivals: Sequence[Arrival],
        guessed: dict[int, Verdict],
        doubts: _Doubts,
    ) -> None:
        self._undecided = undecided
        self._doubts = doubts
        self._guessed = guessed
        looked_at = [arrival for arrival in arrivals if arrival.pk in guessed]
        self._named = [a for a in looked_at if guessed[a.pk].checkout]
        self._unnamed = [a for a in looked_at if not guessed[a.pk].checkout]

    def likely(self) -> set[int]:
        """Return the ids of the checkouts that the transfers probably belong to."""
        meant = (verdict.checkout for verdict in self._guessed.values())
        return {checkout.pk for checkout in meant if checkout is not None}

    def decide(self, checkouts: LockedCheckouts) -> BatchDecisions:
        """Decide every transfer from the locked rows: first those that name their checkout, then by price.

        Once a checkout is covered by the payment that names it, no other payment of the batch is for it. Otherwise the queue's order stays.
        """
        outcome = BatchDecisions()
        around = _surroundings(self._named)
        for transfer in self._undecided:
            if transfer.wallet_id is None:
                _decide_deposit(transfer, checkouts, outcome, around)
            elif transfer.pk not in self._guessed:
                outcome.left.append(transfer)
        known = self._guessed | self._judge(around, self._named)
        paid = {checkout.pk for _, checkout, _ in outcome.credited}
        paid |= {v.checkout.pk for v in known.values() if v.checkout}
        doubtful = [
            arrival for arrival in self._unnamed if any(p.checkout.pk in paid for p in known[arrival.pk].passed_over)
        ]
        around.look_around(doubtful)
        known |= self._judge(around, doubtful)
        for transfer in self._undecided:
            if transfer.pk in known:
                _note(transfer, known[transfer.pk], checkouts.by_pk, outcome)
        return outcome

    def _judge(self, around: Surroundings, arrivals: Sequence[Arrival]) -> dict[int, Verdict]:
        named_first = around.named_first(arrivals)
        return {a.pk: _judge(a, around, self._doubts) for a in named_first}


def _note(transfer: QueuedTransfer, verdict: Verdict, locked: Mapping[int, Checkout], outcome: BatchDecisions) -> None:
    """Add a verdict to the outcome; if its checkout is not locked, the transfer waits."""
    decision, meant = verdict.decision, verdict.checkout
    if meant is not None and meant.pk not in locked:
        outcome.postponed.append(transfer)
        outcome.wanted.add(meant.pk)
    elif isinstance(decision, ToInbox):
        checkout_id = meant.pk if meant is not None else None
        outcome.inbox.append(Refused(transfer, checkout_id, decision, verdict.passed_over))
    elif meant is not None:
        outcome.credited.append((transfer, locked[meant.pk], decision.reason))
        if verdict.passed_over:
            beside = ToInbox(
                InboxReason.RIVAL, f"credited to {meant.public_id}; another checkout of this price had just expired"
            )
            outcome.notices.append(Refused(transfer, meant.pk, beside, verdict.passed_over))


def _decide_deposit(
    transfer: QueuedTransfer, checkouts: LockedCheckouts, outcome: BatchDecisions, around: Surroundings
) -> None:
    nonce = transfer.nonce
    checkout = checkouts.by_nonce.get(bytes(nonce)) if nonce is not None else None
    if checkout is None:
        nobody = ToInbox(InboxReason.UNMATCHED, "no checkout belongs to this address")
        outcome.inbox.append(Refused(transfer, None, nobody))
        return
    facts = _facts(transfer)
    facts = replace(facts, accepted=facts.accepted or is_due_on(checkout, facts.chain, facts.token))
    decision = decide_deposit(facts, _checkout_facts(checkout))
    if isinstance(decision, ToInbox):
        outcome.inbox.append(Refused(transfer, checkout.pk, decision))
        return
    around.count(checkout.pk, value_of(checkout, [(facts.token, facts.units)]))
    outcome.credited.append((transfer, checkout, decision.reason))


def _arrival(transfer: QueuedTransfer) -> Arrival:
    return Arrival(transfer.pk, transfer.merchant_id, transfer.mode, _facts(transfer))


def _facts(transfer: QueuedTransfer) -> TransferFacts:
    return TransferFacts(
        chain=transfer.chain,
        token=transfer.token,
        accepted=is_accepted(transfer.chain, transfer.token),
        units=six_decimals(transfer.chain, transfer.token, int(transfer.units)),
        block_time=transfer.block_time,
        recipient=transfer.recipient,
        labels=tuple(transfer.labels),
    )


def _checkout_facts(checkout: Checkout) -> CheckoutFacts:
    return CheckoutFacts(
        status=CheckoutStatus(checkout.status),
        offers=checkout.offers,
        expires_at=checkout.expires_at,
        is_cancelled=checkout.cancelled_at is not None,
    )


def attribute_transfers(*, now: datetime, batch: int = BATCH) -> int:
    """Decide every queued transfer to checkouts' addresses; return how many there were. Safe to run concurrently."""
    return process_queue(ClaimKind.CHECKOUT, lambda queued: _attribute(queued, now=now), now=now, batch=batch)


@transaction.atomic
def attribute_deposits(checkout: Checkout, *, now: datetime) -> int:
    """Decide the queued transfers to a checkout's own addresses; return how many there were.

    Waits for a worker that decides some of them.
    """
    queued = Transfer.objects.queued().filter(deposit__nonce=bytes(checkout.deposit_nonce))
    list(queued.order_by("pk").select_for_update(of=("self",), no_key=True))
    return _attribute(queued, now=now)


@transaction.atomic
def _attribute(queued: QuerySet[Transfer], *, now: datetime) -> int:
    transfers = _changed_first(_take(queued))
    if not transfers:
        return 0
    outcome, checkouts = decide(transfers)
    write_credits(outcome.credited, now)
    for transfer, checkout, _ in outcome.credited:
        mark("payment credited", checkout.public_id, began=now, after=transfer_subject(transfer.pk))
    refused = [*outcome.inbox, *_returned(transfers, checkouts)]
    opened = write_inbox([*refused, *outcome.notices], now)
    ring_pages(one.checkout_id for one in refused if one.checkout_id is not None)
    touched = {checkout.pk for _, checkout, _ in outcome.credited}
    touched |= set(checkouts.credited_before.values()) | set(checkouts.handed_by)
    final = {transfer.pk for transfer in transfers if transfer.state == TransferState.CONFIRMED}
    moved = [checkouts.by_pk[pk] for pk in sorted(touched)]
    recompute(moved, now=now, confirmed=final, items=opened)
    reserve_rest(moved, now=now)
    release(transfers, outcome, now=now, later=SET_ASIDE)
    return len(transfers) - len(outcome.postponed) - len(outcome.left)


def _take(queued: QuerySet[Transfer]) -> list[QueuedTransfer]:
    """Lock those of the queued transfers that no other worker has locked."""
    columns = [name if name != "nonce" else "deposit__nonce" for name in QueuedTransfer._fields]
    # `no_key`: a process that writes an alert about one of these holds the checkout's lock and must not wait for this one.
    rows = queued.select_for_update(skip_locked=True, of=("self",), no_key=True).values_list(*columns)
    return [QueuedTransfer._make(row) for row in rows]


def _changed_first(transfers: list[QueuedTransfer]) -> list[QueuedTransfer]:
    """Return only the decided transfers if a reorg changed some: their checkouts may ask for money again.

    The others stay in the queue for the next batch, which then sees what those checkouts need.
    """
    decided = [t for t in transfers if t.decided_at is not None]
    if any(t.state != TransferState.CONFIRMED for t in decided):
        return decided
    return transfers


def _returned(transfers: Sequence[QueuedTransfer], checkouts: LockedCheckouts) -> list[Refused]:
    """Return credited money that a reorg removed and that came back after its checkout expired.

    Expiry waits for credited transfers to become final. So a credited transfer that changes afterwards was removed before.
    """
    back = {
        transfer.pk: (transfer, checkout_id)
        for transfer in transfers
        if transfer.state != TransferState.ORPHANED
        and (checkout_id := checkouts.credited_before.get(transfer.pk)) is not None
        and checkouts.by_pk[checkout_id].status == CheckoutStatus.EXPIRED
    }
    if not back:
        return []
    untold = Payment.objects.filter(transfer__in=list(back)).exclude(transfer__inbox_items__reason=InboxReason.LATE)
    late = ToInbox(InboxReason.LATE, "a reorganisation took this transfer, and it returned after the checkout expired")
    return [Refused(*back[payment.transfer_id], late) for payment in untold.order_by("pk")]
