"""Whether payments are expected on a chain now, from the database: a chain without any is read less often."""

from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import connection

from wallets.chains.family import ChainSpec
from wallets.networks import poll_seconds

WATCH_AFTER_EXPIRY: Final = timedelta(days=30)
"""The time from a checkout's expiry to `DepositAddress.watched_until`; payments are expected until this long before it."""

STILL_COMING: Final = timedelta(minutes=3)
"""How long after the last moment to pay a payment may still arrive: sent in time, mined late."""

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

    On exact-amount chains, deposit addresses do not count: money for them is there by mistake.
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
    """Return the reading interval of a chain without expected payments."""
    idle: float = settings.CHAIN_IDLE_SECONDS
    return max(idle, poll_seconds(spec))


def pause_seconds(spec: ChainSpec, *, now: datetime) -> float:
    """Return the pause before the next pass of a chain that was read to its head."""
    return poll_seconds(spec) if is_expected(spec, now=now) else idle_seconds(spec)
