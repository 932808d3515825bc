"""Sends long answers as fast as clients take them, and ends the connections of clients that take nothing.

granian accepts what it is given without limit, and shows no sockets. So this module finds a connection's socket among the open
files, and asks Linux what the client has acknowledged. Other systems do not tell.
"""

import asyncio
import os
import socket
import struct
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Protocol

import structlog
from django.db import close_old_connections
from granian.rsgi import ProtocolClosed, ProtocolError  # type: ignore[attr-defined]  # its documentation names them there

log = structlog.get_logger(__name__)

SEND_SECONDS: Final = 30.0
"""A client that takes nothing of an answer for so long has gone. Its connection is closed, and what it held is freed."""

PIECE_BYTES: Final = 64 * 1024
"""A long answer is made in pieces of about this length."""

# What one answer may have on its way, and all of a process together. Beyond that each has one piece on its way.
_MOST_OF_ANSWER: Final = 8 * PIECE_BYTES
_MOST_OF_ALL: Final = 64 * 1024 * 1024
# How often it is asked what a client has taken: less and less often while it takes nothing.
_FIRST_LOOK_SECONDS: Final = 0.005
_LAST_LOOK_SECONDS: Final = 1.0
# Of its time, this share goes by between two looks for connections that are new.
_PAUSE_TIMES: Final = 9
_IS_LINUX: Final = sys.platform == "linux"
# struct tcp_info: its first byte is the state, and what was acknowledged is the 64-bit number at this place.
_INFO_BYTES: Final = 128
_ACKNOWLEDGED_AT: Final = 120
_ESTABLISHED: Final = 1


class BodyTransport(Protocol):
    """The rest of a response that was begun."""

    async def send_bytes(self, data: bytes) -> None:
        """Accept a piece, however much the client has not taken yet."""
        ...


class ReaderGoneError(Exception):
    """A client has closed its connection, or takes nothing any more."""


@cache
def set_deadline() -> None:
    """Have the system close each connection of this server whose client takes nothing for `SEND_SECONDS`.

    For the process that has the server's sockets, once it listens. Connections inherit the deadline; those that were accepted
    before get it here.
    """
    if not _IS_LINUX:
        return
    ports: set[int] = set()
    # The listening sockets first: what they accept from then on has inherited it.
    for listens in (True, False):
        for descriptor in _descriptors():
            with suppress(OSError), _borrowed(descriptor) as own:
                if own.family != socket.AF_UNIX and _listens(own) is listens:
                    port = own.getsockname()[1]
                    if listens:
                        ports.add(port)
                    if port in ports:
                        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(SEND_SECONDS * 1000))


class SocketConnection:
    """A client's connection as the system knows it. Close it: it keeps the socket open."""

    def __init__(self, own: socket.socket) -> None:
        self._socket = own
        self._before = 0
        self._before = self.taken()

    def taken(self) -> int:
        """Return how many bytes the client has acknowledged since. Raises ReaderGoneError when it has closed."""
        info = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
        if info[0] != _ESTABLISHED:
            raise ReaderGoneError
        acknowledged: int = struct.unpack_from("=Q", info, _ACKNOWLEDGED_AT)[0]
        return acknowledged - self._before

    def break_off(self) -> None:
        """End the connection so that no client takes it for the end of its answer."""
        with suppress(OSError):
            # Whoever closes it last sends a reset.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Leave the socket to the server."""
        self._socket.close()


class Connections:
    """Finds the connections of clients among the process's open files."""

    def __init__(self, in_thread: Callable[[Callable[[], Any]], Awaitable[Any]]) -> None:
        self._in_thread = in_thread
        self._known: dict[str, int] = {}
        self._looking = asyncio.Lock()
        self._not_before = 0.0

    async def of(self, client: str) -> SocketConnection | None:
        """Return the connection of the client at `ADDRESS:PORT`; None where the system does not tell."""
        if not _IS_LINUX:
            return None
        # One look serves all who wait for it, and looking takes a tenth of the time at most.
        async with self._looking:
            if connection := self._known_of(client):
                return connection
            await asyncio.sleep(self._not_before - time.monotonic())
            began = time.monotonic()
            self._known = await self._in_thread(_descriptors_of_clients)
            ended = time.monotonic()
            self._not_before = ended + _PAUSE_TIMES * (ended - began)
            return self._known_of(client)

    def _known_of(self, client: str) -> SocketConnection | None:
        """Return a known connection. Another client may have its descriptor by now, so it is asked again."""
        with suppress(KeyError, OSError, ReaderGoneError):
            own = socket.socket(fileno=os.dup(self._known[client]))
            if _peer(own) == client:
                return SocketConnection(own)
            own.close()
        return None


@dataclass(slots=True)
class _InFlight:
    """An answer on its way: bytes sent, and those that the client has not taken."""

    connection: SocketConnection | None
    sent: int = 0
    unsent: int = 0


class Sendings:
    """The long answers that a process is sending. `in_thread` runs a function that may block."""

    def __init__(self, in_thread: Callable[[Callable[[], Any]], Awaitable[Any]]) -> None:
        self._in_thread = in_thread
        self._connections = Connections(in_thread)
        self._unsent = 0

    async def send(self, pieces: Iterator[bytes], client: str, begin: Callable[[], BodyTransport]) -> None:
        """Send an answer in pieces. A thread makes each; a slow reader holds none, and little memory.

        Where a piece cannot be made, or the client takes none, the connection is broken off: a report that lacks rows must not
        look complete.
        """
        way = _InFlight(await self._connections.of(client))
        try:
            await self._send(pieces, way, begin())
        except (ReaderGoneError, ProtocolClosed, ProtocolError) as error:
            _break_off(way)
            log.info("an answer's reader is gone", error=type(error).__name__)
        except BaseException:
            _break_off(way)
            raise
        finally:
            self._unsent -= way.unsent
            if way.connection:
                way.connection.close()

    async def _send(self, pieces: Iterator[bytes], way: _InFlight, transport: BodyTransport) -> None:
        while (piece := await self._in_thread(lambda: _next(pieces))) is not None:
            await transport.send_bytes(piece)
            way.sent += len(piece)
            self._look(way)
            await self._await_taken(way, _MOST_OF_ANSWER)
        await self._await_taken(way, PIECE_BYTES)

    async def _await_taken(self, way: _InFlight, most: int) -> None:
        """Wait until at most so many bytes of an answer are on their way. Raises ReaderGoneError."""
        pause = _FIRST_LOOK_SECONDS
        since = time.monotonic()
        while way.unsent > (most if self._unsent <= _MOST_OF_ALL else PIECE_BYTES):
            await asyncio.sleep(pause)
            before = way.unsent
            self._look(way)
            if way.unsent < before:
                pause, since = _FIRST_LOOK_SECONDS, time.monotonic()
            elif time.monotonic() - since > SEND_SECONDS:
                raise ReaderGoneError
            else:
                pause = min(2 * pause, _LAST_LOOK_SECONDS)

    def _look(self, way: _InFlight) -> None:
        """Count what an answer has on its way. Raises ReaderGoneError when the client has closed."""
        unsent = max(way.sent - way.connection.taken(), 0) if way.connection else 0
        self._unsent += unsent - way.unsent
        way.unsent = unsent


def _break_off(way: _InFlight) -> None:
    if way.connection:
        way.connection.break_off()


def _next(pieces: Iterator[bytes]) -> bytes | None:
    """Return the next pieces, of about `PIECE_BYTES` together; None at the end."""
    # They query the database on the connection of their thread.
    close_old_connections()
    some, length = [], 0
    for piece in pieces:
        some.append(piece)
        length += len(piece)
        if length >= PIECE_BYTES:
            break
    return b"".join(some) if some else None


def _descriptors() -> list[int]:
    return [int(name) for name in os.listdir("/proc/self/fd")]


@contextmanager
def _borrowed(descriptor: int) -> Iterator[socket.socket]:
    """An open file as a socket, which stays open. Raises OSError if it is none."""
    own = socket.socket(fileno=descriptor)
    try:
        yield own
    finally:
        own.detach()


def _listens(own: socket.socket) -> bool:
    return bool(own.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def _descriptors_of_clients() -> dict[str, int]:
    """Return each connection's descriptor by its client, as granian names clients."""
    found = {}
    for descriptor in _descriptors():
        with suppress(OSError), _borrowed(descriptor) as own:
            found[_peer(own)] = descriptor
    return found


def _peer(own: socket.socket) -> str:
    """Return a connection's client as granian names it. Raises OSError if it has none."""
    peer = own.getpeername()
    if own.family == socket.AF_INET6:
        return f"[{peer[0]}]:{peer[1]}"
    return f"{peer[0]}:{peer[1]}" if own.family == socket.AF_INET else ""
