"""What can go wrong with checkouts beyond what a client is told."""

from checkouts.states import CheckoutStatus


class IllegalMoveError(Exception):
    """The table of moves has no such move."""

    def __init__(
        self, public_id: str, before: CheckoutStatus, after: CheckoutStatus
    ) -> None:
        super().__init__(f"{public_id} cannot go from {before} to {after}")


class MailLimitError(Exception):
    """Enough mail was sent for now; the message is for the person who wants to send more."""


class DecisionFailedError(Exception):
    """What a person decided cannot take effect any more; the message is for that person."""
