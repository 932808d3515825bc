"""Decides the queued transfers to checkouts' addresses: credits them, or puts them in the inbox.

Locks are taken in the usual order: transfers, checkouts by id, then counters and events. Transfers that another worker has
locked are skipped.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from checkouts.attribution.credit import QueuedTransfer, Refused, release, write_credits, write_inbox
from checkouts.attribution.decisions import LockedCheckouts, decide
from checkouts.attribution.deposit_rules import ToInbox
from checkouts.lifecycle.moves import recompute
from checkouts.models import Payment
from checkouts.states import CheckoutStatus, InboxReason
from gateway.core.tracing import mark
from wallets.models import Transfer
from wallets.states import ClaimKind, TransferState
from wallets.transfers.queue import BATCH, SET_ASIDE, process_queue
from wallets.transfers.service import transfer_subject


def attribute_transfers(*, now: datetime, batch: int = BATCH) -> int:
    """Decide every queued transfer to checkouts' addresses; return how many there were. Safe to run concurrently."""
    return process_queue(ClaimKind.CHECKOUT, lambda queued: _attribute(queued, now=now), now=now, batch=batch)


@transaction.atomic
def _attribute(queued: QuerySet[Transfer], *, now: datetime) -> int:
    transfers = _changed_first(_take(queued))
    if not transfers:
        return 0
    outcome, checkouts = decide(transfers)
    write_credits(outcome.credited, now)
    for transfer, checkout, _ in outcome.credited:
        mark("payment credited", checkout.public_id, began=now, after=transfer_subject(transfer.pk))
    write_inbox([*outcome.inbox, *outcome.notices, *_returned(transfers, checkouts)], now)
    touched = {checkout.pk for _, checkout, _ in outcome.credited}
    touched |= set(checkouts.credited_before.values()) | set(checkouts.handed_by)
    recompute([checkouts.by_pk[pk] for pk in sorted(touched)], now=now)
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
