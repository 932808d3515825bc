"""The front: how requests are put into WSGI's form, and what becomes of bodies and of views that wait."""

import asyncio
from concurrent.futures import Future

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from granian.rsgi import ProtocolClosed  # type: ignore[attr-defined]
from structlog.testing import capture_logs

from gateway.core.web.visits import VISIT
from gateway.server import front
from gateway.server.environ import Environ
from tests.gateway.server.exchanges import Asked, Exchange, Lines, served


def test_a_view_that_waits_is_called_again_with_what_it_kept() -> None:
    calls: list[bytes] = []

    def answering(environ: Environ) -> HttpResponse:
        visit = environ[VISIT]
        calls.append(environ["wsgi.input"].read())
        response = HttpResponse(b"in the end")
        if "came" not in visit:
            visit["came"] = True
            later: Future[None] = Future()
            later.set_result(None)
            response.later = later  # type: ignore[attr-defined]
        return response

    asked = Asked(Lines([("content-length", "2")]))
    exchange = served(asked, Exchange([b"ab"]), answering)
    assert (exchange.body, calls) == (b"in the end", [b"ab", b"ab"])


def test_what_is_streamed_arrives_piece_by_piece_and_is_closed() -> None:
    closed: list[bool] = []

    class Told(StreamingHttpResponse):
        def close(self) -> None:
            super().close()
            closed.append(True)

    def answering(_: Environ) -> StreamingHttpResponse:
        return Told(iter([b"a", b"b"]))

    assert served(Asked(), Exchange(), answering).body == b"ab"
    assert closed == [True]


class Stalled(Exchange):
    """A client that takes a first piece and no more, and goes when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.is_gone = False

    async def send_bytes(self, data: bytes) -> None:
        if self.body:
            await asyncio.Event().wait()
        self.body += data

    async def client_disconnect(self) -> None:
        self.is_gone = True


def test_a_reader_that_stops_reading_holds_nothing_of_the_answer_and_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "SEND_SECONDS", 0.05)
    closed: list[bool] = []

    class Told(StreamingHttpResponse):
        def close(self) -> None:
            super().close()
            closed.append(True)

    exchange = Stalled()
    with capture_logs() as lines:
        served(Asked(), exchange, lambda _: Told(iter([b"a", b"b", b"c"])))
    assert (exchange.body, closed, exchange.is_gone) == (b"a", [True], True)
    assert [line["error"] for line in lines] == ["TimeoutError"]


def test_a_broken_connection_is_one_line_of_the_log() -> None:
    class Broken(Stalled):
        async def send_bytes(self, data: bytes) -> None:
            raise ProtocolClosed

    with capture_logs() as lines:
        served(Asked(), Broken(), lambda _: StreamingHttpResponse(iter([b"a"])))
    assert [line["log_level"] for line in lines] == ["info"]
