"""Who reads a chain. A lease lets one watcher work; the fence makes one that lost its lease harmless.

A paused process cannot know that its lease ran out. So each of its transactions first locks the cursor row and looks
whether the fence is still its own. Lease times are the database's, the one clock all watchers share.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from wallets.models import ChainCursor

LEASE_SECONDS = 10.0
LONGEST_LEASE_SECONDS = 60.0


class LeaseLostError(Exception):
    """Another watcher reads this chain now; nothing of ours was written."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write for a chain, and its cursor as it was when the lease was taken."""

    chain: str
    owner: str
    fence: int
    height: int | None
    block_hash: str
    window: int
    genesis_hash: str
    factory_ok: bool | None
    halted_reason: str
    due_at: datetime | None
    accounts_read_at: datetime | None


_TAKE = """
    UPDATE wallets_chaincursor
    SET owner = %(owner)s, fence = fence + (owner <> %(owner)s)::int,
        lease_until = clock_timestamp() + make_interval(secs => %(seconds)s)
    WHERE chain = %(chain)s AND (owner = %(owner)s OR lease_until < clock_timestamp())
    RETURNING chain, owner, fence, height, block_hash, "window", genesis_hash, factory_ok, halted_reason,
        due_at, accounts_read_at
"""
_RELEASE = """
    UPDATE wallets_chaincursor SET lease_until = clock_timestamp(), owner = ''
    WHERE chain = %s AND owner = %s
"""
_CHECK = """
    SELECT FROM wallets_chaincursor WHERE chain = %s AND owner = %s AND fence = %s FOR UPDATE
"""
_HELD = """
    SELECT FROM wallets_chaincursor
    WHERE chain = %s AND owner = %s AND lease_until > clock_timestamp() AND halted_reason = ''
    FOR UPDATE
"""
_FAIL = """
    UPDATE wallets_chaincursor
    SET failing_since = COALESCE(failing_since, %s::timestamptz), last_error = %s
    WHERE chain = %s AND owner = %s AND fence = %s
"""


def take_lease(
    chain: str, owner: str, *, seconds: float = LEASE_SECONDS
) -> Lease | None:
    """Take or renew the lease; None while another watcher has it."""
    row = _take(chain, owner, seconds)
    if row is None and not ChainCursor.objects.filter(chain=chain).exists():
        ChainCursor.objects.get_or_create(chain=chain)
        row = _take(chain, owner, seconds)
    return Lease(*row) if row else None


def _take(chain: str, owner: str, seconds: float) -> tuple[Any, ...] | None:
    parameters: dict[str, str | float] = {
        "chain": chain,
        "owner": owner,
        "seconds": seconds,
    }
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, parameters)
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row


def release_lease(chain: str, owner: str) -> None:
    """Let the next watcher begin at once."""
    with connection.cursor() as cursor:
        cursor.execute(_RELEASE, [chain, owner])


@contextmanager
def fenced(lease: Lease) -> Iterator[None]:
    """Run a transaction that commits only while the lease is ours. Raises LeaseLostError."""
    with transaction.atomic():
        check_fence(lease)
        yield


def check_fence(lease: Lease) -> None:
    """Lock the cursor row and look whether the lease is ours still. Raises LeaseLostError."""
    with connection.cursor() as cursor:
        cursor.execute(_CHECK, [lease.chain, lease.owner, lease.fence])
        if cursor.fetchone() is None:
            raise LeaseLostError(lease.chain)


def is_held(chain: str, owner: str) -> bool:
    """Lock the cursor row for the caller's transaction and tell whether `owner` reads the chain, which is not halted."""
    with connection.cursor() as cursor:
        cursor.execute(_HELD, [chain, owner])
        return cursor.fetchone() is not None


def record_failure(lease: Lease, message: str, *, now: datetime) -> None:
    """Write down that the chain could not be read, for people; the next success clears it."""
    told = message[:200]
    with connection.cursor() as cursor:
        cursor.execute(_FAIL, [now, told, lease.chain, lease.owner, lease.fence])
