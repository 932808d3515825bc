"""Errors of teams, invitations and logins, with messages for people."""

from typing import Final

from django.utils.translation import gettext_noop, ngettext

from gateway.core.api.errors import ConflictError


class TeamError(ConflictError):
    """The team's current state does not allow this; the message says why."""


class InvitationError(ConflictError):
    """The invitation is not open, or not for this person: the message is one of these."""

    OVER: Final = gettext_noop("This invitation has ended. Ask for a new one.")
    NOT_YOURS: Final = gettext_noop("This invitation is for another e-mail address.")


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
