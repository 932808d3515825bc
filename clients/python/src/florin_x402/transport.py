"""HTTP client over keep-alive connections, by the standard library. Redirects are not followed."""

import http.client
import ssl
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

LONGEST_ANSWER: Final = 1_000_000
_MOST_IDLE: Final = 16
_CHUNK: Final = 65_536


class TransportError(Exception):
    """No complete response arrived; the server may still have processed the request."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A response. Header names are in lower case; values of a repeated header are joined."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def is_loopback(host: str) -> bool:
    """Whether a name or address is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class Transport:
    """Connections to one server. Thread-safe: each exchange has its own connection."""

    def __init__(self, origin: str, *, seconds: float) -> None:
        self._server = _parsed(origin)
        self._seconds = seconds
        self._idle: deque[http.client.HTTPConnection] = deque()

    def close(self) -> None:
        """Close the kept connections; the next exchange opens one."""
        while self._idle:
            self._idle.pop().close()

    def exchange(self, method: str, path: str, *, headers: Mapping[str, str], body: bytes | None = None) -> Reply:
        """Send a request that may be sent twice, and read the answer. Raises TransportError."""
        try:
            kept = self._idle.pop()
        except IndexError:
            return self._ask(self._connection(), method, path, headers, body)
        try:
            return self._ask(kept, method, path, headers, body)
        except TransportError as error:
            if not isinstance(error.__cause__, _CLOSED):
                raise
        # A kept connection may have been closed meanwhile, which says nothing about the server.
        return self._ask(self._connection(), method, path, headers, body)

    def _ask(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
    ) -> Reply:
        try:
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            content = self._read(response)
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            # Without the error's text, which may contain what was sent.
            raise TransportError(type(error).__name__) from error
        if response.will_close or len(self._idle) >= _MOST_IDLE:
            connection.close()
        else:
            self._idle.append(connection)
        return Reply(response.status, _joined(response.getheaders()), content)

    def _read(self, response: http.client.HTTPResponse) -> bytes:
        """Read the whole body within the time limit, also from a server that sends it slowly."""
        deadline = time.monotonic() + self._seconds
        content = bytearray()
        while chunk := response.read1(_CHUNK):
            content += chunk
            if len(content) > LONGEST_ANSWER:
                raise http.client.HTTPException("too long")
            if time.monotonic() > deadline:
                raise TimeoutError
        if response.length:
            raise http.client.IncompleteRead(bytes(content), response.length)
        # Only then may its connection be used again.
        response.close()
        return bytes(content)

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._server.hostname or "", self._server.port
        if self._server.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self._seconds)
        return http.client.HTTPSConnection(host, port, timeout=self._seconds, context=ssl.create_default_context())


_CLOSED: Final = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError, ConnectionAbortedError)


def _parsed(origin: str) -> SplitResult:
    parts = urlsplit(origin)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{origin!r} is not an http or https address.")
    return parts


def _joined(headers: list[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in headers:
        low = name.lower()
        found[low] = f"{found[low]}, {value}" if low in found else value
    return found
