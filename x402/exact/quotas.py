"""Limits on one merchant's use of our gas and of the chains' nodes, and on a payer's open payments.

Failures count against payers and the accounts that fund them first, then against the merchant.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from threading import Lock
from typing import Any, Final

from cachetools import TTLCache, cached
from django.conf import settings
from django.db import connection
from django.db.models import Q

from accounts.states import Mode
from gateway.core.api.rate_limits import Limit, hit
from settlements.errors import NoGasError
from settlements.gas.fees import gas_policy
from settlements.gas.ledger import COSTS
from wallets.chains.base import ChainError
from wallets.chains.family import ChainSpec
from x402.exact import reasons
from x402.exact.errors import BalanceUnknownError, OverdrawnError, RefusedPaymentError
from x402.exact.inputs import StandardRequest
from x402.models import Authorization, X402Payment
from x402.states import AuthorizationState, PaymentStatus

# Older settlements are included in every node's balance.
_FRESH: Final = timedelta(minutes=1)
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 402))"
# The payer's sent payments in the same token that its balance may not include yet, and what those above a height take.
# Those in no block are above any. In two parts, each with its index: a machine may have paid a million times.
_OTHERS: Final = """
    SELECT count(*), COALESCE(sum(other.units) FILTER (WHERE other.height > %(height)s), 0)::text
    FROM (
        SELECT z.id, z.units, 9223372036854775807 AS height FROM x402_authorization z
        WHERE z.mode = 'live' AND z.chain = %(chain)s AND z.token = %(token)s AND z.payer = %(payer)s AND z.state = 'sent'
        UNION ALL
        SELECT z.id, z.units, p.block_height FROM x402_payment p JOIN x402_authorization z ON z.payment_id = p.id
        WHERE p.mode = 'live' AND p.chain = %(chain)s AND p.payer = %(payer)s AND p.verified_at > %(since)s::timestamptz
          AND z.token = %(token)s AND z.state = 'settled'
    ) other
    WHERE other.id <> %(own)s
"""

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

VERIFYING: Final = 4
"""One of this many requests to a chain's nodes may begin a verification, which sends two to five, like a look-up."""

SETTLING: Final = 2
"""One of this many may begin a settlement: twice as many, so that verified payments are not held up at the end.

Settlements that start late in one minute are counted with those of the next.
"""

_LEAST_A_MINUTE: Final = 6
_DAY: Final = timedelta(days=1)
_HOUR: Final = timedelta(hours=1)
_MOST_COUNTED: Final = 10

_Asked = tuple[str, datetime]

FundedBy = Callable[[str], str]
"""Returns the account that last sent a payer the token, within about an hour; "" if none did. Raises ChainError."""

STRANGERS_PART: Final = 2
"""Strangers are let through until a day's failures cost this fraction of the merchant's share."""

_MOST_COMPARED: Final = 20
_MOST_READ: Final = 200

_funders: Final[TTLCache[tuple[int, str, str, str], str]] = TTLCache(10_000, 600.0)
_funders_lock: Final = Lock()


@dataclass(frozen=True, slots=True)
class Balance:
    """A payer's balance of a token, in base units, at a block's height (on Solana a slot)."""

    units: int
    height: int


def must_ask_balance(row: Authorization, *, now: datetime) -> bool:
    """Whether a payer has other open payments in the same token, so that its balance must be read."""
    return _others(row, now, 0)[0] > 0


def refuse_overdrawn(row: Authorization, balance: Balance | None, *, now: datetime) -> None:
    """Raise OverdrawnError if a payer's balance does not cover an authorisation beside the open ones.

    Call it in the transaction that stores what is sent: a lock on payer and token lets a second request see the first
    one's. Raises BalanceUnknownError if there are open ones and the balance was not read.
    """
    _lock(row)
    number, promised = _others(row, now, balance.height if balance else 0)
    if balance is None:
        if number:
            raise BalanceUnknownError
        return
    if promised + row.units > balance.units:
        raise OverdrawnError


def _lock(row: Authorization) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [f"{row.chain}:{row.token}:{row.payer}"])


def _others(row: Authorization, now: datetime, height: int) -> tuple[int, int]:
    """Return the number of the payer's other payments, and their base units that a balance at this height does not include."""
    parameters: dict[str, Any] = {
        "height": height,
        "chain": row.chain,
        "token": row.token,
        "payer": row.payer,
        "since": now - _FRESH,
        "own": row.pk,
    }
    with connection.cursor() as cursor:
        cursor.execute(_OTHERS, parameters)
        number, promised = cursor.fetchone()
    return number, int(promised)


_COST_OF: Final = f"""
    SELECT {COSTS}
    FROM settlements_gastransaction t JOIN x402_authorization z ON z.transaction_id = t.id
    JOIN settlements_gasaccount g ON g.id = t.account_id
    WHERE z.merchant_id = %s AND g.chain = %s AND t.created_at >= %s::timestamptz AND t.state <> 'dropped'
"""  # noqa: S608 - only our own text is put in
_GOOD: Final = f"{_COST_OF} AND z.state <> 'failed'"
_FAILED: Final = f"{_COST_OF} AND z.state = 'failed'"
_OPEN: Final = f"{_COST_OF} AND z.state = 'sent'"
# Of payers who had paid the merchant before.
_KNOWN_FAILED: Final = f"""{_FAILED} AND EXISTS (
    SELECT 1 FROM x402_payment p
    WHERE p.mode = 'live' AND p.payer = z.payer AND p.merchant_id = z.merchant_id AND p.chain = z.chain
      AND p.verified_at < z.created_at
)"""  # noqa: S608 - only our own text is put in
# Dropped and cancelled transactions were not the payer's fault.
_FAILED_AT: Final = """
    SELECT z.created_at
    FROM x402_authorization z LEFT JOIN settlements_gastransaction t ON t.id = z.transaction_id
    WHERE z.mode = 'live' AND z.chain = %s AND z.token = %s AND z.payer = %s
      AND z.state = 'failed' AND z.created_at > %s
      AND (z.transaction_id IS NOT NULL OR z.network_fee > 0)
      AND (t.id IS NULL OR (t.state <> 'dropped' AND t.purpose <> 'cancel'))
    ORDER BY z.created_at DESC LIMIT %s
"""


def refuse_greedy(stranger: "Stranger", *, payment: int, now: datetime) -> None:
    """Raise NoGasError if a merchant used up its share of a day's gas (GAS_MERCHANT_SHARE), or its payers just failed.

    `payment` is the maximum cost of this one, in wei. Failures are limited separately, by `refuse_failed`.
    """
    merchant_id, chain = stranger.merchant_id, stranger.request.spec.name
    share = Decimal(settings.GAS_MERCHANT_SHARE) * gas_policy(chain).daily
    good, failed = _of_a_day(merchant_id, chain, now)
    if good > share:
        raise NoGasError(f"the merchant's share of the day's gas on {chain} is spent")
    # The sweep finishes open payments that are older.
    asked = ((_FAILED, now - WINDOW), (_OPEN, now - _DAY))
    lately, open_now = _sums(merchant_id, chain, asked)
    costs = FailedCosts(day=max(failed, lately), lately=lately, open=open_now, payment=payment)
    try:
        refuse_failed(costs, share, chain)
    except StrangersFailedError:
        if not is_known_payer(stranger, now=now):
            stranger.refuse_related(costs, share, now=now)
            return
        asked = ((_KNOWN_FAILED, now - _DAY), (_KNOWN_FAILED, now - WINDOW))
        known, _ = _sums(merchant_id, chain, asked)
        refuse_known(known, share, chain)


def is_known_payer(payer: "Stranger", *, now: datetime) -> bool:
    """Whether an account paid this merchant before: strangers' failures do not stop it."""
    paid = X402Payment.objects.filter(
        mode=Mode.LIVE,
        merchant=payer.merchant_id,
        chain=payer.request.spec.name,
        payer=payer.request.signed.payer,
        verified_at__lt=now - WINDOW,
    )
    return paid.exclude(status=PaymentStatus.REVERSED).exists()


def refuse_known(failed: int, share: Decimal, chain: str) -> None:
    """Raise NoGasError if failures of payers who had paid before cost a quarter of the merchant's share in a day."""
    if failed * DEAR_PART > share:
        raise NoGasError(f"too many payments of known payers failed on {chain}")


class StrangersFailedError(NoGasError):
    """Payments of a merchant's payers failed just now, so that nothing is sent for a payer who did not pay before."""


@dataclass(frozen=True, slots=True)
class FailedCosts:
    """The cost of a merchant's failed payments within a day and within WINDOW, and the maximum cost of open ones.

    `payment` is the maximum cost of the one to send.
    """

    day: int
    lately: int
    open: int
    payment: int


def refuse_failed(costs: FailedCosts, share: Decimal, chain: str) -> None:
    """Raise NoGasError if a merchant's payers failed too much recently, or have too much in progress.

    The limits of one merchant, as parts of its share of a day's gas:

    - Open payments cost at most a quarter (OPEN_PART): all of them may fail, as a first wave.
    - Failures within WINDOW cost at most a 300th (FAILED_PART). After failures of that cost, open payments count as failed for
      a day, so that ten minutes cost a 300th or one payment, and the day half a share.
    - Where gas is expensive, a few payments cost more than a 300th. They may fail (FAILED_LEAST payments) until the day's
      failures cost a quarter (DEAR_PART).

    So one merchant's failures cost at most three quarters of its share a day, or the quarter and one payment in ten minutes,
    except for payments judged at the same moment. Once the chain's gas of the day (GAS_DAILY_COINS) is spent, nothing is sent at
    all. Honest payers wait for minutes, never for a day.
    """
    part = share / FAILED_PART
    few = min(Decimal(FAILED_LEAST * costs.payment), share / DEAR_PART - costs.day)
    most = max(part, few)
    doubted = costs.open if costs.day > part else 0
    if costs.lately + doubted > most:
        raise StrangersFailedError(f"too many payments of the merchant failed on {chain} just now")
    if costs.open * OPEN_PART > share:
        raise NoGasError(f"too many payments of the merchant are on their way on {chain}")


def may_ask(share: int, merchant_id: int, spec: ChainSpec, *, now: datetime) -> bool:
    """Whether this merchant's machines may send one more request to a chain's nodes in this minute.

    One merchant gets at most three quarters of the machines' share. Nodes of a local network have no limit.
    """
    if spec.is_local:
        return True
    most = max(spec.requests_per_minute // share, _LEAST_A_MINUTE)
    scope, moment = f"x402.exact.{share}", now.timestamp()
    own = Limit(f"{scope}.asker", max(3 * most // 4, _LEAST_A_MINUTE))
    if hit(own, f"{spec.name}:{merchant_id}", now=moment).exceeded:
        return False
    return not hit(Limit(scope, most), spec.name, now=moment).exceeded


def refuse_failing(request: StandardRequest, *, now: datetime) -> None:
    """Refuse a payer if its authorisations just failed on the chain, at our cost. Raises RefusedPaymentError.

    A payer's contract may change its answer about a signature between our check and the transaction.
    """
    payer = (request.spec.name, request.token, request.signed.payer)
    with connection.cursor() as cursor:
        cursor.execute(_FAILED_AT, [*payer, now - _HOUR, _MOST_COUNTED])
        times = [moment for (moment,) in cursor]
    if len(times) <= FREE_FAILURES:
        return
    wait = min(timedelta(minutes=2 ** (len(times) - FREE_FAILURES - 1)), LONGEST_WAIT)
    left = times[0] + wait - now
    if left > timedelta():
        minutes = -(-left // timedelta(minutes=1))
        raise RefusedPaymentError(
            reasons.TRANSACTION_FAILED,
            f"Payments of this payer failed on the chain. Try again in {minutes} minutes.",
            payer=request.signed.payer,
        )


@cached(TTLCache(maxsize=10_000, ttl=10.0), key=lambda merchant_id, chain, now: (merchant_id, chain), lock=Lock())
def _of_a_day(merchant_id: int, chain: str, now: datetime) -> tuple[int, int]:
    """Return the cost in wei of a merchant's successful and failed transactions of the last day.

    Cached: summing it up for each settlement is too slow.
    """
    return _sums(merchant_id, chain, ((_GOOD, now - _DAY), (_FAILED, now - _DAY)))


def _sums(merchant_id: int, chain: str, asked: tuple[_Asked, _Asked]) -> tuple[int, int]:
    """Return two sums of costs in one statement: each has its own condition and begins at its own moment."""
    (first, begins), (second, since) = asked
    parameters: list[Any] = [merchant_id, chain, begins, merchant_id, chain, since]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT ({first}), ({second})", parameters)
        one, other = cursor.fetchone()
    return int(one), int(other)


@dataclass(frozen=True, slots=True)
class Stranger:
    """The payer of a payment of this merchant, and how to ask who funded an account."""

    merchant_id: int
    request: StandardRequest
    funded_by: FundedBy

    def refuse_related(self, costs: FailedCosts, share: Decimal, *, now: datetime) -> None:
        """Raise StrangersFailedError if the payer is related to those that just failed, or failures cost much of the share."""
        if (costs.day + costs.open) * STRANGERS_PART > share:
            raise StrangersFailedError("failures cost half of the merchant's share")
        payer = self.request.signed.payer
        failed = _failed_payers(self.merchant_id, self.request, now)
        try:
            own = self._circle(payer)
            related = payer in failed or any(own & self._circle(one) for one in failed)
        except ChainError as error:
            raise StrangersFailedError("no node says who funded a payer") from error
        if related:
            raise StrangersFailedError("payments of a related payer failed just now")

    def _circle(self, payer: str) -> set[str]:
        key = (self.merchant_id, self.request.spec.name, self.request.token, payer)
        with _funders_lock:
            funder = _funders.get(key)
        if funder is None:
            funder = self.funded_by(payer)
            with _funders_lock:
                _funders[key] = funder
        return {payer, funder} - {""}


def _failed_payers(merchant_id: int, request: StandardRequest, now: datetime) -> Sequence[str]:
    """Return the payers whose payments to a merchant failed at our cost within an hour, the newest first."""
    rows = Authorization.objects.filter(
        Q(transaction__isnull=False) | Q(network_fee__gt=0),
        mode=Mode.LIVE,
        merchant=merchant_id,
        chain=request.spec.name,
        state=AuthorizationState.FAILED,
        created_at__gt=now - _HOUR,
    )
    payers = rows.order_by("-created_at").values_list("payer", flat=True)[:_MOST_READ]
    return list(dict.fromkeys(payers))[:_MOST_COMPARED]
