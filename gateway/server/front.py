"""The application that granian calls: requests are read and waited for on its event loop, and Django answers them in threads.

A thread is taken once a request is there as a whole, and given back while its answer waits for a chain. See
docs/adr/0017.
"""

import asyncio
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, Protocol, TypeVar

from django.db import close_old_connections
from django.http.response import HttpResponseBase

from gateway.core.web.visits import (
    REFUSAL,
    VISIT,
    Visit,
    later_of,
)
from gateway.server.bodies import (
    Bodies,
    Incoming,
    RefusedBodyError,
)
from gateway.server.environ import (
    Environ,
    Scope,
    add_body,
    environ_of,
)

T = TypeVar("T")
Headers = list[tuple[str, str]]
Django = Callable[[Environ, Callable[..., Any]], HttpResponseBase]

# Files up to this length are sent in one piece.
_ONE_PIECE: Final = 1024 * 1024
# One in so many threads may conclude what waited: the others answer who comes.
_CONCLUDING: Final = 4


class Transport(Protocol):
    """The rest of an answer that was begun."""

    async def send_bytes(self, data: bytes) -> None:
        """Send a piece, once the client has taken the ones before."""
        ...


class Exchange(Incoming, Protocol):
    """A request's body, and the way to answer it, which may be used from any thread."""

    def response_bytes(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a whole answer."""
        ...

    def response_stream(self, status: int, headers: Headers) -> Transport:
        """Begin an answer."""
        ...


class _Answer:
    """What Django answered: a status, headers, and a response that is sent or waits."""

    __slots__ = ("headers", "response", "status")

    response: HttpResponseBase

    def __call__(self, status: str, headers: Headers, exc_info: Any = None) -> None:
        """Take status and headers, as WSGI has them."""
        self.status = int(status[:3])
        self.headers = headers


class Front:
    """Serves a WSGI application of Django's from so many threads. Each process has one."""

    def __init__(self, django: Django, *, threads: int) -> None:
        self._django = django
        self._threads = threads
        self._jobs: SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]]] = (
            SimpleQueue()
        )
        self._bodies = Bodies(self._in_thread)
        self._concluding = asyncio.Semaphore(max(threads // _CONCLUDING, 1))

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the threads, before the first request."""
        self._loop = loop
        for _ in range(self._threads):
            Thread(target=self._work, daemon=True).start()

    async def __rsgi__(self, scope: Scope, exchange: Exchange) -> None:
        """Answer a request."""
        environ = environ_of(scope)
        try:
            body = await self._bodies.read(environ, exchange)
        except RefusedBodyError as refused:
            body, environ[REFUSAL] = b"", refused.error
        environ[VISIT] = visit = Visit()
        add_body(environ, body)
        unsent = await self._in_thread(lambda: self._answer(environ, exchange))
        if unsent is not None:
            await self._send_later(unsent, scope, body, visit, exchange)

    async def _send_later(
        self,
        unsent: _Answer,
        scope: Scope,
        body: bytes,
        visit: Visit,
        exchange: Exchange,
    ) -> None:
        """Send what takes longer, or call the view again once what it waits for is there."""
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
        """Let Django answer, and send that if it can be sent at once; else return it."""
        answer = _Answer()
        response = answer.response = self._django(environ, answer)
        if later_of(response) is None and (body := _whole(response)) is not None:
            exchange.response_bytes(answer.status, answer.headers, body)
            response.close()
            return None
        return answer

    async def _stream(self, answer: _Answer, exchange: Exchange) -> None:
        """Send an answer as fast as it is read. Each piece is made in a thread; none is held by a slow reader."""
        pieces = iter(answer.response)
        try:
            transport = exchange.response_stream(answer.status, answer.headers)
            while (piece := await self._in_thread(lambda: _next(pieces))) is not None:
                await transport.send_bytes(piece)
        finally:
            await self._in_thread(answer.response.close)

    def _in_thread(self, job: Callable[[], T]) -> "asyncio.Future[T]":
        done: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put((job, done))
        return done

    def _work(self) -> None:
        call_soon = self._loop.call_soon_threadsafe
        while True:
            job, done = self._jobs.get()
            try:
                result = job()
            except BaseException as error:  # noqa: BLE001 - it is raised where the job is waited for
                call_soon(_fail, done, error)
            else:
                call_soon(_finish, done, result)


def _whole(response: HttpResponseBase) -> bytes | None:
    """Return a response's body; None where it is too long to be held."""
    if not response.streaming:
        return response.content  # type: ignore[attr-defined,no-any-return]
    length = response.get("Content-Length")
    if length is None or int(length) > _ONE_PIECE:
        return None
    return b"".join(response)


def _next(pieces: Any) -> bytes | None:
    # Pieces ask the database on the connection of the thread that they come to.
    close_old_connections()
    return next(pieces, None)


def _finish(done: "asyncio.Future[Any]", result: Any) -> None:
    if not done.cancelled():
        done.set_result(result)


def _fail(done: "asyncio.Future[Any]", error: BaseException) -> None:
    if not done.cancelled():
        done.set_exception(error)
