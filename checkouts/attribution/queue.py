"""Crediting transfers: the queue of changed facts, taken in batches, each batch one transaction.

Locks are taken in the order every writer keeps: transfers, checkouts by id, then counters and events. Nobody waits for
a transfer's lock here: what another worker deals with is passed over.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import QuerySet

from checkouts.attribution.credit import (
    QueuedTransfer,
    Refused,
    release,
    write_credits,
    write_inbox,
)
from checkouts.attribution.decisions import (
    LockedCheckouts,
    decide,
)
from checkouts.attribution.deposit_rules import ToInbox
from checkouts.lifecycle.moves import recompute
from checkouts.models import Payment
from checkouts.states import CheckoutStatus, InboxReason
from wallets.models import Transfer
from wallets.states import TransferState

log = structlog.get_logger(__name__)

BATCH = 500
# Behind everything queued by then; each sweep tries again.
_SET_ASIDE = timedelta(minutes=1)


def attribute_transfers(*, now: datetime, batch: int = BATCH) -> int:
    """Deal with every queued transfer; return how many there were. Safe to run many times at once.

    What somebody else is in the way of is left for the next time.
    """
    total = 0
    while dealt_with := _attribute_some(now=now, batch=batch):
        total += dealt_with
    return total


def _attribute_some(*, now: datetime, batch: int) -> int:
    """Deal with a batch; where one of its transfers cannot be dealt with, with each of the others."""
    try:
        return _attribute_batch(now=now, batch=batch)
    except (OperationalError, InterfaceError):
        raise  # the server is away, or another worker was in the way: nobody's row is to blame
    except Exception:
        log.exception("a batch of transfers failed; taking them one by one")
        return _attribute_one_by_one(now=now, batch=batch)


def _attribute_one_by_one(*, now: datetime, batch: int) -> int:
    """Deal with each transfer by itself, so that one nobody foresaw holds up no merchant but its own."""
    dealt_with = 0
    for pk in list(Transfer.objects.queued().values_list("pk", flat=True)[:batch]):
        try:
            dealt_with += _attribute(Transfer.objects.queued().filter(pk=pk), now=now)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            log.exception("transfer set aside", transfer=pk)
            Transfer.objects.filter(pk=pk).update(queued_at=now + _SET_ASIDE)
    return dealt_with


def _attribute_batch(*, now: datetime, batch: int) -> int:
    return _attribute(Transfer.objects.queued()[:batch], now=now)


@transaction.atomic
def _attribute(queued: QuerySet[Transfer], *, now: datetime) -> int:
    transfers = _take(queued)
    if not transfers:
        return 0
    outcome, checkouts = decide(transfers)
    write_credits(outcome.credited, now)
    write_inbox(
        [*outcome.inbox, *outcome.notices, *_returned(transfers, checkouts)], now
    )
    touched = {checkout.pk for _, checkout, _ in outcome.credited}
    touched |= set(checkouts.credited_before.values()) | set(checkouts.handed_by)
    recompute([checkouts.by_pk[pk] for pk in sorted(touched)], now=now)
    release(transfers, outcome, now=now, later=_SET_ASIDE)
    return len(transfers) - len(outcome.postponed) - len(outcome.left)


def _take(queued: QuerySet[Transfer]) -> list[QueuedTransfer]:
    """Lock those of the queued transfers that nobody else is dealing with."""
    columns = [
        name if name != "nonce" else "deposit__nonce" for name in QueuedTransfer._fields
    ]
    # `no_key`: an alert about one of these, written by somebody who holds the checkout's lock, must not wait for us.
    rows = queued.select_for_update(
        skip_locked=True, of=("self",), no_key=True
    ).values_list(*columns)
    return [QueuedTransfer._make(row) for row in rows]


def _returned(
    transfers: Sequence[QueuedTransfer], checkouts: LockedCheckouts
) -> list[Refused]:
    """Return credited money that a reorganisation took and that came back when its checkout had expired.

    Expiry waits for credited transfers to become final, so one whose facts change afterwards has been away.
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
    untold = Payment.objects.filter(transfer__in=list(back)).exclude(
        transfer__inbox_items__reason=InboxReason.LATE
    )
    late = ToInbox(
        InboxReason.LATE,
        "a reorganisation took this transfer, and it returned after the checkout expired",
    )
    return [
        Refused(*back[payment.transfer_id], late) for payment in untold.order_by("pk")
    ]
