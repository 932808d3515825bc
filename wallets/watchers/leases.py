"""The chain's lease: one watcher at a time, by the lease on the chain's cursor.

A paused process cannot know that its lease ran out. So each of its transactions first locks the cursor row and checks the
fence.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import connection, transaction

from gateway.core.leases import LeaseLostError, Leases
from wallets.models import ChainCursor

__all__ = ["LeaseLostError"]

LEASE_SECONDS = 10.0
LONGEST_LEASE_SECONDS = 60.0

Lease = ChainCursor
"""The right to write for a chain, and its cursor as it was when the lease was taken."""

_leases = Leases(ChainCursor)
_FAIL = """
    UPDATE wallets_chaincursor
    SET failing_since = COALESCE(failing_since, %s::timestamptz), last_error = %s
    WHERE chain = %s AND owner = %s AND fence = %s
"""


def take_lease(chain: str, owner: str, *, seconds: float = LEASE_SECONDS) -> Lease | None:
    """Take or renew the lease; None while another watcher has it."""
    return _leases.take(chain, owner, seconds=seconds)


def release_lease(chain: str, owner: str) -> None:
    """End the lease, so that the next watcher can begin at once."""
    _leases.release(chain, owner)


@contextmanager
def fenced(lease: Lease) -> Iterator[None]:
    """Run a transaction that commits only while the lease is ours. Raises LeaseLostError."""
    with transaction.atomic():
        check_fence(lease)
        yield


def check_fence(lease: Lease) -> None:
    """Lock the cursor row and check that we still hold the lease. Raises LeaseLostError."""
    _leases.check(lease)


def is_held(chain: str, owner: str) -> bool:
    """Lock the cursor row in the caller's transaction; return whether `owner` holds the lease of a chain that is not halted."""
    row = _leases.find(chain, owner)
    return row is not None and not row.halted_reason


def record_failure(lease: Lease, message: str, *, now: datetime) -> None:
    """Record why the chain could not be read; the next success clears it."""
    told = message[:200]
    with connection.cursor() as cursor:
        cursor.execute(_FAIL, [now, told, lease.chain, lease.owner, lease.fence])
