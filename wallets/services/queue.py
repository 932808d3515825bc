"""The queue of transfers whose facts changed: batches, each one transaction, and transfers that fail set aside."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import InterfaceError, OperationalError

from wallets.models import Transfer
from wallets.models.transfers import TransferQuerySet
from wallets.states import ClaimKind

log = structlog.get_logger(__name__)

BATCH: Final = 500
SET_ASIDE: Final = timedelta(minutes=1)
"""How far behind the queue's end a transfer goes that could not be decided. Each sweep tries it again."""

Decide = Callable[[TransferQuerySet], int]
"""Decides queued transfers in one transaction, takes them off the queue, and returns how many.

It locks them and passes over what another worker has locked.
"""


def process_queue(
    purpose: ClaimKind, decide: Decide, *, now: datetime, batch: int = BATCH
) -> int:
    """Decide every queued transfer of a purpose; return how many there were. Safe to run many times at once.

    What another worker has locked is left for the next time.
    """
    total = 0
    while decided := _process_batch(purpose, decide, now=now, batch=batch):
        total += decided
    return total


def _process_batch(
    purpose: ClaimKind, decide: Decide, *, now: datetime, batch: int
) -> int:
    """Decide a batch; where that fails, each of its transfers alone: one that fails holds up no other merchant."""
    queued = Transfer.objects.queued(purpose)
    try:
        return decide(queued[:batch])
    except (OperationalError, InterfaceError):
        raise  # the server is away, or another worker was in the way: nobody's row is to blame
    except Exception:
        log.exception("a batch of transfers failed; taking them one by one")
        keys = list(queued.values_list("pk", flat=True)[:batch])
        return sum(_process_one(queued.filter(pk=pk), decide, pk, now) for pk in keys)


def _process_one(
    queued: TransferQuerySet, decide: Decide, pk: int, now: datetime
) -> int:
    try:
        return decide(queued)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("transfer set aside", transfer=pk)
        Transfer.objects.filter(pk=pk).update(queued_at=now + SET_ASIDE)
        return 0
