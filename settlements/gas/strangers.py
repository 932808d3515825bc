"""Exempts payers from the wait after other payers' failures: those who paid the merchant before, or are unrelated to the failed ones.

A failure counts against its payer first (`shares.minutes_to_wait`), then against payers that the same account funded, and against all
who are new to the merchant only once a day's failures cost half of the merchant's share. Machines' and buyers' payments share this.

Such failures cost half of the share at most. Then `shares.refuse_failed` lets a 300th of it, or one payment, fail in ten minutes: in
a day the other half, where a payment costs little. Failures of known payers cost a quarter more (KNOWN_PART).
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from threading import Lock
from typing import Final, Protocol

from cachetools import TTLCache

from settlements.errors import NoGasError
from settlements.gas import shares
from settlements.gas.shares import DAY, HOUR, WINDOW, FailedCosts, StrangersFailedError
from settlements.models import GasTransaction
from settlements.states import Outcome, Purpose, TransactionState
from wallets.chains.base import ChainError, ChainUnavailableError

FundedBy = Callable[[str], str | None]
"""Returns the account that last sent a payer the token, within about an hour; "" if none did, None if too much came after it.

Raises ChainError.
"""

STRANGERS_PART: Final = 2
"""Strangers are let through until a day's failures cost this fraction of the merchant's share."""

MOST_READ: Final = 200
"""How many of the newest failures are read."""

KNOWN_PART: Final = 4
"""Failures of known payers, with all that is on its way, cost at most this fraction of the merchant's share in a day."""

_MOST_COMPARED: Final = 20
# One search may send nodes hundreds of questions; an answer is wanted sooner.
_SEARCH_SECONDS: Final = 5.0

_funders: Final[TTLCache[tuple[int, str, str, str], str | None]] = TTLCache(10_000, 600.0)
_funders_lock: Final = Lock()


class PayerRecord(Protocol):
    """What one kind of payments knows about the payers of one merchant on one chain."""

    def failed_payers(self, *, since: datetime) -> Sequence[str]:
        """Return the payers of payments that failed at our cost since then, the newest first, at most MOST_READ, perhaps repeated."""

    def has_paid(self, payer: str, *, before: datetime) -> bool:
        """Return whether an account paid the merchant before that moment."""

    def known_failed(self, *, since: datetime) -> int:
        """Return what failures since then cost of payers who had paid the merchant before, in the coin's base units."""


@dataclass(frozen=True, slots=True)
class Stranger:
    """The payer of a merchant's payment, what is known of the merchant's payers, and how to ask who funded one.

    `token` is the address of the token in which it pays.
    """

    merchant_id: int
    chain: str
    token: str
    payer: str
    funded_by: FundedBy
    record: PayerRecord


def refuse_greedy(stranger: Stranger, *, payment: int, now: datetime) -> None:
    """Raise NoGasError as `shares.refuse_greedy`, except for exempt payers. `payment` is the maximum cost of this one, in wei."""
    try:
        shares.refuse_greedy(stranger.merchant_id, stranger.chain, payment=payment, now=now)
    except StrangersFailedError as error:
        _refuse_unless_exempt(stranger, error, now)


def refuse_failed(stranger: Stranger, costs: FailedCosts, share: Decimal, *, now: datetime) -> None:
    """Raise NoGasError as `shares.refuse_failed`, except for exempt payers."""
    try:
        shares.refuse_failed(costs, share, stranger.chain)
    except StrangersFailedError as error:
        _refuse_unless_exempt(stranger, error, now)


def _refuse_unless_exempt(stranger: Stranger, error: StrangersFailedError, now: datetime) -> None:
    costs, share = error.costs, error.share
    if stranger.record.has_paid(stranger.payer, before=now - WINDOW):
        _refuse_known(stranger.record.known_failed(since=now - DAY), costs, share, stranger.chain)
        return
    shares.refuse_open(costs, share, stranger.chain)
    if (costs.day + costs.open) * STRANGERS_PART > share:
        raise NoGasError("failures cost half of the merchant's share")
    _refuse_related(stranger, now)


def _refuse_known(failed: int, costs: FailedCosts, share: Decimal, chain: str) -> None:
    """Raise NoGasError if failures of payers who had paid before, and what is on its way, cost a quarter of the merchant's share."""
    if (failed + costs.open) * KNOWN_PART > share:
        raise NoGasError(f"too many payments of known payers failed or are on their way on {chain}")


def _refuse_related(stranger: Stranger, now: datetime) -> None:
    """Raise NoGasError if the payer is related to those that just failed, or nodes do not say so in time.

    What they say is kept, so that the next question comes further.
    """
    found = stranger.record.failed_payers(since=now - HOUR)
    failed = list(dict.fromkeys(found))[:_MOST_COMPARED]
    if stranger.payer in failed or _is_related(stranger, failed, until=time.monotonic() + _SEARCH_SECONDS):
        raise NoGasError("payments of a related payer failed just now")


def _is_related(stranger: Stranger, failed: Sequence[str], *, until: float) -> bool:
    if not failed:
        return False
    try:
        own = _funder(stranger, stranger.payer, until)
        # Not known: perhaps one of theirs.
        if own is None:
            return True
        circle = {stranger.payer, own} - {""}
        return any(not circle.isdisjoint((one, _funder(stranger, one, until))) for one in failed)
    except ChainError as error:
        raise NoGasError("no node says in time who funded a payer") from error


def _funder(stranger: Stranger, payer: str, until: float) -> str | None:
    """Return who funded an account, as `FundedBy`. Raises ChainError, also after `until` of the monotonic clock."""
    key = (stranger.merchant_id, stranger.chain, stranger.token, payer)
    with _funders_lock, suppress(KeyError):
        return _funders[key]
    if time.monotonic() > until:
        raise ChainUnavailableError("the search for funders takes too long")
    funder = stranger.funded_by(payer)
    with _funders_lock:
        _funders[key] = funder
    return funder


def failed_payers(merchant_id: int, chain: str, *, since: datetime) -> Sequence[str]:
    """Return the payers of a merchant's failed transactions on a chain with gas accounts, as `PayerRecord.failed_payers`.

    Of machines and of buyers: both count in the same part of a day's gas.
    """
    rows = GasTransaction.objects.filter(
        merchant=merchant_id, account__chain=chain, outcome=Outcome.FAILED, created_at__gt=since
    )
    # Dropped and cancelled transactions were not the payer's fault.
    failed = rows.exclude(payer="").exclude(state=TransactionState.DROPPED).exclude(purpose=Purpose.CANCEL)
    return list(failed.order_by("-created_at").values_list("payer", flat=True)[:MOST_READ])
