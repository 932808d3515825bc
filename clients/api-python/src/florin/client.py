"""The client: where Florin is, and which key to use."""

from typing import Final
from urllib.parse import urlsplit

from florin.calls import Caller, Resource, Terms
from florin.operations import Operations
from florin.transport import Sender, Transport

VERSION: Final = "0.1.0"


def terms_of(url: str, key: str, *, retries: int, wait: float) -> Terms:
    """Return how calls with a key are made. Raises ValueError for a key that is none."""
    if not key.startswith(("sk_live_", "sk_test_")) or not key.isascii() or not key.isprintable():
        raise ValueError("The key begins with sk_live_ or sk_test_.")
    headers = {"Authorization": f"Bearer {key}", "Accept": "application/json", "User-Agent": f"florin-python/{VERSION}"}
    return Terms(urlsplit(url).path.rstrip("/"), headers, retries, wait)


class Florin(Operations):
    """Calls the API at `url`, such as https://pay.example.com, with an API `key`. Thread-safe; keep one for your whole program.

    A request takes at most `timeout` seconds. It is repeated up to `retries` times without an answer, and after 429 and 5xx, but
    only where that does nothing twice: a GET, a body with its `order_ref` or `reference`, or a POST with an Idempotency-Key, which
    the client makes unless you give one. PATCH and DELETE are sent once. `proxy` is an address such as http://proxy.example:3128; none is
    taken from the environment. `sender` carries requests instead of this package. Raises ValueError for a url that is not https (on this
    machine http will do, and a proxy is on it, too), a key that is none, and a proxy beside a `sender`.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float = 30.0,
        retries: int = 2,
        wait: float = 0.5,
        proxy: str | None = None,
        sender: Sender | None = None,
    ) -> None:
        if sender is not None and proxy is not None:
            raise ValueError("A sender of your own has its own proxy.")
        terms = terms_of(url, key, retries=retries, wait=wait)
        self.livemode = key.startswith("sk_live_")
        self._sender = sender or Transport(url, seconds=timeout, proxy=proxy)
        super().__init__(Resource(Caller(self._sender, terms)))

    def close(self) -> None:
        """Close connections that are kept for the next request."""
        if isinstance(self._sender, Transport):
            self._sender.close()
