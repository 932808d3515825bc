"""HTTP over keep-alive connections, by the standard library. Redirects are not followed."""

import http.client
import socket
import ssl
import time
from base64 import b64encode
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final, Protocol
from urllib.parse import SplitResult, unquote, urlsplit

from florin.errors import NoAnswerError

LONGEST_ANSWER: Final = 10_000_000
_MOST_IDLE: Final = 16
_CHUNK: Final = 65_536
_CLOSED: Final = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError, ConnectionAbortedError)


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent. `path` begins after the host. Only a request that is safe to `repeat` may use a kept connection."""

    method: str
    path: str
    # Not shown: reports of errors print local variables.
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None
    repeat: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """A response. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Sender(Protocol):
    """What carries requests: give `Florin` one of your own to use another HTTP library, or a proxy."""

    def send(self, request: Request) -> Reply:
        """Send a request and return its whole response. Raises NoAnswerError."""


class Transport:
    """Connections to one server. Thread-safe: each request has its connection to itself. `seconds` limits each request.

    Through a `proxy` a tunnel is made, so that it sees the server's name and nothing else.
    """

    def __init__(self, origin: str, *, seconds: float, proxy: str | None = None) -> None:
        self._server = checked(origin)
        self._proxy = None if proxy is None else checked_proxy(proxy, self._server)
        self._seconds = seconds
        self._idle: deque[http.client.HTTPConnection] = deque()

    def close(self) -> None:
        """Close the kept connections; the next request opens one."""
        while self._idle:
            self._idle.pop().close()

    def send(self, request: Request) -> Reply:
        """Send a request and return its whole response. Raises NoAnswerError."""
        try:
            kept = self._idle.pop() if request.repeat else None
        except IndexError:
            kept = None
        if kept is not None:
            try:
                return self._ask(kept, request)
            except NoAnswerError as error:
                # The server may have closed a kept connection meanwhile, which says nothing about it.
                if not isinstance(error.__cause__, _CLOSED):
                    raise
        return self._ask(self._connection(), request)

    def _ask(self, connection: http.client.HTTPConnection, request: Request) -> Reply:
        deadline = time.monotonic() + self._seconds
        try:
            if connection.sock is not None:
                connection.sock.settimeout(self._seconds)
            connection.request(request.method, request.path, request.body, dict(request.headers))
            # The response takes it away from a connection that will be closed.
            link = connection.sock
            link.settimeout(_left(deadline))
            response = connection.getresponse()
            content = self._read(response, link, deadline)
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            # Without the error's text, which may contain what was sent.
            raise NoAnswerError(f"No complete answer: {type(error).__name__}.") from error
        if response.will_close or len(self._idle) >= _MOST_IDLE:
            connection.close()
        else:
            self._idle.append(connection)
        return Reply(response.status, {name.lower(): value for name, value in response.getheaders()}, content)

    def _read(self, response: http.client.HTTPResponse, link: socket.socket, deadline: float) -> bytes:
        """Read the whole body within the time limit, also from a server that sends it slowly."""
        content = bytearray()
        while chunk := response.read1(_CHUNK):
            content += chunk
            if len(content) > LONGEST_ANSWER:
                raise http.client.HTTPException("too long")
            left = _left(deadline)
            # Once the answer is whole, it is closed already.
            if link.fileno() >= 0:
                link.settimeout(left)
        if response.length:
            raise http.client.IncompleteRead(bytes(content), response.length)
        # Only then may its connection be used again.
        response.close()
        return bytes(content)

    def _connection(self) -> http.client.HTTPConnection:
        server, seconds = self._server, self._seconds
        first = self._proxy or server
        host, port = first.hostname or "", first.port
        connection = (
            http.client.HTTPConnection(host, port, timeout=seconds)
            if server.scheme == "http"
            else http.client.HTTPSConnection(host, port, timeout=seconds, context=ssl.create_default_context())
        )
        if self._proxy is not None:
            connection.set_tunnel(server.hostname or "", server.port, headers=_credentials(self._proxy))
        return connection


def _left(deadline: float) -> float:
    """Return the seconds that are left. Raises TimeoutError."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def checked(origin: str) -> SplitResult:
    """Read the server's address. Raises ValueError for one to which the key would travel in the open."""
    parts = urlsplit(origin)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ValueError("The url is an https address with a host and at most a path.")
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise ValueError("The url is plain http: the key would travel in the open.")
    return parts


def checked_proxy(address: str, server: SplitResult) -> SplitResult:
    """Read the address of a proxy before a server. Raises ValueError for what is none, and for one that would see the key."""
    parts = urlsplit(address)
    is_bare = parts.path in {"", "/"} and not parts.query and not parts.fragment
    if parts.scheme != "http" or not parts.hostname or parts.port is None or not is_bare:
        # Without the address, which may contain a password.
        raise ValueError("The proxy is an address such as http://proxy.example:3128.")
    if server.scheme == "http" and not _is_loopback(parts.hostname):
        raise ValueError("The url is plain http: the key would travel to the proxy in the open.")
    return parts


def _credentials(proxy: SplitResult) -> dict[str, str]:
    """Return the headers that open a proxy; none where it asks for no password."""
    if proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
    return {"Proxy-Authorization": f"Basic {b64encode(pair).decode()}"}


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
