"""The proxy of `deploy/cluster` leads each request to the process that answers it."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.contract.servers import free_port
from tests.tree import ROOT
from tests.waiting import wait_until

SHIPPED = ROOT / "deploy" / "cluster" / "haproxy-web.cfg"
HAPROXY = shutil.which("haproxy", path="/usr/sbin:/usr/bin:/usr/local/sbin")


@dataclass
class Server:
    """A server that answers all requests with its name, and remembers their paths and headers."""

    name: str
    port: int = 0
    seen: list[tuple[str, dict[str, str]]] = field(default_factory=list)


@contextmanager
def serving(name: str) -> Iterator[Server]:
    """Run such a server."""
    server = Server(name)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.seen.append(
                (self.path, {k.lower(): v for k, v in self.headers.items()})
            )
            self.send_response(200)
            self.send_header("Content-Length", str(len(name)))
            self.end_headers()
            self.wfile.write(name.encode())

        def log_message(self, *_: object) -> None:
            pass

    peer = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.port = peer.server_address[1]
    Thread(target=peer.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        peer.shutdown()
        peer.server_close()


@dataclass(frozen=True)
class Proxy:
    """The shipped proxy before one web process and one stream server; the second machine does not answer."""

    port: int
    web: Server
    streams: Server

    def ask(self, path: str, **headers: str) -> tuple[int, str]:
        """Return the status of an answer, and who gave it."""
        peer = HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            peer.request("GET", path, headers=headers)
            answer = peer.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""
        finally:
            peer.close()


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """The file as it is shipped, with its names replaced and ports that are free here."""
    if HAPROXY is None:
        pytest.skip("this machine lacks haproxy")
    with ExitStack() as exits:
        web, streams = (exits.enter_context(serving(n)) for n in ("web", "streams"))
        port, nobody = free_port(), free_port()
        text = SHIPPED.read_text()
        for name, value in (
            ("$FRONT", f"127.0.0.1:{port}"),
            ("$WEB1:8000", f"127.0.0.1:{web.port}"),
            ("$WEB1:8010", f"127.0.0.1:{streams.port}"),
            ("$WEB2:8000", f"127.0.0.1:{nobody}"),
            ("$WEB2:8010", f"127.0.0.1:{nobody}"),
        ):
            assert name in text
            text = text.replace(name, value)
        file = tmp_path_factory.mktemp("proxy") / "haproxy.cfg"
        file.write_text(text)
        made = Proxy(port, web, streams)
        exits.enter_context(running(file))
        wait_until(lambda: made.ask("/")[0] == 200)
        yield made


@contextmanager
def running(file: Path) -> Iterator[None]:
    """Run HAProxy with a configuration."""
    process = subprocess.Popen([str(HAPROXY), "-q", "-db", "-f", file])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def test_the_stream_of_a_page_goes_to_the_stream_server_and_the_page_to_web(
    proxy: Proxy,
) -> None:
    assert proxy.ask("/c/abc123/stream") == (200, "streams")
    assert proxy.ask("/c/abc123/stream?x=1") == (200, "streams")
    for path in ("/c/abc123", "/c/abc123/streams", "/x/c/a/stream"):
        assert proxy.ask(path) == (200, "web")


def test_the_metrics_are_not_shown_outside(proxy: Proxy) -> None:
    assert proxy.ask("/metrics")[0] == 404
    assert "/metrics" not in {path for path, _ in proxy.web.seen}


def test_florin_hears_that_tls_ended_before_the_proxy(proxy: Proxy) -> None:
    proxy.ask("/before", **{"X-Forwarded-Proto": "https"})
    told = dict(proxy.web.seen)["/before"]
    assert told["x-forwarded-proto"] == "https"
    assert told["x-forwarded-for"] == "127.0.0.1"
