"""The front: how requests are put into WSGI's form, and what becomes of bodies and of views that wait."""

import asyncio
import threading
from concurrent.futures import Future
from queue import SimpleQueue

import pytest
from django.http import HttpResponse, StreamingHttpResponse

from gateway.core.web.parked_views import VISIT
from gateway.server import front
from gateway.server.front import Chore, Front
from gateway.server.requests import Environ
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


def test_a_chore_is_done_each_time_it_is_due_beside_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "_CHORE_SECONDS", 0.001)
    # Taken from the end: what is due last empties the list.
    dues = [True, False, True, False]
    done: SimpleQueue[str] = SimpleQueue()

    async def serve() -> list[str]:
        chore = Chore(lambda: bool(dues) and dues.pop(), lambda: done.put(threading.current_thread().name))
        Front(lambda *_: HttpResponse(), threads=2, chore=chore).__rsgi_init__(asyncio.get_running_loop())
        return [await asyncio.to_thread(done.get, timeout=30) for _ in range(2)]

    threads = asyncio.run(serve())
    assert threading.main_thread().name not in threads
    assert (dues, done.empty()) == ([], True)
