"""The asynchronous client, and its HTTP by httpx2. Redirects are not followed."""

import asyncio
import ssl
from types import TracebackType
from typing import Final, Self

import httpx2

from florin.asynchronous.calls import AsyncCaller, AsyncSender, Resource
from florin.asynchronous.operations import Operations
from florin.client import terms_of
from florin.errors import NoAnswerError
from florin.transport import LONGEST_ANSWER, Reply, Request, checked, checked_proxy

_MOST_IDLE: Final = 16


class AsyncTransport:
    """Connections to one server, for any number of tasks of one event loop. `seconds` limits each request."""

    def __init__(self, origin: str, *, seconds: float, proxy: str | None = None) -> None:
        parts = checked(origin)
        if proxy is not None:
            checked_proxy(proxy, parts)
        self._server = httpx2.URL(f"{parts.scheme}://{parts.netloc}")
        self._seconds = seconds
        trusted = ssl.create_default_context()
        self._kept = _client(trusted, proxy, idle=_MOST_IDLE)
        # The server may close a kept connection while a request is on its way. One that must not be sent twice gets a new one.
        self._new = _client(trusted, proxy, idle=0)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._kept.aclose()
        await self._new.aclose()

    async def send(self, request: Request) -> Reply:
        """Send a request and return its whole response. Raises NoAnswerError."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._asked(request)
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError) as error:
            # Without the error's text, which may contain what was sent.
            raise NoAnswerError(f"No complete answer: {type(error).__name__}.") from error

    async def _asked(self, request: Request) -> Reply:
        client = self._kept if request.repeat else self._new
        # As it is: its signs are escaped already.
        url = self._server.copy_with(raw_path=request.path.encode())
        async with client.stream(request.method, url, content=request.body, headers=dict(request.headers)) as response:
            content = bytearray()
            async for chunk in response.aiter_bytes():
                content += chunk
                if len(content) > LONGEST_ANSWER:
                    raise ValueError("too long")
            return Reply(
                response.status_code, {name.lower(): value for name, value in response.headers.items()}, bytes(content)
            )


class AsyncFlorin(Operations):
    """Calls the API at `url`, such as https://pay.example.com, with an API `key`. For one event loop; keep one for your whole program.

    It is `florin.Florin` with methods that are awaited: what is repeated, its limits and its errors are the same. `async with` closes
    its connections in the end.
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
        sender: AsyncSender | None = None,
    ) -> None:
        if sender is not None and proxy is not None:
            raise ValueError("A sender of your own has its own proxy.")
        terms = terms_of(url, key, retries=retries, wait=wait)
        self.livemode = key.startswith("sk_live_")
        self._sender = sender or AsyncTransport(url, seconds=timeout, proxy=proxy)
        super().__init__(Resource(AsyncCaller(self._sender, terms)))

    async def aclose(self) -> None:
        """Close connections that are kept for the next request."""
        if isinstance(self._sender, AsyncTransport):
            await self._sender.aclose()

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close its connections."""
        del kind, error, trace
        await self.aclose()


def _client(trusted: ssl.SSLContext, proxy: str | None, *, idle: int) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        # A proxy is named, or there is none.
        trust_env=False,
        verify=trusted,
        proxy=proxy,
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=idle),
        # One limit stands over the whole request.
        timeout=None,
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
    )
