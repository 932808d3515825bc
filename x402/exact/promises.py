"""What a payer promised and a chain has not taken yet: it counts against the payer's balance before more is sent.

Each of many authorisations looks good by itself while none is in a block. All but those that the balance covers would
fail on the chain, at the cost of our gas.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import connection
from django.db.models import Q, QuerySet, Sum

from accounts.states import Mode
from x402.exact.errors import (
    BalanceUnknownError,
    OverdrawnError,
)
from x402.models import Authorization
from x402.states import AuthorizationState

# What settled longer ago is in every balance that a node tells.
_FRESH: Final = timedelta(minutes=1)
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 402))"


@dataclass(frozen=True, slots=True)
class Balance:
    """What a payer had of a token, in base units, as of a block's height (on Solana a slot)."""

    units: int
    height: int


def must_ask_balance(row: Authorization, *, now: datetime) -> bool:
    """Whether a payer has other payments in the same token, so that its balance decides."""
    return _others(row, now).exists()


def refuse_overdrawn(
    row: Authorization, balance: Balance | None, *, now: datetime
) -> None:
    """Raise OverdrawnError where a payer's balance does not cover an authorisation beside those that are open.

    The caller is in the transaction that writes down what is sent. Until its end nobody else counts this payer's payments in
    this token, so that of two requests the second one sees what the first one sent. Raises BalanceUnknownError where there are
    others and the balance was not asked for.
    """
    _lock(row)
    others = _others(row, now)
    if balance is None:
        if others.exists():
            raise BalanceUnknownError
        return
    counted = others.filter(
        Q(state=AuthorizationState.SENT) | Q(payment__block_height__gt=balance.height)
    )
    promised = counted.aggregate(all=Sum("units", default=0))["all"]
    if promised + row.units > balance.units:
        raise OverdrawnError


def _lock(row: Authorization) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [f"{row.chain}:{row.token}:{row.payer}"])


def _others(row: Authorization, now: datetime) -> QuerySet[Authorization]:
    """Return what was sent of the payer's in the same token, and may not be in its balance yet."""
    fresh = Q(state=AuthorizationState.SETTLED, payment__verified_at__gt=now - _FRESH)
    return (
        _alike(row).exclude(pk=row.pk).filter(Q(state=AuthorizationState.SENT) | fresh)
    )


def _alike(row: Authorization) -> QuerySet[Authorization]:
    return Authorization.objects.filter(
        mode=Mode.LIVE, chain=row.chain, token=row.token, payer=row.payer
    )
