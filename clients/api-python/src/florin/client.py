"""The client: where Florin is, and which key to use."""

from typing import Final
from urllib.parse import urlsplit

from florin.calls import Caller, Resource
from florin.operations import Operations
from florin.transport import Sender, Transport

VERSION: Final = "0.1.0"


class Florin(Operations):
    """Calls the API at `url`, such as https://pay.example.com, with an API `key`. Thread-safe; keep one for your whole program.

    A request takes at most `timeout` seconds. It is repeated up to `retries` times without an answer, and after 429 and 5xx, but
    only where that does nothing twice: a GET, a body with its `order_ref` or `reference`, or a POST with an Idempotency-Key, which
    the client makes unless you give one. PATCH and DELETE are sent once. Raises ValueError for a url that is not https (on this
    machine http will do), or a key that is none.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float = 30.0,
        retries: int = 2,
        wait: float = 0.5,
        sender: Sender | None = None,
    ) -> None:
        if not key.startswith(("sk_live_", "sk_test_")) or not key.isascii() or not key.isprintable():
            raise ValueError("The key begins with sk_live_ or sk_test_.")
        self.livemode = key.startswith("sk_live_")
        self._sender = sender or Transport(url, seconds=timeout)
        headers = {
            "Authorization": f"Bearer {key}",
            "Accept": "application/json",
            "User-Agent": f"florin-python/{VERSION}",
        }
        root = urlsplit(url).path.rstrip("/")
        super().__init__(Resource(Caller(self._sender, root, headers, retries, wait)))

    def close(self) -> None:
        """Close connections that are kept for the next request."""
        if isinstance(self._sender, Transport):
            self._sender.close()
