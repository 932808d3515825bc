"""Payouts as the rules of matching see them, and until when the same outflow is a second send of one."""

from datetime import datetime, timedelta
from typing import Final

from django.db.models import Max

from payouts.models import Payout, PayoutBatch
from payouts.outflows.lost_outflows import unused_outflows
from payouts.outflows.matching import PayoutCandidate, names_of
from payouts.states import ENDING, BatchStatus, PayoutException, PayoutStatus
from wallets.models import WatchedMovement

_ONE_SITTING: Final = timedelta(hours=1)
"""How long a person takes to pay a list, at most."""


def candidate_of(payout: Payout) -> PayoutCandidate:
    """Return what matching has to know of a payout; its batch and requests with theirs are loaded."""
    hashes = [one.tx_hash for one in payout.requests.all() if one.tx_hash]
    return PayoutCandidate(
        pk=payout.pk,
        chain=payout.chain,
        token=payout.token,
        recipient=payout.address,
        units=int(payout.units),
        created_at=payout.created_at,
        is_waiting=is_waiting(payout),
        wallet_id=payout.batch.wallet_id if payout.batch is not None else None,
        names=names_of(payout.public_id) | {*hashes},
        ended_at=_ended_at(payout),
        is_cancelled=payout.status == PayoutStatus.CANCELLED,
        was_paid_twice=bool(payout.surplus.all()),
        was_reversed=payout.exception == PayoutException.REVERSED,
    )


def is_waiting(payout: Payout) -> bool:
    """Whether a payout waits for its outflow: it is approved, or was before a restore, and has none."""
    was_approved = payout.status == PayoutStatus.REQUESTED and payout.approved_at is not None
    waits = was_approved or payout.status in (PayoutStatus.APPROVED, PayoutStatus.SENDING)
    return waits and payout.movement_id is None


def sent_with(payout: Payout, movement: WatchedMovement) -> list[int]:
    """Return the keys of unused outflows to those whom the same list paid already, shortly before the one that pays a payout.

    A list that nobody paid from for long was paid again, if one of its payouts that was left is paid: the others are second sends.
    What waits to be followed is left out: it is looked at anyway.
    """
    lists = [one.batch_id for one in payout.requests.all() if _lasts(one.batch)]
    if not lists:
        return []
    paid = Payout.objects.filter(requests__batch__in=lists, movement__isnull=False).exclude(pk=payout.pk)
    earliest = movement.block_time - _ONE_SITTING
    rows = unused_outflows([payout]).filter(counterparty__in=paid.values("address"), block_time__gte=earliest)
    return list(rows.filter(queued_at=None).values_list("pk", flat=True))


def _ended_at(payout: Payout) -> datetime | None:
    """Return when a payout was paid or cancelled, or the last of its batches ended; None while one of them has not."""
    times = [payout.paid_at or payout.ended_at, *(_end_of(one.batch) for one in payout.requests.all())]
    ended = [time for time in times if time is not None]
    return max(ended) if len(ended) == len(times) else None


def _end_of(batch: PayoutBatch) -> datetime | None:
    """Return when a batch was closed; of a list that is still open, when it was last paid from.

    A list stays open for as long as one of its payouts is not paid: next month's wages are no second send of those that were.
    """
    if not _lasts(batch):
        return batch.closed_at
    last: datetime | None = Payout.objects.filter(requests__batch=batch).aggregate(last=Max("movement__block_time"))[
        "last"
    ]
    return last


def _lasts(batch: PayoutBatch) -> bool:
    """Whether a batch is open until a person cancels it, or all of it is paid."""
    return batch.status == BatchStatus.OPEN and batch.method not in ENDING
