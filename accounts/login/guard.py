"""Guesses at secrets: five in a row, then none for fifteen minutes.

A guess is counted before the secret is looked at, in one statement on one row, so that of guesses that come at the same
moment five are evaluated and no more. (Counting afterwards let all of forty parallel guesses through.) An address that
nobody has is counted like any other, so that being locked tells nothing about it.
"""

import hashlib
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil
from typing import Any, Final

from django.db import connection

from accounts.errors import LockedError
from accounts.models import Guesses

MOST_FAILURES: Final = 5
LOCKED_FOR: Final = timedelta(minutes=15)

# The fifth guess locks as it is admitted: if it is right, `forgive` takes the lock away again. A count that nobody
# added to for as long as a lock lasts begins anew; that gives a patient guesser nothing that waiting for the lock does not.
_ADMIT = """
INSERT INTO accounts_guesses AS g (digest, failures, last_at, locked_until)
VALUES (%(digest)s, 1, %(now)s, NULL)
ON CONFLICT (digest) DO UPDATE SET
    failures = CASE WHEN g.last_at <= %(stale)s THEN 1 ELSE g.failures + 1 END,
    last_at = %(now)s,
    locked_until = CASE
        WHEN g.last_at > %(stale)s AND g.failures + 1 >= %(most)s THEN %(until)s
    END
WHERE g.locked_until IS NULL OR g.locked_until <= %(now)s
RETURNING failures
"""


class Secret(StrEnum):
    """What is guessed at. Each is counted by itself: who knows a password must not reset the count of codes with it."""

    PASSWORD = "password"  # noqa: S105
    CODE = "code"


def admit(email: str, secret: Secret, *, now: datetime) -> None:
    """Count a guess that is about to be looked at. Raises LockedError, and then it must not be looked at."""
    digest = _digest_of(email, secret)
    values: dict[str, Any] = {
        "digest": digest,
        "now": now,
        "stale": now - LOCKED_FOR,
        "most": MOST_FAILURES,
        "until": now + LOCKED_FOR,
    }
    with connection.cursor() as cursor:
        cursor.execute(_ADMIT, values)
        if cursor.fetchone():
            return
    raise LockedError(_minutes_left(digest, now))


def forgive(email: str, secret: Secret) -> None:
    """Forget the count, as a guess was right."""
    Guesses.objects.filter(digest=_digest_of(email, secret)).delete()


def forget_old_guesses(*, now: datetime) -> int:
    """Delete counts that no lock and no guess needs any more; return how many."""
    deleted, _ = Guesses.objects.filter(last_at__lt=now - 2 * LOCKED_FOR).delete()
    return deleted


def _minutes_left(digest: bytes, now: datetime) -> int:
    until = Guesses.objects.filter(digest=digest).values_list("locked_until", flat=True)
    # Of two guesses at once, the one that was locked out may have looked at the clock first.
    left = min((until.first() or now) - now, LOCKED_FOR)
    return max(1, ceil(left / timedelta(minutes=1)))


def _digest_of(email: str, secret: Secret) -> bytes:
    # Upper case first: the database compares addresses in it, where a dotless i and an I are the same.
    canonical = email.strip().upper().casefold()
    return hashlib.sha256(f"{secret}:{canonical}".encode()).digest()
