"""Errors of teams, invitations and logins, with messages for people."""

from gateway.core.api.errors import ConflictError


class TeamError(ConflictError):
    """The team's current state does not allow this; the message says why."""


class InvitationError(ConflictError):
    """The invitation is not open, or not for this person."""


class LockedError(Exception):
    """Too many wrong guesses; the next one is allowed in `minutes`."""

    def __init__(self, minutes: int) -> None:
        self.minutes = minutes
        unit = "minute" if minutes == 1 else "minutes"
        super().__init__(f"Too many failed attempts. Wait {minutes} {unit}, or reset your password by mail.")
