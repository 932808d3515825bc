"""Bodies of requests: whole, within bounds, and no more at once than a process holds."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from django.http import HttpResponse

from gateway.core.api.errors import BodyTooLargeError, InvalidRequestError, UnavailableError
from gateway.core.web.parked_views import REFUSAL
from gateway.server import bodies
from gateway.server.front import Front
from gateway.server.requests import Environ
from tests.gateway.server.exchanges import Asked, Exchange, Lines, served
from tests.waiting import PATIENCE_SECONDS


def echo(environ: Environ) -> HttpResponse:
    if refusal := environ.get(REFUSAL):
        return HttpResponse(type(refusal).__name__, status=refusal.status)
    length = int(environ.get("CONTENT_LENGTH") or 0)
    return HttpResponse(environ["wsgi.input"].read(length))


@pytest.mark.parametrize("header", [("content-length", "4"), ("transfer-encoding", "chunked")])
def test_a_body_is_there_as_a_whole(header: tuple[str, str]) -> None:
    exchange = served(Asked(Lines([header])), Exchange([b"ab", b"cd"]), echo)
    assert (exchange.status, exchange.body) == (200, b"abcd")


@pytest.mark.parametrize(
    ("method", "headers", "pieces", "error"),
    [
        ("GET", [("content-length", "1")], [], InvalidRequestError),
        ("HEAD", [("transfer-encoding", "chunked")], [], InvalidRequestError),
        ("POST", [("content-length", "262145")], [], BodyTooLargeError),
        ("POST", [("content-length", "4")], [b"ab"], InvalidRequestError),
        ("POST", [("content-length", "9000")], [b"ab", b""], InvalidRequestError),
        ("POST", [("transfer-encoding", "chunked")], [b" " * 65_536] * 5, BodyTooLargeError),
        ("POST", [("content-type", "multipart/form-data"), ("content-length", "5000000")], [], BodyTooLargeError),
    ],
)
def test_a_body_that_is_refused(method: str, headers: Any, pieces: list[bytes], error: type[Exception]) -> None:
    asked = Asked(Lines(headers), method=method)
    assert served(asked, Exchange(pieces), echo).body == error.__name__.encode()


def test_a_process_holds_so_many_bytes_of_bodies_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_MOST_HELD", 3)
    asked = Asked(Lines([("content-length", "4")]))
    told = served(asked, Exchange([b"abcd"]), echo).body
    assert told == UnavailableError.__name__.encode()


class Unfinished(Exchange):
    """A body of which so many bytes come, and the rest when it is let."""

    announced = 1_000_000

    def __init__(self, go: asyncio.Event, sent: int = 1_000_000) -> None:
        super().__init__()
        self._go, self._sent = go, sent

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._sent:
            yield b" " * self._sent
        await self._go.wait()
        yield b" " * (self.announced - self._sent)


def django(environ: Environ, start_response: Any) -> Any:
    response = echo(environ)
    start_response(f"{response.status_code} Told", [])
    return response


def started(application: Any = django) -> Front:
    front = Front(application, threads=2)
    front.__rsgi_init__(asyncio.get_running_loop())
    return front


def test_a_client_holds_its_share_of_what_it_has_sent_and_takes_nobody_elses_place() -> None:
    """Else whoever gives bodies up within a second, which nobody counts, takes everybody's place."""

    def form(client: str) -> Asked:
        lines = [("content-type", "multipart/form-data"), ("content-length", "1000000")]
        return Asked(Lines(lines), client=client)

    async def serve() -> list[Exchange]:
        front = started()
        go = asyncio.Event()
        # One IPv6 /64 in many addresses.
        greedy = [Unfinished(go) for _ in range(300)]
        askers = [
            asyncio.create_task(front.__rsgi__(form(f"[2001:db8::{number:x}]:4000"), exchange))
            for number, exchange in enumerate(greedy)
        ]
        honest = Unfinished(go)
        other = asyncio.create_task(front.__rsgi__(form("192.0.2.7:1"), honest))
        await asyncio.sleep(0)
        go.set()
        await asyncio.gather(*askers, other)
        again = Unfinished(go)
        await front.__rsgi__(form("[2001:db8::1]:4000"), again)
        return [*greedy, honest, again]

    *greedy, honest, again = asyncio.run(serve())
    refused = [one for one in greedy if one.status == 429]
    assert {one.body for one in refused} <= {b"RateLimitError"}
    # An eighth of what a process holds.
    assert 30 <= len(greedy) - len(refused) <= 34
    # Nobody else is refused, and who was is served again.
    assert (honest.status, again.status) == (200, 200)


@pytest.mark.parametrize("length", [2, 8_192, 8_193, 262_144])
def test_a_body_of_any_length_holds_nothing_before_it_comes(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setattr(bodies, "_MOST_OF_CLIENT", 1)
    monkeypatch.setattr(Unfinished, "announced", length)
    asked = Asked(Lines([("content-length", str(length))]))

    async def serve() -> list[Unfinished]:
        front, go = started(), asyncio.Event()
        some = [Unfinished(go, sent) for sent in (0, 0, 1, 1)]
        waiting = [asyncio.create_task(front.__rsgi__(asked, one)) for one in some]
        # Who sends a second byte is refused. It is the share of them all, so nobody else can be.
        await waiting[3]
        assert [one.status for one in some] == [0, 0, 0, 429]
        for task in waiting:
            task.cancel()
        return some

    asyncio.run(serve())


def test_a_body_is_held_until_its_request_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_MOST_OF_CLIENT", 6)
    asked = Asked(Lines([("content-length", "4")]))

    async def serve() -> list[int]:
        latch = threading.Event()

        def waiting(environ: Environ, start_response: Any) -> Any:
            if REFUSAL not in environ:
                assert latch.wait(PATIENCE_SECONDS)
            return django(environ, start_response)

        front = started(waiting)
        first, second, third = (Exchange([b"abcd"]) for _ in range(3))
        task = asyncio.create_task(front.__rsgi__(asked, first))
        await asyncio.sleep(0)
        await front.__rsgi__(asked, second)
        latch.set()
        await task
        await front.__rsgi__(asked, third)
        return [first.status, second.status, third.status]

    assert asyncio.run(serve()) == [200, 429, 200]
