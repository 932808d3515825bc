"""The stream server's ASGI application: `GET /c/<code>/stream` as server-sent events, and nothing else."""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, TypeVar
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections

from checkouts.page.limits import STATUS
from checkouts.page.streaming.hub import Hub, PageFacts, Stream, find_page, read_facts
from gateway.core import json
from gateway.core.api import errors
from gateway.core.api.errors import GatewayError, RateLimitError
from gateway.core.web.client_address import client_of, limited_as
from gateway.core.web.pages import count_client

log = structlog.get_logger(__name__)

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_ROUTE = re.compile(r"/c/([0-9a-hjkmnp-tv-z]{1,32})/stream")
_EVERY_ANSWER = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Vary": "Origin",
    "X-Content-Type-Options": "nosniff",
}

# A shop's or a mobile network's customers may share an address; a page is open in a few tabs at most.
PER_ADDRESS = 100
PER_PAGE = 10
_RETRY_SECONDS = 60

# Proxies drop connections that are silent for longer, often after 30 or 60 s; the page gives up after forty.
BEAT_SECONDS = 15.0
# A client that reads nothing for this long has gone.
SEND_SECONDS = 30.0
_BEAT = b"event: beat\ndata: 1\n\n"
_RETRY_MS = (1_000, 5_000)
_STREAM_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    # Otherwise proxies would buffer the whole response.
    "X-Accel-Buffering": "no",
}

P = ParamSpec("P")
T = TypeVar("T")


class ForeignOriginError(errors.GatewayError):
    """The request comes from a page of another origin."""

    status = 403
    type = "permission"
    code = None


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """The requested page and the client. `origin` is empty if page and stream share one."""

    code: str
    address: str
    origin: str
    is_head: bool


def parse_request(scope: Mapping[str, Any]) -> StreamRequest:
    """Read an ASGI scope. Raises NotFoundError, MethodNotAllowedError and ForeignOriginError."""
    route = _ROUTE.fullmatch(scope["path"])
    if route is None:
        raise errors.NotFoundError("There is no such route.", code="route_missing")
    if scope["method"] not in {"GET", "HEAD"}:
        raise errors.MethodNotAllowedError("This route does not take that method.")
    if _header(scope, b"origin") and not our_origin(scope):
        raise ForeignOriginError("Only our own pages may follow a checkout.")
    peer = scope.get("client") or ("unknown", 0)
    forwarded = _header(scope, b"x-forwarded-for")
    return StreamRequest(
        code=route[1],
        address=client_of(peer[0], forwarded),
        origin=our_origin(scope),
        is_head=scope["method"] == "HEAD",
    )


def _header(scope: Mapping[str, Any], name: bytes) -> str:
    values = [value for key, value in scope["headers"] if key.lower() == name]
    return b",".join(values).decode("latin-1")


def our_origin(scope: Mapping[str, Any]) -> str:
    """Return the requesting page's origin if it is one of ours; else empty."""
    origin = _header(scope, b"origin")
    parts = (urlsplit(base) for base in (settings.CHECKOUT_HOST, settings.BASE_URL))
    return origin if origin in {f"{p.scheme}://{p.netloc}" for p in parts} else ""


def start_message(status: int, headers: Mapping[str, str], *, origin: str = "") -> Message:
    """Return the first message of a response; `origin` may read it from another origin."""
    allowed = {"Access-Control-Allow-Origin": origin} if origin else {}
    every = {**_EVERY_ANSWER, **allowed, **headers}
    return {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in every.items()],
    }


def body_message(body: bytes, *, more: bool = False) -> Message:
    """Return a message with a part of the body; the last one unless `more`."""
    return {"type": "http.response.body", "body": body, "more_body": more}


async def refuse(send: Send, scope: Mapping[str, Any], error: errors.GatewayError) -> None:
    """Answer with an error envelope that our own pages may read."""
    body = json.dumps(error.body())
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    headers |= error.headers()
    await send(start_message(error.status, headers, origin=our_origin(scope)))
    await send(body_message(b"" if scope["method"] == "HEAD" else body))


class StreamsFullError(GatewayError):
    """This process has its maximum of streams. Pages poll instead."""

    status = 503

    def headers(self) -> dict[str, str]:
        """Return Retry-After."""
        return {"Retry-After": str(_RETRY_SECONDS)}


class Admission:
    """Counts the open streams of this process, at most `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open = 0
        # Keys are addresses and checkout ids, which never collide.
        self._counts: Counter[str | int] = Counter()

    @contextmanager
    def admit(self, checkout_id: int, address: str) -> Iterator[None]:
        """Count a stream while the block runs. Raises StreamsFullError and RateLimitError."""
        limits: dict[str | int, int] = {checkout_id: PER_PAGE, limited_as(address): PER_ADDRESS}
        if self._open >= self._most:
            raise StreamsFullError("Too many pages are open.")
        if any(self._counts[key] >= most for key, most in limits.items()):
            raise RateLimitError(_RETRY_SECONDS)
        self._open += 1
        self._counts.update(limits.keys())
        try:
            yield
        finally:
            self._open -= 1
            for key in limits:
                self._leave(key)

    def _leave(self, key: str | int) -> None:
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]


class Desk:
    """A thread with its own database connection that runs queries one after the other, so the event loop never blocks."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def ask(self, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a query in the thread and return its result. Its exceptions are raised here."""
        loop = asyncio.get_running_loop()
        call = partial(question, *args, **kwargs)
        return await loop.run_in_executor(self._thread, _with_connection, call)


def _with_connection(call: Callable[[], T]) -> T:
    # Django drops broken connections when a request begins or ends, which never happens in this thread.
    close_old_connections()
    return call()


class StreamApplication:
    """An ASGI application with a hub, a listener and two query threads; at most `most` streams are open."""

    def __init__(self, *, most: int) -> None:
        self._looking = Desk("looking")
        self._opening = Desk("opening")
        self._admission = Admission(most)
        self._hub = Hub(lambda ids: self._looking.ask(read_facts, ids))
        self._tasks: list[asyncio.Task[None]] = []

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, or run the server's lifespan."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] != "lifespan.shutdown":
            if message["type"] == "lifespan.startup":
                work = (self._hub.run(), self._hub.listen())
                self._tasks = [asyncio.create_task(one) for one in work]
                await send({"type": "lifespan.startup.complete"})
        for task in self._tasks:
            task.cancel()
        self._hub.end()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        try:
            request = parse_request(scope)
            await self._serve(request, receive, send)
        except errors.GatewayError as error:
            await refuse(send, scope, error)
        except (DatabaseError, InterfaceError):
            log.warning("cannot open a stream: the database does not answer")
            unavailable = errors.UnavailableError("Please try again.", code="internal")
            await refuse(send, scope, unavailable)

    async def _serve(self, request: StreamRequest, receive: Receive, send: Send) -> None:
        """Open the requested stream. Raises GatewayError and DatabaseError before anything was sent."""
        checkout_id = await self._opening.ask(_admit, request)
        headers = start_message(200, _STREAM_HEADERS, origin=request.origin)
        if request.is_head:
            await send(headers)
            await send(body_message(b""))
        else:
            with self._admission.admit(checkout_id, request.address):
                await send(headers)
                await self._stream(checkout_id, receive, send)

    async def _stream(self, checkout_id: int, receive: Receive, send: Send) -> None:
        stream = self._hub.open(checkout_id)
        leaving = asyncio.create_task(_end_when_gone(stream, receive))
        try:
            # All pages lose their streams at once when this process ends; they must not all reconnect at once.
            await _write(send, f"retry: {random.randint(*_RETRY_MS)}\n\n".encode())  # noqa: S311
            await _follow(stream, send)
            await send(body_message(b""))
        except (TimeoutError, OSError):
            log.info("a stream's reader is gone")
        finally:
            leaving.cancel()
            self._hub.close(stream)


def _admit(request: StreamRequest) -> int:
    """Return the checkout's id. Raises NotFoundError, RateLimitError and DatabaseError."""
    page = find_page(request.code)
    if page is None:
        raise errors.NotFoundError("There is no such checkout.")
    count_client(request.address, STATUS, request.code)
    return page


async def _end_when_gone(stream: Stream, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.end()


async def _follow(stream: Stream, send: Send) -> None:
    """Send each piece of news until the reader is gone.

    Raises TimeoutError for a client that stops reading.
    """
    while True:
        facts = None
        with suppress(TimeoutError):
            async with asyncio.timeout(BEAT_SECONDS):
                facts = await stream.news()
        if stream.is_over:
            return
        await _write(send, _event(facts) if facts else _BEAT)


def _event(facts: PageFacts) -> bytes:
    data = json.dumps({"status": facts.status})
    return b"event: status\ndata: " + data + b"\n\n"


async def _write(send: Send, body: bytes) -> None:
    async with asyncio.timeout(SEND_SECONDS):
        await send(body_message(body, more=True))
