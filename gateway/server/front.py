"""The RSGI application: reads requests and waits on granian's event loop, and lets Django answer them in threads.

A request takes a thread once it has arrived completely, and releases it while its answer waits for a chain. See docs/adr/0017.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, Protocol

import structlog
from django.db import close_old_connections
from django.http.response import HttpResponseBase
from granian.rsgi import ProtocolClosed, ProtocolError  # type: ignore[attr-defined]  # its documentation names them there

from gateway.core.web.visits import GONE, REFUSAL, VISIT, WATCH, Visit, later_of
from gateway.server.bodies import Bodies, Incoming, RefusedBodyError
from gateway.server.environ import Environ, Scope, add_body, environ_of
from gateway.server.threads import Threads

Headers = list[tuple[str, str]]
Django = Callable[[Environ, Callable[..., Any]], HttpResponseBase]

log = structlog.get_logger(__name__)

SEND_SECONDS: Final = 30.0
"""A client that takes nothing of a streamed answer for so long has gone. Its answer ends, and what made it is freed."""

# Files up to this size are sent in one piece.
_ONE_PIECE: Final = 1024 * 1024
# One thread in this many may continue waiting requests. Those that take long are replaced, so new ones are answered too.
_CONCLUDING: Final = 4


class Transport(Protocol):
    """The rest of a response that was begun."""

    async def send_bytes(self, data: bytes) -> None:
        """Send a piece, once the client has taken the earlier ones."""
        ...


class Exchange(Incoming, Protocol):
    """A request's body, and the way to answer it. Safe to use from any thread."""

    def response_bytes(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a whole response."""
        ...

    def response_stream(self, status: int, headers: Headers) -> Transport:
        """Begin a response."""
        ...

    async def client_disconnect(self) -> None:
        """Wait until the client has closed its connection."""
        ...


class _Answer:
    """Django's answer: a status, headers, and a response to send or to wait for."""

    __slots__ = ("headers", "response", "status")

    response: HttpResponseBase

    def __call__(self, status: str, headers: Headers, exc_info: Any = None) -> None:
        """Store status and headers, as WSGI passes them."""
        self.status = int(status[:3])
        self.headers = headers


class Front:
    """Serves a Django WSGI application with a pool of threads. Each process has one."""

    def __init__(self, django: Django, *, threads: int) -> None:
        self._django = django
        self._threads = Threads(most=threads)
        self._in_thread = self._threads.run
        self._bodies = Bodies(self._in_thread)
        self._concluding = asyncio.Semaphore(max(threads // _CONCLUDING, 1))

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the threads, before the first request."""
        self._loop = loop
        self._threads.start(loop)

    async def __rsgi__(self, scope: Scope, exchange: Exchange) -> None:
        """Answer a request."""
        environ = environ_of(scope)
        try:
            body = await self._bodies.read(environ, exchange)
        except RefusedBodyError as refused:
            body, environ[REFUSAL] = b"", refused.error
        environ[VISIT] = visit = Visit({WATCH: lambda: self._watch(exchange)})
        add_body(environ, body)
        try:
            unsent = await self._in_thread(lambda: self._answer(environ, exchange))
            if unsent is not None:
                await self._send_later(unsent, scope, body, visit, exchange)
        finally:
            if GONE in visit:
                visit[GONE].cancel()

    def _watch(self, exchange: Exchange) -> "Future[None]":
        """Return a future that is done once the client has closed its connection. For any thread."""

        async def gone() -> None:
            await exchange.client_disconnect()

        return asyncio.run_coroutine_threadsafe(gone(), self._loop)

    async def _send_later(self, unsent: _Answer, scope: Scope, body: bytes, visit: Visit, exchange: Exchange) -> None:
        """Send a long response, or call the view again once the event it waits for has happened."""
        answer: _Answer | None = unsent
        while answer is not None:
            later = later_of(answer.response)
            if later is None:
                await self._stream(answer, exchange)
                return
            await asyncio.wrap_future(later)
            environ = environ_of(scope)
            environ[VISIT] = visit
            add_body(environ, body)
            async with self._concluding:
                answer = await self._in_thread(
                    lambda: self._answer(environ, exchange)  # noqa: B023 - awaited in this turn
                )

    def _answer(self, environ: Environ, exchange: Exchange) -> _Answer | None:
        """Let Django answer, and send the response if that can be done at once; else return it."""
        answer = _Answer()
        response = answer.response = self._django(environ, answer)
        if later_of(response) is None and (body := _whole(response)) is not None:
            exchange.response_bytes(answer.status, answer.headers, body)
            response.close()
            return None
        return answer

    async def _stream(self, answer: _Answer, exchange: Exchange) -> None:
        """Stream a response as fast as the client reads. A thread makes each piece; a slow reader holds none."""
        pieces = iter(answer.response)
        transport = exchange.response_stream(answer.status, answer.headers)
        is_taken = True
        try:
            while (piece := await self._in_thread(lambda: _next(pieces))) is not None:
                if not (is_taken := await _send(transport, piece)):
                    break
        finally:
            await self._in_thread(answer.response.close)
        if not is_taken:
            # The server would end the answer as if it were whole, and a report that lacks rows would look complete.
            del pieces, answer
            await exchange.client_disconnect()


async def _send(transport: Transport, piece: bytes) -> bool:
    """Send a piece; return whether the client took the earlier ones in time."""
    try:
        async with asyncio.timeout(SEND_SECONDS):
            await transport.send_bytes(piece)
    except (TimeoutError, ProtocolClosed, ProtocolError) as error:
        log.info("an answer's reader is gone", error=type(error).__name__)
        return False
    return True


def _whole(response: HttpResponseBase) -> bytes | None:
    """Return a response's body; None if it is too long to hold in memory."""
    if not response.streaming:
        return response.content  # type: ignore[attr-defined,no-any-return]
    length = response.get("Content-Length")
    if length is None or int(length) > _ONE_PIECE:
        return None
    return b"".join(response)


def _next(pieces: Any) -> bytes | None:
    # Pieces query the database on the connection of their thread.
    close_old_connections()
    return next(pieces, None)
