"""Which requests open a stream, and how the others are answered."""

import json
import time
from contextlib import ExitStack

import pytest

from checkouts.page.limits import STATUS
from checkouts.page.streaming.application import PER_PAGE
from gateway.core.api import rate_limits
from tests.checkouts.factories import make_page_checkout
from tests.checkouts.page.streaming.servers import MOST_STREAMS, OUR_ORIGIN, Reader, StreamServer
from tests.waiting import wait_until

# Their server takes seconds to start: one worker starts it for all of these tests.
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("streams")]


def test_the_answer_asks_proxies_and_caches_to_pass_it_on(streams: StreamServer) -> None:
    with streams.read(make_page_checkout().code) as reader:
        assert reader.status == 200
        assert reader.head["content-type"] == "text/event-stream; charset=utf-8"
        assert reader.head["x-accel-buffering"] == "no"
        assert reader.head["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in reader.head


def test_only_our_own_pages_may_follow_from_another_origin(streams: StreamServer) -> None:
    code = make_page_checkout().code
    with streams.read(code, Origin=OUR_ORIGIN) as ours:
        assert ours.head["access-control-allow-origin"] == OUR_ORIGIN
        assert ours.head["vary"] == "Origin"
    for origin in ("https://evil.example", "null", OUR_ORIGIN + ".evil.example"):
        with streams.read(code, Origin=origin) as theirs:
            assert theirs.status == 403
            assert "access-control-allow-origin" not in theirs.head


@pytest.mark.parametrize("path", ["/", "/healthz", "/api/v1/chains", "/c/{}"])
def test_nothing_but_streams_is_served(path: str, streams: StreamServer) -> None:
    with Reader(streams.port, path.format(make_page_checkout().code)) as reader:
        assert reader.status == 404


def test_streams_are_only_read(streams: StreamServer) -> None:
    with streams.read(make_page_checkout().code, method="POST") as reader:
        assert reader.status == 405


# What the server counts under; a test of one process counts apart (tests/conftest.py).
OF_ALL_PROCESSES = "rate"


@pytest.mark.parametrize("code", ["nnnnnn", "a%00b", "a" * 33, "0OIl"])
def test_an_unknown_code_is_a_404(code: str, streams: StreamServer) -> None:
    with streams.read(code) as reader:
        assert reader.status == 404
        assert reader.head["content-type"] == "application/json"


def test_head_says_what_get_would_and_opens_nothing(streams: StreamServer) -> None:
    code = make_page_checkout().code
    for _ in range(MOST_STREAMS + 1):
        with streams.read(code, method="HEAD") as reader:
            assert reader.status == 200
            assert reader.head["content-type"].startswith("text/event-stream")
    with streams.read("nnnnnn", method="HEAD") as reader:
        assert reader.status == 404
        assert reader.received.endswith(b"\r\n\r\n")


def test_a_page_has_ten_streams_and_another_once_one_is_closed(streams: StreamServer) -> None:
    code = make_page_checkout().code
    with ExitStack() as tabs:
        readers = [let_in(tabs, streams, code) for _ in range(PER_PAGE)]
        with streams.read(code) as refused:
            assert refused.status == 429
            assert refused.head["retry-after"] == "60"
        readers[0].hang_up()
        wait_until(lambda: is_let_in(streams, code))


def is_let_in(server: StreamServer, code: str) -> bool:
    with server.read(code) as reader:
        return reader.status == 200


def let_in(tabs: ExitStack, server: StreamServer, code: str) -> Reader:
    """A page's reader, once there is a place for it."""
    found: list[Reader] = []

    def is_let_in() -> bool:
        found.append(tabs.enter_context(server.read(code)))
        return found[-1].status == 200

    wait_until(is_let_in)
    return found[-1]


def test_a_server_that_is_full_says_so_and_lets_in_again_later(streams: StreamServer) -> None:
    codes = [make_page_checkout().code for _ in range(MOST_STREAMS + 1)]
    with ExitStack() as tabs:
        # Pages of an earlier test may have gone without the server having noticed.
        readers = [let_in(tabs, streams, code) for code in codes[:-1]]
        with streams.read(codes[-1]) as refused:
            assert refused.status == 503
            assert refused.head["retry-after"] == "60"
            body = json.loads(refused.received.partition(b"\r\n\r\n")[2])
            assert body["error"]["type"] == "api_error"
        readers[0].hang_up()
        wait_until(lambda: is_let_in(streams, codes[-1]))


def test_opening_a_stream_counts_as_one_request_for_the_status(
    streams: StreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limits, "NAMESPACE", OF_ALL_PROCESSES)
    code, address = make_page_checkout().code, "192.0.2.7"
    now = time.time()
    # In this minute and the next, for one may begin while we ask.
    for moment in (now, now + 60):
        for _ in range(STATUS.most - 1):
            rate_limits.hit(STATUS, f"{code}:{address}", now=moment)
    with streams.read(code, X_Forwarded_For=address) as reader:
        assert reader.status == 200
    for moment in (now, now + 60):
        rate_limits.hit(STATUS, f"{code}:{address}", now=moment)
    with streams.read(code, X_Forwarded_For=address) as reader:
        assert reader.status == 429
        assert 0 < int(reader.head["retry-after"]) <= 60
    with streams.read(code, X_Forwarded_For="192.0.2.8") as reader:
        assert reader.status == 200
