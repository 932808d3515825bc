"""Limits guesses at secrets: of one account, five in a row, then none for fifteen minutes; and forms of one client address.

Also deletes old counts and ended sessions.
"""

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil
from typing import Any, Final

from allauth.usersessions.models import UserSession
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import connection
from django.http import HttpRequest, HttpResponse

from accounts.errors import LockedError
from accounts.models import Guesses
from gateway.core.api.errors import RateLimitError
from gateway.core.api.rate_limits import Limit
from gateway.core.web.pages import count_visit, too_many

MOST_FAILURES: Final = 5
LOCKED_FOR: Final = timedelta(minutes=15)
# The fifth guess locks when it is admitted: if it is right, `forgive` removes the lock. A count without new guesses for a
# lock's duration starts again; a guesser gains no more by that than by waiting for the lock to end.
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

PER_ADDRESS: Final = Limit("account", 30)


class Secret(StrEnum):
    """The kinds of secrets, counted separately: a known password must not reset the count of codes."""

    PASSWORD = "password"  # noqa: S105
    CODE = "code"
    # Of a till's device, which is no person: the terminal's id stands for the e-mail address.
    PIN = "pin"


def admit(owner: str, secret: Secret, *, now: datetime) -> None:
    """Count a guess before it is checked. Raises LockedError, and then it must not be checked.

    `owner` is a person's e-mail address, or a terminal's id.
    """
    digest = _digest_of(owner, secret)
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


def forgive(owner: str, secret: Secret) -> None:
    """Reset the count after a right guess."""
    Guesses.objects.filter(digest=_digest_of(owner, secret)).delete()


def forget_old_guesses(*, now: datetime) -> int:
    """Delete expired counts; return how many."""
    deleted, _ = Guesses.objects.filter(last_at__lt=now - 2 * LOCKED_FOR).delete()
    return deleted


def _minutes_left(digest: bytes, now: datetime) -> int:
    until = Guesses.objects.filter(digest=digest).values_list("locked_until", flat=True)
    # Of two concurrent guesses, the one that was locked out may have read the clock first.
    left = min((until.first() or now) - now, LOCKED_FOR)
    return max(1, ceil(left / timedelta(minutes=1)))


def _digest_of(owner: str, secret: Secret) -> bytes:
    # Upper case first: the database compares addresses in it, where a dotless i and an I are the same.
    canonical = owner.strip().upper().casefold()
    return hashlib.sha256(f"{secret}:{canonical}".encode()).digest()


def forget_old_logins(*, now: datetime) -> int:
    """Delete ended sessions with their records, and old counts of guesses; return the number of rows."""
    SessionStore.clear_expired()
    alive = Session.objects.values("session_key")
    deleted, _ = UserSession.objects.exclude(session_key__in=alive).delete()
    return int(deleted) + forget_old_guesses(now=now)


class AccountThrottleMiddleware:
    """Refuses more than 30 forms a minute from one address to /account/, and answers 429 when password hashing is overloaded."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        if request.method == "POST" and request.path_info.startswith("/account/"):
            try:
                count_visit(request, PER_ADDRESS, "account")
            except RateLimitError as error:
                return too_many(request, error)
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer 429 if hashing a password had to wait too long (`accounts.login.hashers`)."""
        if isinstance(exception, RateLimitError):
            return too_many(request, exception)
        return None
