"""What keeps a request from being served."""


class SettingsError(ValueError):
    """The middleware was set up in a way that could never work, or not safely."""


class FacilitatorError(Exception):
    """The facilitator gave no answer that can be relied on: nothing is known of the payment.

    `retry_after` is in seconds.
    """

    def __init__(self, message: str, *, retry_after: int = 5) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RefusedError(Exception):
    """A payment does not pay for the request. `reason` is a code; `retry_after` is in seconds where that may change."""

    def __init__(
        self, reason: str, message: str = "", *, retry_after: int | None = None
    ) -> None:
        super().__init__(message or reason)
        self.reason = reason
        self.retry_after = retry_after
