"""Bodies of requests: whole, within bounds, and no more at once than a process holds."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from django.http import HttpResponse

from gateway.core.api.errors import BodyTooLargeError, InvalidRequestError, UnavailableError
from gateway.core.web.visits import REFUSAL
from gateway.server import bodies
from gateway.server.environ import Environ
from gateway.server.front import Front
from tests.gateway.server.exchanges import Asked, Exchange, Lines, served


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
    """A body of which so many bytes come, and no more before they are let."""

    def __init__(self, go: asyncio.Event, sent: int = 1_000_000) -> None:
        super().__init__()
        self._go, self._sent = go, sent

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b" " * self._sent
        await self._go.wait()


@pytest.mark.parametrize(
    ("sent", "most"),
    # An eighth of what a process holds; and as good as nothing of it, whatever was announced.
    [(1_000_000, 34), (1, 300)],
)
def test_a_client_holds_its_share_of_what_it_has_sent_and_takes_nobody_elses_place(sent: int, most: int) -> None:
    """Else whoever gives bodies up within a second, which nobody counts, takes everybody's place."""

    def django(environ: Environ, start_response: Any) -> Any:
        response = echo(environ)
        start_response(f"{response.status_code} Told", [])
        return response

    def form(client: str) -> Asked:
        lines = [("content-type", "multipart/form-data"), ("content-length", "1000000")]
        return Asked(Lines(lines), client=client)

    async def serve() -> list[Exchange]:
        front = Front(django, threads=2)
        front.__rsgi_init__(asyncio.get_running_loop())
        go = asyncio.Event()
        # One IPv6 /64 in many addresses.
        greedy = [Unfinished(go, sent) for _ in range(300)]
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
    assert most - 4 <= len(greedy) - len(refused) <= most
    # Nobody else is refused, and who was is served again.
    assert (honest.status, again.status) == (200, 200)
