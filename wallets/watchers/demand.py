"""Whether anybody may be paying on a chain just now, asked of the database: what nobody pays on need not be read often."""

from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import connection

from wallets.chains.specs import ChainSpec
from wallets.networks import poll_seconds

WATCH_AFTER_EXPIRY: Final = timedelta(days=30)
"""How long after its checkout's expiry `DepositAddress.watched_until` is: that far from it, payments are expected."""

STILL_COMING: Final = timedelta(minutes=3)
"""How long after the last moment to pay a payment is still on its way: sent in time, mined late."""

_DEPOSITS = """
    SELECT EXISTS (SELECT FROM wallets_transfer WHERE chain = %(chain)s AND state = 'detected' AND mode = 'live')
        OR EXISTS (SELECT FROM wallets_depositaddress WHERE watched_until >= %(watched_until)s AND mode = 'live')
"""
_WALLETS = """
    SELECT EXISTS (SELECT FROM wallets_transfer WHERE chain = %(chain)s AND state = 'detected' AND mode = 'live')
        OR EXISTS (SELECT FROM wallets_receivingwallet WHERE chain = %(chain)s AND expected_until >= %(expected_until)s)
"""


def is_expected(spec: ChainSpec, *, now: datetime) -> bool:
    """Whether a payment may arrive on the chain, or one that arrived is not final yet.

    Where the amount tells payments apart, deposit addresses count for nothing: money for them is there by mistake.
    """
    wanted = _WALLETS if spec.exact_amount_required else _DEPOSITS
    since = now - STILL_COMING
    parameters: dict[str, Any] = {
        "chain": spec.name,
        "expected_until": since,
        "watched_until": since + WATCH_AFTER_EXPIRY,
    }
    with connection.cursor() as cursor:
        cursor.execute(wanted, parameters)
        [answer] = cursor.fetchone()
    return bool(answer)


def idle_seconds(spec: ChainSpec) -> float:
    """Return how long a chain that nobody is expected to pay on is left alone."""
    idle: float = settings.CHAIN_IDLE_SECONDS
    return max(idle, poll_seconds(spec))


def pause_seconds(spec: ChainSpec, *, now: datetime) -> float:
    """Return how soon to look again at a chain that was read to its head."""
    return poll_seconds(spec) if is_expected(spec, now=now) else idle_seconds(spec)
