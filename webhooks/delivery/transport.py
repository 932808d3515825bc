"""Sends one POST to a merchant's server, which is not trusted.

Limited in time and size, to public addresses only, no redirects, no proxies, no cookies.
"""

import asyncio
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Self

import aiohttp

from gateway.core.resolving import CheckingResolver, ForbiddenAddressError, Lookup, checked_socket
from webhooks.health import AttemptResult, parse_retry_after

DEADLINE_SECONDS = 30.0
CONNECT_SECONDS = 5.0
BODY_LIMIT = 16 * 1024
# More than the sender opens: the sender limits connections, and a queue here would hide a hang.
_CONNECTIONS = 2_000

_KEPT_HEADERS = ("Content-Type", "Content-Length", "Date", "Location", "Retry-After", "Server", "Via", "X-Request-Id")
_KEPT_HEADER_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Response:
    """A POST's result. `body` is empty after success, where the status is enough."""

    answer: AttemptResult
    headers: Mapping[str, str]
    body: str = ""


class Transport:
    """Sends POSTs over kept connections. Use as an asynchronous context manager."""

    def __init__(
        self,
        *,
        user_agent: str,
        loopback_allowed: bool = False,
        deadline_seconds: float = DEADLINE_SECONDS,
        lookup: Lookup = socket.getaddrinfo,
    ) -> None:
        self._user_agent = user_agent
        self._loopback_allowed = loopback_allowed
        self._deadline_seconds = deadline_seconds
        self._lookup = lookup

    async def __aenter__(self) -> Self:
        allowed = self._loopback_allowed
        self._resolver = CheckingResolver(loopback_allowed=allowed, lookup=self._lookup)
        connector = aiohttp.TCPConnector(
            resolver=self._resolver,
            socket_factory=partial(checked_socket, loopback_allowed=allowed),
            use_dns_cache=False,
            limit=_CONNECTIONS,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": self._user_agent, "Accept": "*/*", "Accept-Encoding": "identity"},
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            auto_decompress=False,
            trust_env=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()
        await self._resolver.close()

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], *, now: datetime) -> Response:
        """POST once and return the result by the deadline. Never raises for errors of the other side."""
        received = _Received()
        try:
            async with asyncio.timeout(self._deadline_seconds):
                await self._post_over_live_connection(url, body, headers, received)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if received.status is None:
                return Response(AttemptResult(None, error=error_class(error)), {})
        return received.response(now)

    async def _post_over_live_connection(
        self, url: str, body: bytes, headers: Mapping[str, str], received: "_Received"
    ) -> None:
        try:
            await self._post(url, body, headers, received)
        except (aiohttp.ServerDisconnectedError, ConnectionResetError, BrokenPipeError):
            if received.status is not None:
                raise
            # The other side may have just closed a kept connection; that is not a failure of the endpoint.
            await self._post(url, body, headers, received)

    async def _post(self, url: str, body: bytes, headers: Mapping[str, str], received: "_Received") -> None:
        request = self._session.post(url, data=body, headers=headers, allow_redirects=False)
        async with request as response:
            received.status = response.status
            received.headers = response.headers
            if 200 <= response.status < 300:
                return
            async for chunk in response.content.iter_any():
                received.body += chunk
                if len(received.body) >= BODY_LIMIT:
                    return


class _Received:
    """What has arrived so far, so that a deadline in the middle of a body still leaves a status."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.body = b""

    def response(self, now: datetime) -> Response:
        retry_after = parse_retry_after(self.headers.get("Retry-After"), now=now)
        kept = {
            name: _storable(self.headers[name][:_KEPT_HEADER_LENGTH]) for name in _KEPT_HEADERS if name in self.headers
        }
        text = _storable(self.body[:BODY_LIMIT].decode(errors="replace"))
        return Response(AttemptResult(self.status, retry_after=retry_after), kept, text)


def _storable(text: str) -> str:
    # PostgreSQL's text has no NUL, and its jsonb no lone surrogates, which undecodable header bytes turn into.
    return text.encode(errors="replace").decode().replace("\x00", "\ufffd")


def error_class(error: Exception) -> str:
    """Return a word for why there was no answer; it may be shown to the merchant."""
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, (aiohttp.ClientSSLError, aiohttp.ClientConnectorCertificateError)):
        return "tls_failed"
    if isinstance(error, aiohttp.ClientConnectorError):
        return _connect_error_class(error)
    if isinstance(error, (aiohttp.InvalidURL, ValueError)):
        return "url_invalid"
    if isinstance(error, (aiohttp.ServerDisconnectedError, OSError)):
        return "disconnected"
    return "response_invalid"


def _connect_error_class(error: aiohttp.ClientConnectorError) -> str:
    cause = error.os_error
    if isinstance(cause, ForbiddenAddressError):
        return "forbidden_address"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "name_not_resolved"
    if isinstance(cause, ConnectionRefusedError):
        return "connection_refused"
    return "connection_failed"
