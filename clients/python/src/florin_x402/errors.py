"""Errors that prevent a request from being served."""


class SettingsError(ValueError):
    """The middleware's settings cannot work, or are unsafe."""


class FacilitatorError(Exception):
    """The facilitator gave no reliable answer: the payment's state is unknown.

    `retry_after` is in seconds.
    """

    def __init__(self, message: str, *, retry_after: int = 5) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class UnclearError(FacilitatorError):
    """The payment may have been carried out nevertheless: the same proof goes on with it."""


class RefusedError(Exception):
    """A payment does not pay for the request. `reason` is a code; `retry_after` is in seconds where that may change."""

    def __init__(self, reason: str, message: str = "", *, retry_after: int | None = None) -> None:
        super().__init__(message or reason)
        self.reason = reason
        self.retry_after = retry_after
