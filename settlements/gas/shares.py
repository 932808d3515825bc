"""Limits on one merchant's part of a day's gas, whatever its transactions carry out; and on payers whose payments just failed.

Failures are counted by who judges them (`Outcome`): a transaction may revert although the money moved.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from threading import Lock
from typing import Any, Final

from cachetools import TTLCache, cached
from django.conf import settings
from django.db import connection

from settlements.errors import NoGasError
from settlements.gas.fees import gas_policy
from settlements.gas.ledger import COSTS
from settlements.models import GasTransaction
from settlements.states import ON_THEIR_WAY, Outcome, Purpose, TransactionState

FREE_FAILURES: Final = 1
"""How many of a payer's authorisations may fail on the chain per hour, at our cost, before the payer has to wait."""

LONGEST_WAIT: Final = timedelta(minutes=15)
"""The maximum wait: it is a minute after the first failure above the limit, and doubles with each further one."""

WINDOW: Final = timedelta(minutes=10)
FAILED_PART: Final = 300
"""Failures of one merchant's payers within WINDOW may cost at most this fraction of its share of a day's gas."""

FAILED_LEAST: Final = 4
"""If gas is expensive, failures may cost this many payments, while the day's cost at most DEAR_PART of the share."""

DEAR_PART: Final = 4

OPEN_PART: Final = 4
"""Payments in progress of one merchant's payers may cost at most this fraction of its share: all of them may fail."""

DAY: Final = timedelta(days=1)
HOUR: Final = timedelta(hours=1)

MOST_COUNTED: Final = 10
"""More failures than this make no payer wait longer."""

_COST_OF: Final = f"""
    SELECT {COSTS}
    FROM settlements_gastransaction t JOIN settlements_gasaccount g ON g.id = t.account_id
    WHERE t.merchant_id = %s AND g.chain = %s AND t.created_at >= %s::timestamptz AND t.state <> 'dropped'
"""  # noqa: S608 - only our own text is put in
_GOOD: Final = f"{_COST_OF} AND t.outcome <> 'failed'"
_FAILED: Final = f"{_COST_OF} AND t.outcome = 'failed'"
# The ledger ends what its caller forgot.
_OPEN: Final = f"{_COST_OF} AND t.outcome = 'open' AND t.state IN ('intended', 'sent')"

_Asked = tuple[str, datetime]


@dataclass(frozen=True, slots=True)
class FailedCosts:
    """The cost of a merchant's failed payments within a day and within WINDOW, and the maximum cost of open ones.

    `payment` is the maximum cost of the one to send.
    """

    day: int
    lately: int
    open: int
    payment: int


class StrangersFailedError(NoGasError):
    """Payments of a merchant's payers failed just now, so that nothing is sent for a payer unless `settlements.gas.strangers` exempts it.

    `costs` and `share`, the merchant's of a day, are what was compared.
    """

    def __init__(self, message: str, costs: FailedCosts, share: Decimal) -> None:
        super().__init__(message)
        self.costs = costs
        self.share = share


class PayerFailedError(NoGasError):
    """A payer's authorisations just failed on the chain, at our cost; `minutes` until the next one is sent."""

    def __init__(self, minutes: int) -> None:
        super().__init__(f"payments of this payer failed on the chain; next in {minutes} minutes")
        self.minutes = minutes


def share_of(chain: str) -> Decimal:
    """Return what one merchant may cost in a day on a chain, in wei (GAS_MERCHANT_SHARE)."""
    return Decimal(settings.GAS_MERCHANT_SHARE) * gas_policy(chain).daily


def refuse_greedy(merchant_id: int, chain: str, *, payment: int, now: datetime) -> None:
    """Raise NoGasError if a merchant's share of a day's gas (GAS_MERCHANT_SHARE) has no room for a payment, or its payers just failed.

    `payment` is the maximum cost of this one, in wei. Failures are limited separately, by `refuse_failed`: StrangersFailedError.
    """
    share = share_of(chain)
    good, failed = _of_a_day(merchant_id, chain, now)
    if good + payment > share:
        raise NoGasError(f"the merchant's share of the day's gas on {chain} is spent")
    # The sweep finishes open payments that are older.
    asked = ((_FAILED, now - WINDOW), (_OPEN, now - DAY))
    lately, open_now = _sums(merchant_id, chain, asked)
    refuse_failed(FailedCosts(max(failed, lately), lately, open_now, payment), share, chain)


def refuse_failed(costs: FailedCosts, share: Decimal, chain: str) -> None:
    """Raise NoGasError if a merchant's payers failed too much recently, or have too much in progress.

    The limits of one merchant, as parts of its share of a day's gas:

    - Open payments cost at most a quarter (OPEN_PART): all of them may fail, as a first wave.
    - Failures within WINDOW cost at most a 300th (FAILED_PART). After failures of that cost, open payments count as failed for
      a day, so that ten minutes cost a 300th or one payment, and the day half a share.
    - Where gas is expensive, a few payments cost more than a 300th. They may fail (FAILED_LEAST payments) until the day's
      failures cost a quarter (DEAR_PART).

    So one merchant's failures cost at most three quarters of its share a day, or the quarter and one payment in ten minutes,
    except for payments judged at the same moment. What `settlements.gas.strangers` exempts comes to that. Once the chain's gas of the
    day (GAS_DAILY_COINS) is spent, nothing is sent at all. Honest payers wait for minutes, never for a day.
    """
    part = share / FAILED_PART
    few = min(Decimal(FAILED_LEAST * costs.payment), share / DEAR_PART - costs.day)
    most = max(part, few)
    doubted = costs.open if costs.day > part else 0
    if costs.lately + doubted > most:
        raise StrangersFailedError(f"too many payments of the merchant failed on {chain} just now", costs, share)
    refuse_open(costs, share, chain)


def refuse_open(costs: FailedCosts, share: Decimal, chain: str) -> None:
    """Raise NoGasError if what is on its way for a merchant may cost more than OPEN_PART of its share: all of it may fail."""
    if costs.open * OPEN_PART > share:
        raise NoGasError(f"too many payments of the merchant are on their way on {chain}")


def refuse_failing(chain: str, payer: str, *, now: datetime) -> None:
    """Raise PayerFailedError if a payer's authorisations just failed on a chain, whatever they paid and whomever.

    A payer's contract may change its answer about a signature between our check and the transaction.
    """
    rows = GasTransaction.objects.filter(
        payer=payer, account__chain=chain, outcome=Outcome.FAILED, created_at__gt=now - HOUR
    )
    # Dropped and cancelled transactions were not the payer's fault.
    failed = rows.exclude(state=TransactionState.DROPPED).exclude(purpose=Purpose.CANCEL).order_by("-created_at")
    if minutes := minutes_to_wait(list(failed.values_list("created_at", flat=True)[:MOST_COUNTED]), now=now):
        raise PayerFailedError(minutes)


def minutes_to_wait(failures: Sequence[datetime], *, now: datetime) -> int:
    """Return for how many minutes a payer waits after these failures, the newest first; 0 for not at all."""
    if len(failures) <= FREE_FAILURES:
        return 0
    wait = min(timedelta(minutes=2 ** (len(failures) - FREE_FAILURES - 1)), LONGEST_WAIT)
    left = failures[0] + wait - now
    return -(-left // timedelta(minutes=1)) if left > timedelta() else 0


def has_open(chain: str, payer: str) -> bool:
    """Whether something that a payer signed is on its way on a chain: its balance may not cover both."""
    rows = GasTransaction.objects.filter(
        payer=payer, account__chain=chain, state__in=ON_THEIR_WAY, outcome=Outcome.OPEN
    )
    return rows.exclude(purpose=Purpose.CANCEL).exists()


@cached(TTLCache(maxsize=10_000, ttl=10.0), key=lambda merchant_id, chain, now: (merchant_id, chain), lock=Lock())
def _of_a_day(merchant_id: int, chain: str, now: datetime) -> tuple[int, int]:
    """Return the cost in wei of a merchant's successful and failed transactions of the last day.

    Cached: summing it up for each settlement is too slow.
    """
    return _sums(merchant_id, chain, ((_GOOD, now - DAY), (_FAILED, now - DAY)))


def _sums(merchant_id: int, chain: str, asked: tuple[_Asked, _Asked]) -> tuple[int, int]:
    """Return two sums of costs in one statement: each has its own condition and begins at its own moment."""
    (first, begins), (second, since) = asked
    parameters: list[Any] = [merchant_id, chain, begins, merchant_id, chain, since]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT ({first}), ({second})", parameters)
        one, other = cursor.fetchone()
    return int(one), int(other)
