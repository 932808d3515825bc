"""Limits on our cost of payers' Solana transactions: per day, and per merchant's share of it. In lamports.

Each transaction counts with its maximum cost from its signature on, unless it can no longer be in a block.
"""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet, Sum

from accounts.states import Mode
from settlements.errors import NoGasError
from settlements.gas.fees import daily_coins
from x402.exact.shares import (
    WINDOW,
    FailedCosts,
    Payer,
    StrangersFailedError,
    is_known_payer,
    refuse_failed,
    refuse_known,
)
from x402.models import Authorization, X402Payment
from x402.states import AuthorizationState

LAMPORTS: Final = 10**9
_DAY: Final = timedelta(days=1)


def refuse_spending(payer: Payer, cost: int, *, now: datetime) -> None:
    """Raise NoGasError if a transaction would exceed the day's limit or the merchant's share of it."""
    merchant_id, chain = payer.merchant_id, payer.request.spec.name
    daily = daily_coins(chain) * LAMPORTS
    rows = Authorization.objects.filter(chain=chain, network_fee__isnull=False, created_at__gt=now - _DAY)
    own = Q(merchant=merchant_id)
    failed = own & Q(state=AuthorizationState.FAILED)
    spent = rows.aggregate(
        all=Sum("network_fee", default=0),
        good=_fees(own & ~Q(state=AuthorizationState.FAILED)),
        failed=_fees(failed),
        lately=_fees(failed & Q(created_at__gt=now - WINDOW)),
        open=_fees(own & Q(state=AuthorizationState.SENT)),
    )
    if spent["all"] + cost > daily:
        raise NoGasError(f"the day's gas on {chain} is spent (GAS_DAILY_COINS)")
    share = daily * Decimal(settings.GAS_MERCHANT_SHARE)
    if spent["good"] + cost > share:
        raise NoGasError(f"the merchant's share of the day's gas on {chain} is spent")
    costs = FailedCosts(spent["failed"], lately=spent["lately"], open=spent["open"], payment=cost)
    try:
        refuse_failed(costs, share, chain)
    except StrangersFailedError:
        if not is_known_payer(payer, now=now):
            payer.refuse_related(costs, share, now=now)
            return
        refuse_known(_failed_of_known(rows.filter(failed)), share, chain)


def _failed_of_known(failed: QuerySet[Authorization]) -> int:
    """Return what failures of payers cost who had paid the merchant before."""
    paid = X402Payment.objects.filter(
        mode=Mode.LIVE,
        payer=OuterRef("payer"),
        merchant=OuterRef("merchant"),
        chain=OuterRef("chain"),
        verified_at__lt=OuterRef("created_at"),
    )
    fees = failed.filter(Exists(paid)).aggregate(sum=Sum("network_fee", default=0))
    return int(fees["sum"])


def _fees(which: Q) -> Sum:
    return Sum("network_fee", default=0, filter=which)
