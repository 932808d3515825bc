"""A payer's open payments, which count against its balance before more is sent.

Each of many authorisations may look valid while none is in a block. Those that the balance does not cover would fail on the
chain and cost our gas.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection

from x402.exact.errors import BalanceUnknownError, OverdrawnError
from x402.models import Authorization

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
    """Return the number of such payments, and the base units that a balance at this height does not include."""
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
