"""Payments in doubt: those on a halted chain that may be in no block of it any more."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import connection
from django.utils.text import format_lazy
from django.utils.translation import pgettext_lazy

from accounts.team.operators import mail_operators
from accounts.team.service import mail_owners
from wallets.networks import chain_spec
from wallets.states import ClaimKind
from wallets.transfers.service import ring_after_commit

DOUBTED: Final = """(
    k.halted_reason <> '' AND t.mode = 'live' AND t.state <> 'orphaned' AND CASE WHEN k.doubted_above IS NULL
    THEN t.detected_at >= COALESCE(k.halted_at, k.head_at) - interval '1 hour' ELSE t.block_height > k.doubted_above END
)"""
"""Whether a transfer `t` is in doubt by the cursor `k` of its chain. Never null if the cursor exists."""

_BY_MERCHANT: Final = f"""
    SELECT t.chain, t.merchant_id, count(*), min(t.block_time) FROM wallets_chaincursor k
    JOIN wallets_transfer t ON t.chain = k.chain AND {DOUBTED}
    WHERE k.halted_reason <> '' AND (%(chain)s::text IS NULL OR k.chain = %(chain)s)
      AND (%(merchant)s::bigint IS NULL OR t.merchant_id = %(merchant)s)
    GROUP BY t.chain, t.merchant_id ORDER BY t.chain, t.merchant_id
"""  # noqa: S608 - a constant condition

_IDS: Final = f"""
    SELECT t.id FROM wallets_chaincursor k JOIN wallets_transfer t ON t.chain = k.chain AND {DOUBTED}
    WHERE k.chain = %s AND t.merchant_id = %s ORDER BY t.id
"""  # noqa: S608 - a constant condition

_OF: Final = f"""
    SELECT t.id FROM wallets_transfer t JOIN wallets_chaincursor k ON k.chain = t.chain AND {DOUBTED}
    WHERE t.id = ANY(%s)
"""  # noqa: S608 - a constant condition

_MOVEMENT: Final = f"""
    SELECT EXISTS (
        SELECT FROM wallets_watchedmovement t JOIN wallets_chaincursor k ON k.chain = t.chain AND {DOUBTED} WHERE t.id = %s)
"""  # noqa: S608 - a constant condition

# A consumer may take one off the queue at this moment, still in doubt: the row that it leaves is queued again.
_QUEUE: Final = f"""
    UPDATE wallets_transfer t SET queued_at = COALESCE(t.queued_at, %(now)s::timestamptz)
    FROM wallets_chaincursor k WHERE k.chain = %(chain)s AND t.chain = k.chain AND t.purpose = %(purpose)s AND {DOUBTED}
"""  # noqa: S608 - a constant condition


@dataclass(frozen=True, slots=True)
class Doubt:
    """A merchant's payments in doubt on one chain: how many, and the block time of the first."""

    chain: str
    merchant_id: int
    payments: int
    since: datetime


def doubts(*, chain: str | None = None, merchant_id: int | None = None) -> list[Doubt]:
    """Return the payments in doubt by chain and merchant."""
    with connection.cursor() as cursor:
        cursor.execute(_BY_MERCHANT, {"chain": chain, "merchant": merchant_id})
        return [Doubt(*row) for row in cursor]


def doubted_transfers(chain: str, *, merchant_id: int) -> list[int]:
    """Return the ids of a merchant's transfers in doubt on a chain."""
    with connection.cursor() as cursor:
        cursor.execute(_IDS, [chain, merchant_id])
        return [pk for (pk,) in cursor]


def doubted_of(ids: Collection[int]) -> set[int]:
    """Return which of some transfers are in doubt."""
    with connection.cursor() as cursor:
        cursor.execute(_OF, [list(ids)])
        return {pk for (pk,) in cursor}


def is_doubted_movement(movement_id: int) -> bool:
    """Return whether a movement of a watched wallet is in doubt, as payments are."""
    with connection.cursor() as cursor:
        cursor.execute(_MOVEMENT, [movement_id])
        return bool(cursor.fetchone()[0])


def queue_doubted(chain: str, *, now: datetime) -> None:
    """Queue a chain's payments to checkouts that are in doubt, before it goes on: what they complete was waiting for that."""
    with connection.cursor() as cursor:
        cursor.execute(_QUEUE, {"chain": chain, "purpose": ClaimKind.CHECKOUT.value, "now": now})
        if cursor.rowcount:
            ring_after_commit()


def tell_of_halt(chain: str, reason: str, *, now: datetime) -> None:
    """Mail the operators, and the owners whose payments are in doubt, in the caller's transaction."""
    found, title = doubts(chain=chain), chain_spec(chain).title
    key = f"halted:{chain}:{now.timestamp()}"
    mail_operators(
        key,
        subject=f"{title} was stopped: it contradicts what was read",
        text=_FOR_OPERATORS.format(
            title=title,
            reason=reason,
            payments=sum(doubt.payments for doubt in found),
            url=f"{settings.BASE_URL}/operator/health/",
        ),
        now=now,
    )
    for doubt in found:
        mail_owners(
            doubt.merchant_id,
            key=f"{key}:{doubt.merchant_id}",
            subject=format_lazy(pgettext_lazy("team", "Hold orders paid on {chain}"), chain=title),
            text=format_lazy(
                _FOR_OWNERS,
                title=title,
                payments=doubt.payments,
                since=f"{doubt.since:%Y-%m-%d %H:%M} UTC",
                url=f"{settings.BASE_URL}/dashboard/",
            ),
            now=now,
        )


_FOR_OPERATORS: Final = """\
{title} contradicts what was read from it, so Florin stopped reading it.

  {reason}

Payments in doubt: {payments}. They may have been lost. Their merchants are asked to hold these orders.
Decide how the chain goes on:
{url}
"""
_FOR_OWNERS: Final = pgettext_lazy(
    "team",
    """\
{title} contradicts what we read from it. We stopped reading it until a person has looked.

Payments in doubt since {since}: {payments}. They may have been lost, also where they were confirmed.
Hold these orders back. We tell you by mail and webhook if a payment is lost.

{url}
""",
)
