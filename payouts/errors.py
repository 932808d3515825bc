"""Errors of refunds and payouts."""

from typing import Any

from gateway.core.api.errors import ConflictError


class SeemsPaidError(ConflictError):
    """An outflow that is not followed yet fits a payout."""


class AmountNotRefundableError(ConflictError):
    """The sources have less left than the amount. `refundable` is what is left, as the API writes amounts."""

    code = "amount_not_refundable"

    def __init__(self, refundable: str) -> None:
        super().__init__(f"Only {refundable} of this money can be sent back.", param="amount")
        self.refundable = refundable

    def body(self) -> dict[str, Any]:
        """Return the envelope with `refundable`."""
        told = super().body()
        told["error"]["refundable"] = self.refundable
        return told
