"""A payer's open payments, which count against its balance before more is sent.

Each of many authorisations may look valid while none is in a block. Those that the balance does not cover would fail on the
chain and cost our gas.
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

# Older settlements are included in every node's balance.
_FRESH: Final = timedelta(minutes=1)
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 402))"


@dataclass(frozen=True, slots=True)
class Balance:
    """A payer's balance of a token, in base units, at a block's height (on Solana a slot)."""

    units: int
    height: int


def must_ask_balance(row: Authorization, *, now: datetime) -> bool:
    """Whether a payer has other open payments in the same token, so that its balance must be read."""
    return _others(row, now).exists()


def refuse_overdrawn(
    row: Authorization, balance: Balance | None, *, now: datetime
) -> None:
    """Raise OverdrawnError if a payer's balance does not cover an authorisation beside the open ones.

    Call it in the transaction that stores what is sent: a lock on payer and token lets a second request see the first
    one's. Raises BalanceUnknownError if there are open ones and the balance was not read.
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
    """Return the payer's sent payments in the same token that its balance may not include yet."""
    fresh = Q(state=AuthorizationState.SETTLED, payment__verified_at__gt=now - _FRESH)
    return (
        _alike(row).exclude(pk=row.pk).filter(Q(state=AuthorizationState.SENT) | fresh)
    )


def _alike(row: Authorization) -> QuerySet[Authorization]:
    return Authorization.objects.filter(
        mode=Mode.LIVE, chain=row.chain, token=row.token, payer=row.payer
    )
