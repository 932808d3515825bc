"""When what was handed out can be paid no more: by the chain's final blocks where it ends, by a wait where it does not.

The wait is a guess. In both cases the chain must have been read up to there first: what was paid before has been seen then.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

import structlog
from django.conf import settings

from accounts.states import Mode
from gateway.core import json
from payouts.models import PayoutBatch, PayoutRequest
from payouts.states import ENDING, Method
from wallets.browser_wallets import ended_at
from wallets.chains.base import ChainError
from wallets.networks import chain_spec
from wallets.selectors import chain_health

log = structlog.get_logger(__name__)


def read_until(*, now: datetime) -> dict[str, datetime | None]:
    """Return up to when each chain's payments were seen."""
    return {health.chain: health.known_until for health in chain_health(now=now)}


def wait_of(batch: PayoutBatch, *, now: datetime) -> datetime:
    """Return until when, about, the payouts of a batch that is cancelled now stay locked."""
    if batch.method not in ENDING:
        # What no deadline ends can be paid for ever: the page says that this is a guess. A Safe's nonce ends no file (decision 42).
        return now + timedelta(hours=settings.PAYOUT_COOLING_HOURS)
    handed = batch.requests.filter(valid_until__isnull=False).values_list("valid_until", flat=True)
    return max((end for end in handed if end is not None), default=now)


def is_over(batch: PayoutBatch, known_until: datetime | None) -> bool:
    """Whether whatever was paid for a batch has been seen, and nothing that was handed out for it can be paid any more.

    `known_until` is up to when its chain's payments were seen.
    """
    wait = batch.cooling_until or batch.valid_until
    if batch.mode != Mode.LIVE:
        return True
    if known_until is None or wait is None or known_until < wait:
        return False
    return batch.method not in ENDING or have_ended(batch.requests.all(), batch, known_until)


def have_ended(requests: Iterable[PayoutRequest], batch: PayoutBatch, known_until: datetime | None) -> bool:
    """Whether no block to come can pay what these requests of a batch handed out, and what blocks have was seen."""
    handed = [one for one in requests if one.valid_until is not None]
    if not handed:
        return True
    heights = [height for one in handed if (height := last_height_of(one)) is not None]
    latest = max(one.valid_until for one in handed if one.valid_until is not None)
    try:
        ended = ended_at(chain_spec(batch.chain), latest, max(heights, default=None))
    except ChainError as error:
        log.warning("whether a batch has ended is not known", chain=batch.chain, error=str(error))
        return False
    return ended is not None and known_until is not None and known_until >= ended


def last_height_of(request: PayoutRequest) -> int | None:
    """Return the last block that takes what was handed out, where a number ends it."""
    if request.batch.method != Method.TRANSACTION:
        return None
    height: int | None = json.loads(bytes(request.raw)).get("last_height")
    return height
