"""Deletes ended sessions and old counts of guesses."""

from datetime import datetime

from allauth.usersessions.models import UserSession
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session

from accounts.login.guard import forget_old_guesses


def forget_old_logins(*, now: datetime) -> int:
    """Delete ended sessions with their records, and old counts of guesses; return the number of rows."""
    SessionStore.clear_expired()
    alive = Session.objects.values("session_key")
    deleted, _ = UserSession.objects.exclude(session_key__in=alive).delete()
    return int(deleted) + forget_old_guesses(now=now)
