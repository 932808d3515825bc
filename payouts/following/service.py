"""Finds on the chain what pays payouts, and calls them paid: nobody else does.

Changes of movements at paying wallets are queued (`WatchedMovement.queued_at`), as transfers are. What is decided about one
follows from the rows: run twice, late, or by two workers at once, it comes out the same.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils.text import format_lazy
from django.utils.translation import pgettext_lazy

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from accounts.states import Mode
from accounts.team.service import mail_owners
from checkouts.inbox.service import close_returned, resolve_returned
from checkouts.lifecycle.inbox_events import inbox_events
from gateway.core.api.errors import RoleError
from gateway.core.money import format_units
from gateway.core.texts import pgettext_noop
from payouts.approvals.service import is_approver
from payouts.errors import PayoutStateError
from payouts.events import News, payout_event
from payouts.following import alarms
from payouts.following.alarms import mail_alarm
from payouts.following.attaching import WAITS, Rivals, attach, leave_to, pays_elsewhere, recipient_of, rivals_of
from payouts.following.candidates import candidate_of, is_waiting, sent_with
from payouts.lifecycle.service import conclude_payout, locked_payout
from payouts.lifecycle.sources import recount_returns
from payouts.models import Payout, PayoutRequest, PayoutSource, PayoutSurplus
from payouts.outflows.handed_out import handed_elsewhere
from payouts.outflows.lost_outflows import lost_outflows
from payouts.outflows.matching import CLOCKS_DIFFER, Match, MatchKind, Outflow, match, names_in
from payouts.states import ENDING, AddressBy, PayoutException, PayoutStatus
from wallets.models import Transfer, WatchedMovement
from wallets.networks import chain_spec, decimals_of
from wallets.states import Direction, TransferState, WatchPurpose
from wallets.transfers.doubts import is_doubted_movement
from wallets.transfers.movements import ask_witness_of, queue_movements
from wallets.watched.service import expect_payouts
from webhooks.outbox.events import publish

log = structlog.get_logger(__name__)

BATCH: Final = 500
SET_ASIDE: Final = timedelta(minutes=1)
"""How long a movement waits that could not be processed."""

EXPECTED_FOR: Final = timedelta(hours=1)
"""How long a wallet is read at full pace after it was last seen with a payout that is being sent."""

COOLING: Final = timedelta(hours=24)
"""How long a payout without a batch stays `sending` after a reorg removed its outflow, which may come back, and how long a wallet is not
asked for such a payment again."""

_RECENT: Final = timedelta(hours=1)
# A list or file of a cancelled payout can still be paid: that is reported, as a second send is.
_WAS_LISTED: Final = Q(
    Exists(PayoutRequest.objects.filter(payout=OuterRef("pk")).exclude(batch__method__in=ENDING)),
    status=PayoutStatus.CANCELLED,
)


def follow_movements(*, now: datetime) -> int:
    """Process the queued movements; return how many. Safe to run concurrently."""
    total = 0
    while done := _follow_batch(now):
        total += done
    return total


def _follow_batch(now: datetime) -> int:
    rows = WatchedMovement.objects.filter(queued_at__lte=now).order_by("queued_at", "pk")
    return sum(_follow_safely(pk, now) for pk in list(rows.values_list("pk", flat=True)[:BATCH]))


def _follow_safely(pk: int, now: datetime) -> bool:
    try:
        return _follow(pk, now)
    except (OperationalError, InterfaceError):
        raise  # the server is down, or another worker interfered: no row is at fault
    except Exception:
        log.exception("movement set aside", movement=pk)
        queue_movements([pk], now=now + SET_ASIDE)
        return False


@transaction.atomic
def _follow(pk: int, now: datetime) -> bool:
    """Process one movement; return whether it was queued still. Payouts are locked first, as everywhere."""
    seen = WatchedMovement.objects.select_related("wallet").get(pk=pk)
    surplus = PayoutSurplus.objects.filter(movement=pk).values("payout")
    payouts = list(
        Payout.objects.locked()
        .select_related("merchant", "batch")
        .prefetch_related("requests__batch", "surplus")
        .filter(Q(movement=pk) | Q(pk__in=surplus) | Q(pk__in=handed_elsewhere(seen)) | _to_recipient(seen))
    )
    movement = WatchedMovement.objects.select_for_update(of=("self",), no_key=True).select_related("wallet").get(pk=pk)
    if movement.queued_at is None or movement.queued_at > now:
        return False
    if recipient_of(movement) == recipient_of(seen):
        # Else a reorg gave it another recipient meanwhile, whose payouts are not locked: it stays on the queue.
        before = {payout.pk: _standing(payout) for payout in payouts}
        _decide(movement, payouts, now)
        # Nothing else brings one in doubt back, if its chain goes on as it was.
        in_doubt = movement.state == TransferState.CONFIRMED and is_doubted_movement(pk)
        WatchedMovement.objects.filter(pk=pk).update(queued_at=now + SET_ASIDE if in_doubt else None)
        _publish([payout for payout in payouts if _standing(payout) != before[payout.pk]], now)
    return True


def _standing(payout: Payout) -> News | None:
    """Return what endpoints know of a payout's outflow; None while it is not final."""
    if payout.status != PayoutStatus.PAID:
        return None
    return News.REVERSED if payout.exception == PayoutException.REVERSED else News.PAID


def _publish(payouts: Sequence[Payout], now: datetime) -> None:
    """Close the inbox's items of refunds that are paid, and tell endpoints what became of the payouts; last in a transaction."""
    told = [(payout, news) for payout in payouts if (news := _standing(payout))]
    paid = [payout.pk for payout, news in told if news is News.PAID]
    returned = PayoutSource.objects.filter(payout__in=paid).values_list("transfer", flat=True)
    items = close_returned(list(returned), now=now) if paid else []
    publish([*(payout_event(payout, news) for payout, news in told), *inbox_events(items)], now=now)


def _to_recipient(movement: WatchedMovement) -> Q:
    return Q(
        merchant=movement.merchant_id, mode=movement.mode, chain=movement.chain, address=recipient_of(movement)
    ) & (WAITS | Q(status=PayoutStatus.PAID) | _WAS_LISTED)


def _decide(movement: WatchedMovement, payouts: Sequence[Payout], now: datetime) -> None:
    is_orphaned = movement.state == TransferState.ORPHANED
    attached = next((one for one in payouts if one.movement_id == movement.pk), None)
    if attached is not None and _follow_attached(attached, movement, now):
        return
    surplus = PayoutSurplus.objects.filter(movement=movement.pk).first()
    if surplus is not None and is_orphaned:
        _withdraw(surplus, payouts, now)
    if surplus is None and not is_orphaned:
        _follow_new(movement, payouts, now)


def _follow_attached(payout: Payout, movement: WatchedMovement, now: datetime) -> bool:
    """Follow the movement of a payout; return False if it is not the payout's any more."""
    stands = movement.state != TransferState.ORPHANED and _still_fits(payout, movement)
    if payout.status == PayoutStatus.PAID:
        _note_reversal(payout, movement, stands=stands, now=now)
        return True
    if not stands:
        if _is_awaited(payout, movement, now):
            return True
        _detach(payout, movement, now)
        return False
    if _is_final_or_asked(movement, now):
        # Paid twice, if a list paid the address that it had before.
        exception = PayoutException(payout.exception) or _exception_of(payout, movement)
        paid = conclude_payout(payout, movement, now=now, exception=exception)
        payout.status, payout.paid_at, payout.exception = paid.status, paid.paid_at, paid.exception
    return True


def _is_awaited(payout: Payout, movement: WatchedMovement, now: datetime) -> bool:
    """Whether a removed outflow may still return that a person named: no rule would find it again.

    It is older than its payout, or left a wallet that is not watched.
    """
    was_named = payout.address_by == AddressBy.CHAIN or movement.direction == Direction.IN
    if not was_named or movement.state != TransferState.ORPHANED or movement.orphaned_at is None:
        return False
    return movement.orphaned_at > now - COOLING


def _still_fits(payout: Payout, movement: WatchedMovement) -> bool:
    """Whether a movement is still what was attached: a reorg may give a transaction another recipient, or other units."""
    same = (payout.chain, payout.token, payout.address) == (movement.chain, movement.token, recipient_of(movement))
    # `paid_twice` and `reversed` take the place of the `wrong_amount` of one that is paid.
    is_paid = payout.status == PayoutStatus.PAID and payout.exception != PayoutException.NONE
    return same and (payout.units == movement.units or is_paid or payout.exception == PayoutException.WRONG_AMOUNT)


def is_final(movement: WatchedMovement) -> bool:
    """Whether nothing can remove a movement: its chain calls it final, and was not halted since.

    A second node knows it, too, if that was asked.
    """
    is_answered = movement.witness_asked_at is None or movement.witness_answered_at is not None
    is_confirmed = movement.state == TransferState.CONFIRMED and is_answered and not needs_witness(movement)
    return is_confirmed and not is_doubted_movement(movement.pk)


def needs_witness(movement: WatchedMovement) -> bool:
    """Whether a movement is large, and no second node was asked about it yet."""
    spec = chain_spec(movement.chain)
    if movement.mode != Mode.LIVE or movement.witness_asked_at is not None or spec.large_units is None:
        return False
    return movement.units >= spec.large_units and movement.token not in spec.finer_tokens


def _follow_new(movement: WatchedMovement, payouts: Sequence[Payout], now: datetime) -> None:
    """Decide what a standing movement is to payouts that have another one, or none."""
    if _is_known(movement, payouts) or pays_elsewhere(movement):
        return
    rivals = rivals_of(movement)
    found = _match(movement, payouts, rivals)
    if found.verdict in (MatchKind.NOTHING, MatchKind.WRONG_AMOUNT) and (moved := _moved_since(movement, payouts)):
        # Exactly what a list asked for is no wrong amount of something else.
        _report_surplus(moved, movement, now, is_elsewhere=True)
        return
    payout = next((one for one in payouts if found.payout is not None and one.pk == found.payout.pk), None)
    if payout is None:
        if found.payout is not None:
            leave_to(rivals, now=now + SET_ASIDE)
        return
    gone = payout.movement if payout.status == PayoutStatus.SENDING else None
    if found.verdict is MatchKind.PAID_TWICE and gone is not None and gone.state == TransferState.ORPHANED:
        # Another transaction took the place of what a reorg removed.
        _detach(payout, gone, now)
        found = Match(MatchKind.PAYS, found.payout)
    if found.verdict is MatchKind.PAYS and attach(payout.pk, movement.pk):
        payout.status, payout.movement = PayoutStatus.SENDING, movement
        expect_payouts([movement.wallet_id], until=now + EXPECTED_FOR)
        queue_movements(sent_with(payout, movement), now=now)
        _follow_attached(payout, movement, now)
    elif found.verdict is MatchKind.PAID_TWICE and not _awaits_approval(movement):
        _report_surplus(payout, movement, now)
    elif found.verdict is MatchKind.WRONG_AMOUNT and _is_handed_to(payout, movement):
        _report_amount(payout, movement, now)


def _moved_since(movement: WatchedMovement, payouts: Iterable[Payout]) -> Payout | None:
    """Return the payout of a list, file or calls that asked for exactly this outflow, if it goes elsewhere since."""
    if _awaits_approval(movement):
        return None
    keys = {*handed_elsewhere(movement)}
    return next((one for one in payouts if one.pk in keys), None)


def _is_handed_to(payout: Payout, movement: WatchedMovement) -> bool:
    """Whether the wallet was asked to pay this payout. Of other wallets, what a recipient gets for something else is no mistake."""
    return payout.batch is not None and payout.batch.wallet_id == movement.wallet_id


def _awaits_approval(movement: WatchedMovement) -> bool:
    """Whether an outflow fits a payout that nobody approved yet, so that it need not be an earlier one's second send.

    `recheck_payouts` finds it once that is approved, and whoever ends that payout queues it again. A surplus would pay nothing any more.
    """
    if movement.direction != Direction.OUT or movement.wallet.purpose != WatchPurpose.LIST:
        return False
    asked = Payout.objects.of(movement.merchant_id, movement.mode).filter(
        status=PayoutStatus.REQUESTED, chain=movement.chain, token=movement.token, address=movement.counterparty
    )
    earliest = movement.block_time + CLOCKS_DIFFER
    return asked.filter(approved_at=None, units=movement.units, created_at__lte=earliest).exists()


def _is_known(movement: WatchedMovement, payouts: Sequence[Payout]) -> bool:
    """Whether the same money is attached already as the other side saw it: one watched wallet paid another."""
    attached = [one.movement_id for one in payouts if one.movement_id is not None]
    same = {"tx_hash": movement.tx_hash, "position": movement.position, "token": movement.token}
    return WatchedMovement.objects.filter(pk__in=attached, **same).exclude(state=TransferState.ORPHANED).exists()


def _match(movement: WatchedMovement, payouts: Iterable[Payout], rivals: Rivals) -> Match:
    outflow = Outflow(
        chain=movement.chain,
        token=movement.token,
        recipient=recipient_of(movement),
        units=int(movement.units),
        block_time=movement.block_time,
        wallet_id=movement.wallet_id,
        # Each merchant's row decides by the same names: some keep no labels.
        names=names_in(label for row in (movement, *rivals.rows) for label in row.labels or ()) | {movement.tx_hash},
        # A stranger may pay the recipient as much, and a recipient another one.
        must_be_named=movement.direction == Direction.IN or movement.wallet.purpose == WatchPurpose.PAYOUT,
    )
    return match(outflow, [*(candidate_of(one) for one in payouts), *rivals.candidates])


def _detach(payout: Payout, movement: WatchedMovement, now: datetime) -> None:
    """Free a payout from an outflow that a reorg removed before it was final: it waits for one again."""
    payout.movement, payout.exception = None, PayoutException.NONE
    payout.save(update_fields=["movement", "exception"])
    _free_surplus(payout, now)
    log.warning("outflow of a payout was reversed", payout=payout.pk, tx=movement.tx_hash)


def _free_surplus(payout: Payout, now: datetime) -> None:
    """Follow again what was too much while the outflow stood that a reorg removed."""
    surplus = PayoutSurplus.objects.filter(payout=payout)
    again = list(surplus.values_list("movement_id", flat=True))
    surplus.delete()
    queue_movements(again, now=now)


def _note_reversal(payout: Payout, movement: WatchedMovement, *, stands: bool, now: datetime) -> None:
    """Mark a paid payout whose outflow a reorg removed after it was final, and clear that when it is final again."""
    was_reversed = payout.exception == PayoutException.REVERSED
    if not stands and not was_reversed:
        _except(payout, PayoutException.REVERSED, "payout.reversed", movement, now)
        mail_alarm(payout, movement, alarms.REVERSED, now=now)
        _free_surplus(payout, now)
    elif stands and was_reversed and is_final(movement):
        _except(payout, _exception_of(payout, movement), "payout.returned", movement, now)


def _exception_of(payout: Payout, movement: WatchedMovement | None) -> PayoutException:
    """Return the exception of a payout whose outflow stands, if it has one, by that and by what was sent beside."""
    if PayoutSurplus.objects.filter(payout=payout).exists():
        return PayoutException.PAID_TWICE
    if movement is None:
        return PayoutException.NONE
    return PayoutException.NONE if payout.units == movement.units else PayoutException.WRONG_AMOUNT


def _report_surplus(payout: Payout, movement: WatchedMovement, now: datetime, *, is_elsewhere: bool = False) -> None:
    """Record that a payout was sent once more, though it was cancelled, or to an address that it no longer has, once that is final.

    The outflow is never matched again by itself. Unless it went elsewhere, it pays a payout whose own outflow a reorg removed.
    """
    if not _is_final_or_asked(movement, now):
        return
    is_reversed = payout.exception == PayoutException.REVERSED
    if is_reversed and not is_elsewhere:
        # If the first one returns, that is too much.
        payout.movement, payout.paid_at = movement, now
        payout.save(update_fields=["movement", "paid_at"])
        _except(payout, _exception_of(payout, movement), "payout.paid", movement, now)
        return
    PayoutSurplus.objects.create(payout=payout, movement=movement, found_at=now)
    if payout.status == PayoutStatus.CANCELLED:
        _except(payout, PayoutException.NONE, "payout.sent_cancelled", movement, now)
        mail_alarm(payout, movement, alarms.SENT_CANCELLED, now=now)
        return
    if is_elsewhere:
        is_twice = payout.status == PayoutStatus.PAID and not is_reversed
        exception = PayoutException.PAID_TWICE if is_twice else PayoutException(payout.exception)
        _except(payout, exception, "payout.sent_elsewhere", movement, now)
        mail_alarm(payout, movement, alarms.SENT_ELSEWHERE, now=now)
        return
    _except(payout, PayoutException.PAID_TWICE, "payout.paid_twice", movement, now)
    mail_alarm(payout, movement, alarms.PAID_TWICE, now=now)


def _is_final_or_asked(movement: WatchedMovement, now: datetime) -> bool:
    """Whether an outflow is final; a second node is asked about a large one first."""
    if needs_witness(movement):
        ask_witness_of(movement.pk, now=now)
    return is_final(movement)


def _report_amount(payout: Payout, movement: WatchedMovement, now: datetime) -> None:
    """Mail owners that the wallet which was asked for a payout sent another amount to its recipient, once that is final."""
    if _is_final_or_asked(movement, now):
        mail_alarm(payout, movement, alarms.OTHER_AMOUNT, now=now)


def _withdraw(surplus: PayoutSurplus, payouts: Sequence[Payout], now: datetime) -> None:
    """Forget an outflow that was too much, and that a reorg removed."""
    payout = next(one for one in payouts if one.pk == surplus.payout_id)
    movement = surplus.movement
    surplus.delete()
    is_last = not PayoutSurplus.objects.filter(payout=payout).exists()
    if is_last and (payout.exception == PayoutException.PAID_TWICE or payout.status == PayoutStatus.CANCELLED):
        _except(payout, _exception_of(payout, payout.movement), "payout.returned", movement, now)


def _except(
    payout: Payout,
    exception: PayoutException,
    action: str,
    movement: WatchedMovement,
    now: datetime,
    actor: Actor = SYSTEM,
) -> None:
    before, was = {"exception": str(payout.exception)}, PayoutException(payout.exception)
    is_gone = exception == PayoutException.REVERSED
    if payout.status == PayoutStatus.PAID and payout.movement and is_gone != (was == PayoutException.REVERSED):
        # A reorg may have changed the units of one that was paid in full.
        units = payout.units if was == PayoutException.NONE else payout.movement.units
        recount_returns(payout, int(units), is_gone=is_gone)
    payout.exception = exception
    payout.save(update_fields=["exception"])
    after = {"exception": str(exception), "tx_hash": movement.tx_hash, "units": str(movement.units)}
    record(payout.merchant, action=action, actor=actor, object_id=payout.public_id, before=before, after=after, now=now)
    log.warning("payout needs a person", payout=payout.pk, tx=movement.tx_hash)


def wrong_amounts(payout: Payout) -> list[WatchedMovement]:
    """Return what went to a waiting payout's recipient in other amounts since it was made, newest first.

    A person may accept one as paid.
    """
    if not is_waiting(payout):
        return []
    rows = WatchedMovement.objects.filter(
        merchant=payout.merchant_id,
        mode=payout.mode,
        direction=Direction.OUT,
        wallet__purpose=WatchPurpose.LIST,
        chain=payout.chain,
        token=payout.token,
        counterparty=payout.address,
        block_time__gte=payout.created_at - CLOCKS_DIFFER,
    )
    free = rows.exclude(state=TransferState.ORPHANED).exclude(units=payout.units)
    used = Payout.objects.filter(merchant=payout.merchant_id, mode=payout.mode, address=payout.address)
    taken = used.filter(movement__isnull=False).values("movement")
    # Also of payouts that had this address before.
    surplus = PayoutSurplus.objects.filter(payout__merchant=payout.merchant_id).values("movement")
    return list(free.exclude(pk__in=taken).exclude(pk__in=surplus).order_by("-block_time", "-pk")[:20])


@transaction.atomic
def accept_amount(payout: Payout, movement: WatchedMovement, *, actor: Actor, now: datetime) -> Payout:
    """Accept an outflow of another amount as a payout's, as an approver; it is paid once that is final.

    Raises RoleError, and ConflictError where the payout does not wait, or the outflow is none of `wrong_amounts`.
    """
    held = locked_payout(payout)
    if not is_approver(held.merchant, actor.person):
        raise RoleError(pgettext_noop("team", "Your role may not approve payouts."))
    seen = (
        WatchedMovement.objects.select_for_update(of=("self",), no_key=True)
        .select_related("wallet")
        .get(pk=movement.pk)
    )
    if seen.pk not in {one.pk for one in wrong_amounts(held)} or not attach(held.pk, seen.pk):
        raise PayoutStateError(PayoutStateError.PAST, held.kind, held.status)
    held.status, held.movement = PayoutStatus.SENDING, seen
    _except(held, PayoutException.WRONG_AMOUNT, "payout.amount_accepted", seen, now, actor)
    _follow_attached(held, seen, now)
    _publish([held], now)
    return held


@transaction.atomic
def accept_lost_outflow(payout: Payout, movement: WatchedMovement, *, actor: Actor, now: datetime) -> Payout:
    """Say, as an approver, that an outflow of a time that a restore lost is a payout's; it is paid once that is final.

    Nothing is sent by that, so one person is enough. Raises RoleError, and ConflictError where the payout does not wait, or the
    outflow is none of `lost_outflows`.
    """
    held = locked_payout(payout)
    if not is_approver(held.merchant, actor.person):
        raise RoleError(pgettext_noop("team", "Your role may not approve payouts."))
    locked = WatchedMovement.objects.select_for_update(of=("self",), no_key=True).select_related("wallet")
    seen = locked.get(pk=movement.pk)
    waits = held.status in (PayoutStatus.REQUESTED, PayoutStatus.APPROVED)
    if not waits or seen.pk not in {one.pk for one in lost_outflows(held)}:
        raise PayoutStateError(PayoutStateError.PAST, held.kind, held.status)
    held.approved_at = held.approved_at or now
    held.save(update_fields=["approved_at"])
    if not attach(held.pk, seen.pk):
        raise PayoutStateError(PayoutStateError.PAST, held.kind, held.status)
    held.status, held.movement = PayoutStatus.SENDING, seen
    after = {"tx_hash": seen.tx_hash, "units": str(seen.units)}
    record(
        held.merchant,
        action="payout.lost_outflow_accepted",
        actor=actor,
        object_id=held.public_id,
        after=after,
        now=now,
    )
    expect_payouts([seen.wallet_id], until=now + EXPECTED_FOR)
    _follow_attached(held, seen, now)
    _publish([held], now)
    return held


def recheck_payouts(*, now: datetime) -> int:
    """Queue the movements that a bell or an older process missed, and keep paying wallets at full pace; return how many.

    A payout that was just approved may have been paid before: its whole time is looked at, the others' last hour.
    """
    _keep_expecting(now)
    _tell_of_lost_sources(now)
    resolve_returned(now=now)
    parameters: dict[str, Any] = {"now": now, "recent": now - _RECENT, "clocks": CLOCKS_DIFFER, "cooled": now - COOLING}
    with connection.cursor() as cursor:
        cursor.execute(_MISSED, parameters)
        missed = [pk for (pk,) in cursor]
        cursor.execute(_COOLED, parameters)
    queue_movements(missed, now=now)
    return len(missed)


_MISSED: Final = """
    SELECT m.id FROM payouts_payout p
    JOIN wallets_watchedmovement m ON m.merchant_id = p.merchant_id AND m.mode = p.mode
      AND m.block_time >= CASE
        WHEN p.approved_at > %(recent)s OR p.status = 'requested' THEN p.created_at - %(clocks)s
        ELSE GREATEST(p.created_at - %(clocks)s, %(recent)s) END
    JOIN wallets_watchedwallet w ON w.id = m.wallet_id AND w.purpose = 'list'
    WHERE (p.status IN ('approved', 'sending') OR p.status = 'requested' AND p.approved_at IS NOT NULL)
      AND p.movement_id IS NULL
      AND (m.chain, m.token, m.counterparty, m.units) = (p.chain, p.token, p.address, p.units)
      AND m.direction = 'out' AND m.state <> 'orphaned' AND m.queued_at IS NULL
      AND NOT EXISTS (SELECT FROM payouts_payout o WHERE o.movement_id = m.id)
      AND NOT EXISTS (SELECT FROM payouts_surplus s WHERE s.movement_id = m.id)
    UNION
    SELECT m.id FROM payouts_payout p JOIN wallets_watchedmovement m ON m.id = p.movement_id
    WHERE p.status = 'sending' AND m.queued_at IS NULL
      AND (m.state = 'orphaned' OR m.state = 'confirmed' AND (
        m.witness_asked_at IS NULL OR m.witness_answered_at IS NOT NULL))
"""
# Without a batch nothing else frees a payout. Its outflow may come back for as long as a batch that was cancelled cools.
_COOLED: Final = """
    UPDATE payouts_payout p SET status = 'approved'
    WHERE p.status = 'sending' AND p.batch_id IS NULL AND p.movement_id IS NULL AND NOT EXISTS (
        SELECT FROM wallets_watchedmovement m
        WHERE m.merchant_id = p.merchant_id AND m.mode = p.mode AND m.direction = 'out'
          AND m.block_time >= p.created_at - %(clocks)s
          AND (m.chain, m.token, m.counterparty, m.units) = (p.chain, p.token, p.address, p.units)
          AND (m.state <> 'orphaned' OR m.orphaned_at >= %(cooled)s)
          AND NOT EXISTS (SELECT FROM payouts_payout o WHERE o.movement_id = m.id)
          AND NOT EXISTS (SELECT FROM payouts_surplus s WHERE s.movement_id = m.id))
"""


def _tell_of_lost_sources(now: datetime) -> None:
    """Mail owners, once, of refunds on their way or paid whose payment a reorg removed: they can be stopped no more."""
    gone = Transfer.objects.filter(state=TransferState.ORPHANED, orphaned_at__gte=now - _TOLD_FOR)
    # Few: the payouts are found from there.
    sources = PayoutSource.objects.filter(transfer__in=list(gone.values_list("pk", flat=True)))
    refunds = list(sources.values_list("payout", flat=True))
    lost = Payout.objects.filter(pk__in=refunds, mode=Mode.LIVE, status__in=list(_LOST_SOURCE)).order_by("pk")
    for payout in lost:
        name, subject, text = _LOST_SOURCE[PayoutStatus(payout.status)]
        amount = f"{format_units(int(payout.units), decimals_of(payout.chain, payout.token))} {payout.token}"
        mail_owners(
            payout.merchant_id,
            key=f"payout:{payout.public_id}:{name}",
            subject=subject,
            text=format_lazy(text, payout=payout.public_id, amount=amount, url=f"{settings.BASE_URL}/dashboard/"),
            now=now,
        )


# How long after a reorg it is looked for: no pass is that late.
_TOLD_FOR: Final = timedelta(days=7)
_SOURCELESS: Final = pgettext_lazy(
    "team",
    """\
The network reversed the payment that the refund {payout} sends back. The refund was handed out to be paid already. Cancel it, unless
it was signed.
{url}
""",
)
_PAID_SOURCELESS: Final = pgettext_lazy(
    "team",
    """\
The network reversed the payment that the refund {payout} sent back. The refund of {amount} is paid, and stays: you have sent money
that you do not have from this buyer any more. Ask the buyer to pay again, or to send it back. If the payment returns, nothing is to be done.
{url}
""",
)
_LOST_SOURCE: Final = {
    PayoutStatus.SENDING: (
        "source",
        pgettext_lazy("team", "A payment that you are refunding was reversed"),
        _SOURCELESS,
    ),
    PayoutStatus.PAID: (
        "paid-source",
        pgettext_lazy("team", "A payment that you refunded was reversed"),
        _PAID_SOURCELESS,
    ),
}
"""By status: what the mail's key, subject and text say of a refund whose payment is gone."""


def _keep_expecting(now: datetime) -> None:
    """Have the wallets read at full pace from which payouts are being sent."""
    sending = Payout.objects.filter(status=PayoutStatus.SENDING)
    wallets = {*sending.filter(batch__isnull=False).values_list("batch__wallet", flat=True).distinct()}
    wallets |= {*sending.filter(movement__isnull=False).values_list("movement__wallet", flat=True).distinct()}
    if wallets:
        expect_payouts(wallets, until=now + EXPECTED_FOR)
