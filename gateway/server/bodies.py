"""Reads request bodies before a thread is taken: with a deadline, a maximum length, and a count of slow ones."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from django.conf import settings
from granian.rsgi import ProtocolClosed, ProtocolError  # type: ignore[attr-defined]  # its documentation names them there

from gateway.core.api import rate_limits
from gateway.core.api.errors import (
    BodyLateError,
    BodyTooLargeError,
    GatewayError,
    InvalidRequestError,
    RateLimitError,
    UnavailableError,
)
from gateway.core.api.rate_limits import Limit
from gateway.core.web.client_address import client_of, limited_as
from gateway.core.web.uploads import MOST_BYTES
from gateway.server.requests import Environ

BODY_SECONDS: Final = 10.0
"""Seconds after which a request without its whole body is refused."""

SLOW_SECONDS: Final = 1.0
SLOW: Final = Limit("slow_body", 30)
"""The limit of bodies slower than `SLOW_SECONDS` per client or IPv6 /64. Further ones are refused."""

_SWEEP_SECONDS: Final = 0.25
_MOST_HELD: Final = 256 * 1024 * 1024
# The share of one client, or one IPv6 /64. Otherwise a client could take all places with bodies that it aborts before they
# count as slow.
_MOST_OF_CLIENT: Final = _MOST_HELD // 8
# Slightly above the largest file, because a form has more than its file.
_MOST_UPLOAD: Final = MOST_BYTES + 64 * 1024
_BODILESS: Final = frozenset({"GET", "HEAD"})


class Incoming(Protocol):
    """A body that is being received."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body in pieces."""
        ...


class RefusedBodyError(Exception):
    """A request is refused for its body; `error` is the answer."""

    def __init__(self, error: GatewayError) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass(slots=True)
class BodyReading:
    """A body being read since `since` of the monotonic clock; `refusal` is the reason for giving up."""

    client: str
    since: float
    body: bytes = b""
    held: int = 0
    is_counted: bool = False
    refusal: GatewayError | None = None


class Bodies:
    """The bodies that a process is reading. `in_thread` runs a function that may block."""

    def __init__(self, in_thread: Callable[[Callable[[], Any]], "asyncio.Future[Any]"]) -> None:
        self._in_thread = in_thread
        self._reading: dict[asyncio.Task[Any], BodyReading] = {}
        self._held = 0
        # Bytes of bodies that are being read, by client, for clients that have any.
        self._held_of: Counter[str] = Counter()
        self._sweeping: asyncio.Task[None] | None = None

    async def read(self, environ: Environ, incoming: Incoming) -> BodyReading | None:
        """Return a request's body, to be let go with its answer; None if it has none. Raises RefusedBodyError."""
        is_chunked = "HTTP_TRANSFER_ENCODING" in environ
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if not is_chunked and not length:
            return None
        if environ["REQUEST_METHOD"] in _BODILESS:
            error = InvalidRequestError("GET and HEAD requests must not have a body.")
            raise RefusedBodyError(error)
        most = _most_bytes(environ)
        if length > most:
            raise RefusedBodyError(_too_large(most))
        reading = BodyReading(_client_of(environ), time.monotonic())
        try:
            reading.body = await self._read(reading, incoming, None if is_chunked else length, most)
        except BaseException:
            self.let_go(reading)
            raise
        return reading

    async def _read(self, reading: BodyReading, incoming: Incoming, length: int | None, most: int) -> bytes:
        """Read a body until it is complete or the sweeper abandons it."""
        task = _current_task()
        self._reading[task] = reading
        if self._sweeping is None:
            self._sweeping = asyncio.create_task(self._sweep())
        try:
            return await self._collect(reading, incoming, length, most)
        except (ProtocolClosed, ProtocolError) as error:
            raise RefusedBodyError(_ended_early()) from error
        except asyncio.CancelledError:
            if reading.refusal is None:
                raise
            task.uncancel()
            raise RefusedBodyError(reading.refusal) from None
        finally:
            del self._reading[task]

    async def _collect(self, reading: BodyReading, incoming: Incoming, length: int | None, most: int) -> bytes:
        """Return a body of this length, or of one that is not announced. Raises RefusedBodyError."""
        body: bytes | bytearray = b""
        async for piece in incoming:
            self._hold_more(reading, len(piece))
            body = _joined(body, piece)
            if len(body) > most:
                raise RefusedBodyError(_too_large(most))
            if len(body) == length:
                return bytes(body)
        if length is not None:
            raise RefusedBodyError(_ended_early())
        return bytes(body)

    def _hold_more(self, reading: BodyReading, length: int) -> None:
        """Count bytes of a body. Raises RefusedBodyError where its client, or the process, would hold too many."""
        if self._held_of[reading.client] + length > _MOST_OF_CLIENT:
            raise RefusedBodyError(RateLimitError(1))
        if self._held + length > _MOST_HELD:
            error = UnavailableError("Too many requests at once.", code="overloaded")
            raise RefusedBodyError(error)
        reading.held += length
        self._held += length
        self._held_of[reading.client] += length

    def let_go(self, reading: BodyReading) -> None:
        """Stop counting a body: its request is answered."""
        self._held -= reading.held
        self._held_of[reading.client] -= reading.held
        if not self._held_of[reading.client]:
            del self._held_of[reading.client]

    async def _sweep(self) -> None:
        """Count slow bodies and abandon late ones, while any body is being read."""
        while self._reading:
            await asyncio.sleep(_SWEEP_SECONDS)
            now = time.monotonic()
            slow = defaultdict(list)
            for task, reading in list(self._reading.items()):
                age = now - reading.since
                if age > BODY_SECONDS:
                    _give_up(task, reading, BodyLateError())
                elif age > SLOW_SECONDS and not reading.is_counted:
                    reading.is_counted = True
                    slow[reading.client].append((task, reading))
            for client, some in slow.items():
                self._count(client, some)
        self._sweeping = None

    def _count(self, client: str, slow: list[tuple[asyncio.Task[Any], BodyReading]]) -> None:
        """Count a client's slow bodies, and give up those above its limit."""

        def decide(counted: "asyncio.Future[tuple[int, int]]") -> None:
            allowed, reset = counted.result()
            for task, reading in slow[allowed:]:
                if self._reading.get(task) is reading:
                    _give_up(task, reading, RateLimitError(max(1, reset - int(time.time()))))

        self._in_thread(lambda: _allowed(client, len(slow))).add_done_callback(decide)


def _allowed(client: str, number: int) -> tuple[int, int]:
    """Count slow bodies of a client; return how many of them its limit allows, and when the next window begins."""
    reset = 0
    # While Valkey is down none is exceeded, and counting the rest as well would hold the thread.
    for counted in range(min(number, SLOW.most + 1)):
        state = rate_limits.hit(SLOW, client, now=time.time())
        reset = state.reset
        if state.exceeded:
            return counted, reset
    return number, reset


def _give_up(task: asyncio.Task[Any], reading: BodyReading, error: GatewayError) -> None:
    if reading.refusal is None:
        reading.refusal = error
        task.cancel()


def _most_bytes(environ: Environ) -> int:
    if environ.get("CONTENT_TYPE", "").lower().startswith("multipart/form-data"):
        return _MOST_UPLOAD
    return settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def _client_of(environ: Environ) -> str:
    """Return the rate limits' key of a request's client."""
    forwarded = environ.get("HTTP_X_FORWARDED_FOR", "")
    return limited_as(client_of(environ["REMOTE_ADDR"], forwarded))


def _joined(body: bytes | bytearray, piece: bytes) -> bytes | bytearray:
    """Return a body with one more piece. Most bodies are one piece, which is not copied."""
    if not body:
        return piece
    joined = body if isinstance(body, bytearray) else bytearray(body)
    joined += piece
    return joined


def _ended_early() -> InvalidRequestError:
    return InvalidRequestError("The request ended before its body did.")


def _too_large(most: int) -> BodyTooLargeError:
    return BodyTooLargeError(f"The request body is larger than {most // 1024} KB.")


def _current_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("bodies are read in tasks")
    return task
