"""Limits of open streams: in all, per page and per client."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.core.api.errors import GatewayError, RateLimitError
from gateway.core.web.client_address import limited_as

# A shop's or a mobile network's customers may share an address; a page is open in a few tabs at most.
PER_ADDRESS = 100
PER_PAGE = 10
_RETRY_SECONDS = 60


class StreamsFullError(GatewayError):
    """This process has its maximum of streams. Pages poll instead."""

    status = 503

    def headers(self) -> dict[str, str]:
        """Return Retry-After."""
        return {"Retry-After": str(_RETRY_SECONDS)}


class Admission:
    """Counts the open streams of this process, at most `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open = 0
        # Keys are addresses and checkout ids, which never collide.
        self._counts: Counter[str | int] = Counter()

    @contextmanager
    def admit(self, checkout_id: int, address: str) -> Iterator[None]:
        """Count a stream while the block runs. Raises StreamsFullError and RateLimitError."""
        limits: dict[str | int, int] = {checkout_id: PER_PAGE, limited_as(address): PER_ADDRESS}
        if self._open >= self._most:
            raise StreamsFullError("Too many pages are open.")
        if any(self._counts[key] >= most for key, most in limits.items()):
            raise RateLimitError(_RETRY_SECONDS)
        self._open += 1
        self._counts.update(limits.keys())
        try:
            yield
        finally:
            self._open -= 1
            for key in limits:
                self._leave(key)

    def _leave(self, key: str | int) -> None:
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]
