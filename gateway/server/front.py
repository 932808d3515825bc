"""The RSGI application: reads requests and waits on granian's event loop, and lets Django answer them in threads.

A request takes a thread once it has arrived completely, and releases it while its answer waits for a chain. See docs/adr/0017.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, NamedTuple, Protocol

from django.http.response import HttpResponseBase

from gateway.core.web.parked_views import GONE, REFUSAL, VISIT, WATCH, Visit, later_of
from gateway.server.bodies import Bodies, Incoming, RefusedBodyError
from gateway.server.requests import Environ, RequestScope, add_body, environ_of
from gateway.server.sending import PIECE_BYTES, BodyTransport, Sendings, set_deadline
from gateway.server.threads import Threads

Headers = list[tuple[str, str]]
Django = Callable[[Environ, Callable[..., Any]], HttpResponseBase]

_CHORE_SECONDS: Final = 1.0
# One thread in this many may continue waiting requests. Those that take long are replaced, so new ones are answered too.
_CONCLUDING: Final = 4


class Exchange(Incoming, Protocol):
    """A request's body, and the way to answer it. Safe to use from any thread."""

    def response_bytes(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a whole response."""
        ...

    def response_stream(self, status: int, headers: Headers) -> BodyTransport:
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


class Chore(NamedTuple):
    """Work that a process does beside requests: once a second a thread does it if it `is_due`. It raises nothing."""

    is_due: Callable[[], bool]
    work: Callable[[], object]


class Front:
    """Serves a Django WSGI application with a pool of threads, and does a chore beside. Each process has one."""

    def __init__(self, django: Django, *, threads: int, chore: Chore | None = None) -> None:
        self._django = django
        self._chore = chore
        self._threads = Threads(most=threads)
        self._in_thread = self._threads.run
        self._bodies = Bodies(self._in_thread)
        self._sendings = Sendings(self._in_thread)
        self._concluding = asyncio.Semaphore(max(threads // _CONCLUDING, 1))

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the threads, before the first request."""
        self._loop = loop
        self._threads.start(loop)
        if self._chore is not None:
            loop.call_later(_CHORE_SECONDS, self._do_chore, self._chore)

    async def __rsgi__(self, scope: RequestScope, exchange: Exchange) -> None:
        """Answer a request."""
        set_deadline()
        environ = environ_of(scope)
        reading = None
        try:
            reading = await self._bodies.read(environ, exchange)
        except RefusedBodyError as refused:
            environ[REFUSAL] = refused.error
        body = reading.body if reading else b""
        environ[VISIT] = visit = Visit({WATCH: lambda: self._watch(exchange)})
        add_body(environ, body)
        try:
            unsent = await self._in_thread(lambda: self._answer(environ, exchange))
            if unsent is not None:
                await self._send_later(unsent, scope, body, visit, exchange)
        finally:
            if reading:
                self._bodies.let_go(reading)
            if GONE in visit:
                visit[GONE].cancel()

    def _do_chore(self, chore: Chore) -> None:
        if chore.is_due():
            self._in_thread(chore.work)
        self._loop.call_later(_CHORE_SECONDS, self._do_chore, chore)

    def _watch(self, exchange: Exchange) -> "Future[None]":
        """Return a future that is done once the client has closed its connection. For any thread."""

        async def gone() -> None:
            await exchange.client_disconnect()

        return asyncio.run_coroutine_threadsafe(gone(), self._loop)

    async def _send_later(
        self, unsent: _Answer, scope: RequestScope, body: bytes, visit: Visit, exchange: Exchange
    ) -> None:
        """Send a long response, or call the view again once the event it waits for has happened."""
        answer: _Answer | None = unsent
        while answer is not None:
            later = later_of(answer.response)
            if later is None:
                await self._stream(answer, scope, exchange)
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
        """Run Django. Send the response if it is whole and needs no waiting; otherwise return it, to be sent later."""
        answer = _Answer()
        response = answer.response = self._django(environ, answer)
        if later_of(response) is None and (body := _whole(response, environ["REQUEST_METHOD"])) is not None:
            exchange.response_bytes(answer.status, answer.headers, body)
            response.close()
            return None
        return answer

    async def _stream(self, answer: _Answer, scope: RequestScope, exchange: Exchange) -> None:
        """Send a long response as fast as the client takes it."""
        pieces = iter(answer.response)
        try:
            await self._sendings.send(
                pieces, scope.client, lambda: exchange.response_stream(answer.status, answer.headers)
            )
        finally:
            await self._in_thread(answer.response.close)


def _whole(response: HttpResponseBase, method: str) -> bytes | None:
    """Return a response's body; None if it is too long to hold in memory."""
    if not response.streaming:
        return response.content  # type: ignore[attr-defined,no-any-return]
    if method == "HEAD":
        return b""
    length = response.get("Content-Length")
    if length is None or int(length) > PIECE_BYTES:
        return None
    return b"".join(response)
