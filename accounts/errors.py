"""Errors of teams, invitations and logins, with messages for people."""

from django.utils.translation import ngettext

from gateway.core.api.errors import ConflictError


class TeamError(ConflictError):
    """The team's current state does not allow this; the message says why."""


class InvitationError(ConflictError):
    """The invitation is not open, or not for this person."""


class LockedError(Exception):
    """Too many wrong guesses; the next one is allowed in `minutes`."""

    def __init__(self, minutes: int) -> None:
        self.minutes = minutes
        words = ngettext(
            "Too many failed attempts. Wait %(count)s minute, or reset your password by mail.",
            "Too many failed attempts. Wait %(count)s minutes, or reset your password by mail.",
            minutes,
        )
        super().__init__(words % {"count": minutes})
