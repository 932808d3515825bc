"""What people are told when the state of a team, an invitation or a login refuses what they ask."""

from gateway.core.api.errors import ConflictError


class TeamError(ConflictError):
    """The team, as it is now, refuses this; the message says why in words for people."""


class InvitationError(ConflictError):
    """This invitation is not open, or not for this person."""


class LockedError(Exception):
    """Too many wrong guesses; the next one is looked at in `minutes`."""

    def __init__(self, minutes: int) -> None:
        self.minutes = minutes
        unit = "minute" if minutes == 1 else "minutes"
        super().__init__(
            f"There were five wrong tries. Wait {minutes} {unit}, or reset your password by mail."
        )
