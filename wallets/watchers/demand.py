"""What the database says to read now: whether a chain expects payments, and which accounts are due.

A chain without expected payments or payouts is read less often. Accounts with expected payments come first, then those that a
payout may leave or reach, and the others take turns.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final

from django.conf import settings
from django.db import connection

from wallets.chains.base import Account
from wallets.chains.family import ChainSpec
from wallets.networks import poll_seconds

WATCH_AFTER_EXPIRY: Final = timedelta(days=30)
"""The time from a checkout's expiry to `DepositAddress.watched_until`; payments are expected until this long before it."""

STILL_COMING: Final = timedelta(minutes=3)
"""How long after the last moment to pay a payment may still arrive: sent in time, mined late."""

_PAYOUTS = """
        OR EXISTS (
            SELECT FROM wallets_watchedwallet
            WHERE chain = %(chain)s AND expected_until >= %(expected_until)s AND mode = 'live' AND removed_at IS NULL)
"""
_DEPOSITS = f"""
    SELECT EXISTS (SELECT FROM wallets_transfer WHERE chain = %(chain)s AND state = 'detected' AND mode = 'live')
        OR EXISTS (SELECT FROM wallets_depositaddress WHERE watched_until >= %(watched_until)s AND mode = 'live')
        {_PAYOUTS}
"""  # noqa: S608 - only our own text is put in
_WALLETS = f"""
    SELECT EXISTS (SELECT FROM wallets_transfer WHERE chain = %(chain)s AND state = 'detected' AND mode = 'live')
        OR EXISTS (SELECT FROM wallets_receivingwallet WHERE chain = %(chain)s AND expected_until >= %(expected_until)s)
        {_PAYOUTS}
"""  # noqa: S608 - only our own text is put in

MOST_EXPECTED: Final = 5_000
"""The maximum of accounts read in one pass; more take turns."""


def is_expected(spec: ChainSpec, *, now: datetime) -> bool:
    """Whether a payment may arrive on the chain or a payout leave it, or a payment that arrived is not final yet.

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


class Turn(Enum):
    """The group in which an account takes turns, most important first."""

    EXPECTED = "somebody may be paying to it"
    PAYING = "a payout may leave or reach it"
    RECEIVING = "a merchant's wallet that nobody is expected to pay to"
    WATCHED = "somebody wants to know what moves in it"


_FIRST: Final = (Turn.EXPECTED, Turn.PAYING)


@dataclass(frozen=True, slots=True)
class DueAccount:
    """An account whose turn it is. Its payments are known up to `known_through`."""

    account: Account
    turn: Turn
    known_through: datetime | None


# A failing account waits among those without expected payments. An account that was read in the future, by a wrong clock, is
# due. There may be ten thousand watched-only accounts, which are read from an index. `paying` is materialized so that it is found
# once: before tables are analyzed, PostgreSQL looked it up again for each account.
_DUE = """
    WITH expected AS (
        SELECT w.key FROM wallets_receivingwallet w
        WHERE w.chain = %(chain)s AND w.expected_until >= %(since)s
        UNION
        SELECT w.key FROM wallets_transfer t JOIN wallets_receivingwallet w ON w.id = t.wallet_id
        WHERE t.chain = %(chain)s AND t.state = 'detected' AND t.mode = 'live'),
    paying AS MATERIALIZED (
        SELECT DISTINCT w.key FROM wallets_watchedwallet w
        WHERE w.chain = %(chain)s AND w.expected_until >= %(since)s AND w.mode = 'live' AND w.removed_at IS NULL)
    (SELECT 'EXPECTED', a.key, a.address, a.height, a.height_time, a.read_through_at
     FROM wallets_accountcursor a JOIN expected USING (key)
     WHERE a.chain = %(chain)s AND a.last_error = ''
     ORDER BY a.read_at NULLS FIRST, a.id LIMIT %(most_expected)s)
    UNION ALL
    (SELECT 'PAYING', a.key, a.address, a.height, a.height_time, a.read_through_at
     FROM wallets_accountcursor a JOIN paying USING (key)
     WHERE a.chain = %(chain)s AND a.last_error = '' AND NOT EXISTS (SELECT FROM expected e WHERE e.key = a.key)
     ORDER BY a.read_at NULLS FIRST, a.id LIMIT %(most_expected)s)
    UNION ALL
    (SELECT 'RECEIVING', a.key, a.address, a.height, a.height_time, a.read_through_at
     FROM wallets_accountcursor a
     WHERE a.chain = %(chain)s AND (
         a.read_at IS NULL OR a.read_at <= %(idle_since)s OR a.read_at > %(idle_until)s)
       AND (a.last_error <> '' OR NOT EXISTS (SELECT FROM expected e WHERE e.key = a.key))
       AND EXISTS (SELECT FROM wallets_receivingwallet r WHERE r.chain = a.chain AND r.key = a.key)
     ORDER BY a.read_at NULLS FIRST, a.id LIMIT %(most_others)s)
    UNION ALL
    (SELECT 'WATCHED', a.key, a.address, a.height, a.height_time, a.read_through_at
     FROM wallets_accountcursor a
     WHERE a.chain = %(chain)s AND (a.read_at IS NULL OR a.read_at > %(idle_until)s)
       AND NOT EXISTS (SELECT FROM wallets_receivingwallet r WHERE r.chain = a.chain AND r.key = a.key)
     ORDER BY a.read_at, a.id LIMIT %(most_others)s)
    UNION ALL
    (SELECT 'WATCHED', a.key, a.address, a.height, a.height_time, a.read_through_at
     FROM wallets_accountcursor a
     WHERE a.chain = %(chain)s AND a.read_at <= %(idle_since)s
       AND NOT EXISTS (SELECT FROM wallets_receivingwallet r WHERE r.chain = a.chain AND r.key = a.key)
     ORDER BY a.read_at, a.id LIMIT %(most_others)s)
"""


def due_accounts(spec: ChainSpec, *, now: datetime, most_others: int) -> list[DueAccount]:
    """Return expected and paying accounts, then at most `most_others` of both other kinds that are due; oldest first."""
    idle = timedelta(seconds=idle_seconds(spec))
    parameters: dict[str, Any] = {
        "chain": spec.name,
        "since": now - STILL_COMING,
        "idle_since": now - idle,
        "idle_until": now + idle,
        "most_expected": MOST_EXPECTED,
        "most_others": most_others,
    }
    with connection.cursor() as cursor:
        cursor.execute(_DUE, parameters)
        rows = cursor.fetchall()
    found = [
        DueAccount(Account(bytes(key), address, height, time), Turn[turn], through)
        for turn, key, address, height, time, through in rows
    ]
    # Paying accounts may be due among the others too. They are left out here, where they cost the long list no comparison.
    paying = {one.account.key for one in found if one.turn is Turn.PAYING}
    return [one for one in found if one.turn in _FIRST or one.account.key not in paying]


@dataclass(frozen=True, slots=True)
class AccountAges:
    """How current a chain's accounts are. Payments to every expected account are known up to `oldest`."""

    accounts: int = 0
    expected: int = 0
    broken: int = 0
    oldest: datetime | None = None


_AGES = """
    WITH expected AS (
        SELECT w.chain, w.key FROM wallets_receivingwallet w WHERE w.expected_until >= %(since)s
        UNION
        SELECT w.chain, w.key FROM wallets_transfer t JOIN wallets_receivingwallet w ON w.id = t.wallet_id
        WHERE t.state = 'detected' AND t.mode = 'live')
    SELECT a.chain, count(*), count(e.key), count(*) FILTER (WHERE a.last_error <> ''),
        min(a.read_through_at) FILTER (WHERE e.key IS NOT NULL AND a.last_error = '')
    FROM wallets_accountcursor a LEFT JOIN expected e USING (chain, key)
    GROUP BY a.chain
"""


def account_ages(*, now: datetime) -> dict[str, AccountAges]:
    """Return the ages for each chain that is read by account."""
    with connection.cursor() as cursor:
        cursor.execute(_AGES, {"since": now - STILL_COMING})
        return {chain: AccountAges(*counts) for chain, *counts in cursor}
