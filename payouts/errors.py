"""Errors of refunds and payouts."""

from typing import Any, Final

from gateway.core.api.errors import ConflictError
from gateway.core.texts import pgettext_noop
from payouts.states import PayoutKind, PayoutStatus


class PayoutStateError(ConflictError):
    """A payout's status does not allow this. The message is one of these, and names the payout's kind and status."""

    SETTLED: Final = pgettext_noop("team", "This {kind} is {status}: its address can no longer change.")
    OVER: Final = pgettext_noop("team", "The time to give an address for this {kind} is over.")
    UNCANCELLABLE: Final = pgettext_noop("team", "This {kind} is {status} and can no longer be cancelled.")
    DECIDED: Final = pgettext_noop("team", "This {kind} is {status}: it does not wait for approval.")
    PAST: Final = pgettext_noop("team", "This {kind} does not wait for this outflow any more.")
    ELSEWHERE: Final = pgettext_noop("team", "This {kind} is {status}.")

    def __init__(self, message: str, kind: str, status: str) -> None:
        super().__init__(message, values={"kind": PayoutKind(kind), "status": PayoutStatus(status)})


class SeemsPaidError(ConflictError):
    """An outflow that is not followed yet fits a payout."""


class AmountNotRefundableError(ConflictError):
    """The sources have less left than the amount. `refundable` is what is left, as the API writes amounts."""

    code = "amount_not_refundable"

    def __init__(self, refundable: str) -> None:
        super().__init__(
            pgettext_noop("team", "Only {refundable} of this money can be sent back."),
            param="amount",
            values={"refundable": refundable},
        )
        self.refundable = refundable

    def body(self) -> dict[str, Any]:
        """Return the envelope with `refundable`."""
        told = super().body()
        told["error"]["refundable"] = self.refundable
        return told
