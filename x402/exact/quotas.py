"""Limits on one merchant's use of the chains' nodes and on a payer's open payments, and what is known of machines' payers.

`settlements.gas.strangers` decides which payers other payers' failures stop.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.db import connection

from accounts.states import Mode
from gateway.core.api.rate_limits import Limit, hit
from settlements.gas.ledger import COSTS
from settlements.gas.relay import lock_payer, promised
from settlements.gas.shares import HOUR, MOST_COUNTED, minutes_to_wait
from settlements.gas.strangers import failed_payers
from wallets.chains.base import ChainUnavailableError
from wallets.chains.family import ChainSpec
from wallets.networks import chain_spec
from x402.exact import reasons
from x402.exact.errors import BalanceUnknownError, OverdrawnError, RefusedPaymentError
from x402.exact.inputs import PERMIT2_PREFIX, StandardRequest
from x402.models import Authorization, X402Payment
from x402.states import PaymentStatus

# Older settlements are included in every node's balance.
_FRESH: Final = timedelta(minutes=1)
# Above what any block's height is, and below that of what is in none.
_EVERY_BLOCK: Final = 2**62
# The payer's sent payments in the same token that its balance may not include yet, and what those above a height take.
# Those in no block are above any. The last number is of those by Permit2, which alone take from what the payer allowed it.
# In two parts, each with its index: a machine may have paid a million times.
_OTHERS: Final = """
    SELECT count(*), COALESCE(sum(other.units) FILTER (WHERE other.height > %(height)s), 0)::text,
        COALESCE(sum(other.units) FILTER (WHERE other.height > %(height)s AND starts_with(other.nonce, %(permit2)s)), 0)::text
    FROM (
        SELECT z.id, z.units, z.nonce, 9223372036854775807 AS height FROM x402_authorization z
        WHERE z.mode = 'live' AND z.chain = %(chain)s AND z.token = %(token)s AND z.payer = %(payer)s AND z.state = 'sent'
        UNION ALL
        SELECT z.id, z.units, z.nonce, p.block_height FROM x402_payment p JOIN x402_authorization z ON z.payment_id = p.id
        WHERE p.mode = 'live' AND p.chain = %(chain)s AND p.payer = %(payer)s AND p.verified_at > %(since)s::timestamptz
          AND z.token = %(token)s AND z.state = 'settled'
    ) other
    WHERE other.id IS DISTINCT FROM %(own)s
"""

VERIFYING: Final = 4
"""One of this many requests to a chain's nodes may begin a verification, which sends two to five, like a look-up."""

SETTLING: Final = 2
"""One of this many may begin a settlement: twice as many, so that verified payments are not held up at the end.

Settlements that start late in one minute are counted with those of the next.
"""

_LEAST_A_MINUTE: Final = 6


@dataclass(frozen=True, slots=True)
class PayerBalance:
    """A payer's balance of a token, in base units, at a block's height (on Solana a slot).

    `allowed` is how much of it Permit2 may move there, None for a payment that does not need it.
    """

    units: int
    height: int
    allowed: int | None = None


class _Open(NamedTuple):
    """The number of a payer's other payments, and their base units that a balance does not include: all, and those by Permit2."""

    number: int
    units: int
    by_permit2: int


def must_ask_balance(row: Authorization, *, now: datetime) -> bool:
    """Whether a payer has other open payments in the same token, so that its balance must be read."""
    return _others(row, now, 0).number > 0


def has_sent_others(row: Authorization, *, now: datetime) -> bool:
    """Whether a payer has other payments on their way in the same token, which no balance includes yet."""
    return _others(row, now, _EVERY_BLOCK).units > 0


def refuse_overdrawn(row: Authorization, balance: PayerBalance | None, *, now: datetime) -> None:
    """Raise OverdrawnError if a payer's balance does not cover an authorisation beside the open ones.

    Call it in the transaction that stores what is sent: a lock on payer and token lets a second request see the first
    one's. Raises BalanceUnknownError if there are open ones and the balance was not read, ChainUnavailableError if Permit2 may
    not move enough for all: which of them it moves is not known before they are in a block.
    """
    _lock(row)
    expect_covered(row, balance, now=now)


def expect_covered(row: Authorization, balance: PayerBalance | None, *, now: datetime) -> None:
    """Raise what `refuse_overdrawn` raises, without a lock. A row that is not stored yet will do."""
    others = _others(row, now, balance.height if balance else 0)
    if balance is None:
        if others.number:
            raise BalanceUnknownError
        return
    if others.units + row.units > balance.units:
        raise OverdrawnError
    if balance.allowed is not None and others.by_permit2 + row.units > balance.allowed:
        raise ChainUnavailableError(
            "other payments of this payer are on their way, and Permit2 may not move enough for all"
        )


def _lock(row: Authorization) -> None:
    lock_payer(row.chain, row.token, row.payer)


def _others(row: Authorization, now: datetime, height: int) -> _Open:
    """Return the payer's other payments, as a balance at this height does not include them."""
    parameters: dict[str, Any] = {
        "height": height,
        "chain": row.chain,
        "token": row.token,
        "payer": row.payer,
        "since": now - _FRESH,
        "own": row.pk,
        "permit2": PERMIT2_PREFIX,
    }
    with connection.cursor() as cursor:
        cursor.execute(_OTHERS, parameters)
        number, units, by_permit2 = cursor.fetchone()
    relayed = _relayed(row)
    return _Open(number + len(relayed), int(units) + sum(relayed), int(by_permit2))


def _relayed(row: Authorization) -> list[int]:
    """Return what the payer signed for checkouts and is on its way, where buyers pay so."""
    if row.chain not in settings.GAS_FREE:
        return []
    return promised(row.chain, chain_spec(row.chain).tokens[row.token].address, row.payer)


# Of payers who had paid the merchant before.
_KNOWN_FAILED: Final = f"""
    SELECT {COSTS}
    FROM settlements_gastransaction t JOIN x402_authorization z ON z.transaction_id = t.id
    JOIN settlements_gasaccount g ON g.id = t.account_id
    WHERE z.merchant_id = %s AND g.chain = %s AND t.created_at >= %s::timestamptz AND t.state <> 'dropped'
      AND z.state = 'failed' AND EXISTS (
        SELECT 1 FROM x402_payment p
        WHERE p.mode = 'live' AND p.payer = z.payer AND p.merchant_id = z.merchant_id AND p.chain = z.chain
          AND p.verified_at < z.created_at
    )
"""  # noqa: S608 - only our own text is put in
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


@dataclass(frozen=True, slots=True)
class Machines:
    """What we know about the payers of a merchant's machines on an EVM chain: a `PayerRecord`."""

    merchant_id: int
    chain: str

    def failed_payers(self, *, since: datetime) -> Sequence[str]:
        """Return the payers of the merchant's transactions that failed, machines and buyers."""
        return failed_payers(self.merchant_id, self.chain, since=since)

    def has_paid(self, payer: str, *, before: datetime) -> bool:
        """Return whether an account paid this merchant by x402 before: strangers' failures do not stop it."""
        paid = X402Payment.objects.filter(
            mode=Mode.LIVE, merchant=self.merchant_id, chain=self.chain, payer=payer, verified_at__lt=before
        )
        return paid.exclude(status=PaymentStatus.REVERSED).exists()

    def known_failed(self, *, since: datetime) -> int:
        """Return what payments of payers who had paid before cost that failed since then, in wei."""
        with connection.cursor() as cursor:
            cursor.execute(_KNOWN_FAILED, [self.merchant_id, self.chain, since])
            return int(cursor.fetchone()[0])


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
        cursor.execute(_FAILED_AT, [*payer, now - HOUR, MOST_COUNTED])
        times = [moment for (moment,) in cursor]
    if minutes := minutes_to_wait(times, now=now):
        raise RefusedPaymentError(
            reasons.TRANSACTION_FAILED,
            f"Payments of this payer failed on the chain. Try again in {minutes} minutes.",
            payer=request.signed.payer,
        )
