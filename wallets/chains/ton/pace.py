"""Paces requests to toncenter.com without a key: its limit is one a second."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from wallets.chains.rpc.client import TOTAL_SECONDS, Node

KEY_HEADER: Final = "X-API-Key"
"""The header of a toncenter API key."""

PAUSE_SECONDS: Final = 1.05
_LIMITED_HOST: Final = "toncenter.com"


class PacedNode(Node):
    """A node with a pause between requests. A reading takes three in a row, and the second would always be refused."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(url, headers=headers)
        self._clock = clock
        self._sleep = sleep
        self._free_at = clock()

    def get(self, path: str, query: Sequence[tuple[str, str]] = (), *, seconds: float = TOTAL_SECONDS) -> Any:
        """As Node.get, after a pause since the last request's end."""
        return self._paced(lambda: super(PacedNode, self).get(path, query, seconds=seconds))

    def post(self, path: str, document: Any, *, seconds: float = TOTAL_SECONDS) -> Any:
        """As Node.post, after the same pause."""
        return self._paced(lambda: super(PacedNode, self).post(path, document, seconds=seconds))

    def _paced(self, request: Callable[[], Any]) -> Any:
        wait = self._free_at - self._clock()
        if wait > 0:
            self._sleep(wait)
        try:
            return request()
        finally:
            self._free_at = self._clock() + PAUSE_SECONDS


def open_node(url: str, *, headers: Mapping[str, str]) -> Node:
    """Return a toncenter node, paced if it is the public one and `headers` hold no key."""
    host = urlsplit(url).hostname or ""
    is_public = host == _LIMITED_HOST or host.endswith(f".{_LIMITED_HOST}")
    if is_public and not headers:
        return PacedNode(url)
    return Node(url, headers=headers)
