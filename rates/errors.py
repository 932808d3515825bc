"""Errors of rates."""

from gateway.core.api.errors import UnavailableError
from gateway.core.texts import pgettext_noop

_RETRY_SECONDS = 60


class RateUnavailableError(UnavailableError):
    """A price cannot be converted to USD now: the sources are silent, or do not agree. Prices in USD go on."""

    code = "rate_unavailable"

    def __init__(self, currency: str) -> None:
        super().__init__(
            pgettext_noop("team", "There is no agreed rate for {currency} now; try again later."),
            param="currency",
            values={"currency": currency},
        )

    def headers(self) -> dict[str, str]:
        """Return Retry-After in seconds: sources are asked once a minute."""
        return {"Retry-After": str(_RETRY_SECONDS)}
