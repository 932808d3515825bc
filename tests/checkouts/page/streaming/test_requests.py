"""Which requests open a stream, and how the others are answered."""

import pytest

from tests.checkouts.factories import make_page_checkout
from tests.checkouts.page.streaming.servers import OUR_ORIGIN, Reader, StreamServer

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


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
