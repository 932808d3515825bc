"""Errors of checkouts that no answer of the API has."""

from checkouts.states import CheckoutStatus
from gateway.core.api.errors import GatewayError


class IllegalMoveError(Exception):
    """The table of status moves does not allow this move."""

    def __init__(self, public_id: str, before: CheckoutStatus, after: CheckoutStatus) -> None:
        super().__init__(f"{public_id} cannot go from {before} to {after}")


class MailLimitError(GatewayError):
    """Too many mails were sent; the message is for the sender."""

    status = 429
    type = "rate_limit"
    code = None


class DecisionFailedError(Exception):
    """A decision cannot take effect any more; the message is for the person who decided."""
