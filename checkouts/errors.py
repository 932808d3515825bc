"""Errors of checkouts that are not API errors."""

from checkouts.states import CheckoutStatus


class IllegalMoveError(Exception):
    """The table of status moves does not allow this move."""

    def __init__(self, public_id: str, before: CheckoutStatus, after: CheckoutStatus) -> None:
        super().__init__(f"{public_id} cannot go from {before} to {after}")


class MailLimitError(Exception):
    """Too many mails were sent; the message is for the sender."""


class DecisionFailedError(Exception):
    """A decision cannot take effect any more; the message is for the person who decided."""
