"""Clients that begin requests and do not finish them hold no thread, whatever stands or does not stand in front of the server."""

import json
import os
import resource
import secrets
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from accounts.states import Mode
from gateway.core.open_files import allow_most_files
from tests.contract.client import some_address
from tests.contract.servers import HOST, Server, free_port, own_environment, running_servers
from tests.factories import make_key, make_merchant
from tests.tree import ROOT
from tests.waiting import PATIENCE_SECONDS, comes_true, wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.django_db(transaction=True)]
SOCKETS = 500
ANNOUNCED = 2_600
HEALTH_SECONDS = 1.0
ORDER = b'{"amount":"25","currency":"USD"}'
UNFINISHED = (
    b"POST /c/abc/choose HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n",
    b"POST /c/abc/choose HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nchain=",
    b"POST /api/v1/checkouts HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
    b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    b"",
)


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A web process with four threads, started as `manage.py up` starts it."""
    with running_servers(1, tmp_path_factory.mktemp("web")) as (server,):
        yield server


@contextmanager
def unfinished(server: Server, requests: list[bytes], *, source: str = HOST) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        peers = []
        for request in requests:
            peer = stack.enter_context(socket.create_connection((HOST, server.port), source_address=(source, 0)))
            peer.sendall(request)
            peers.append(peer)
        yield peers


def health_seconds(server: Server) -> float:
    began = time.perf_counter()
    assert server.answers()
    return time.perf_counter() - began


def test_five_hundred_unfinished_requests_keep_nobody_waiting(server: Server) -> None:
    _, secret = make_key(make_merchant(), Mode.TEST)
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    requests = [UNFINISHED[number % len(UNFINISHED)] for number in range(SOCKETS)]
    with unfinished(server, requests):
        times = [health_seconds(server) for _ in range(100)]
        created = [server.send("POST", "/checkouts", ORDER, headers).status for _ in range(20)]
        assert created == [201] * 20
        times += [health_seconds(server) for _ in range(100)]
    assert statistics.quantiles(times, n=20)[-1] < HEALTH_SECONDS


@pytest.fixture
def many_files() -> Iterator[None]:
    """This process may open thousands of sockets."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    allow_most_files()
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.parametrize(("length", "sent"), [(100, 0), (8_192, 64), (262_144, 0)])
def test_bodies_that_one_address_announces_refuse_nobody_else(
    server: Server, many_files: None, length: int, sent: int
) -> None:
    _, secret = make_key(make_merchant(), Mode.TEST)
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    request = b"POST /api/v1/checkouts HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % length
    with unfinished(server, [request + b" " * sent] * ANNOUNCED, source="127.0.0.2"):
        created = [server.send("POST", "/checkouts", ORDER, headers).status for _ in range(21)]
        assert created == [201] * 21


def test_django_in_the_servers_own_threads_is_stopped_by_as_many_sockets_as_threads(tmp_path: Path) -> None:
    """The control: bodies read by the threads that answer."""
    server = Server(free_port())
    granian = (sys.executable, "-m", "granian", "--interface", "wsgi")
    where = ("--host", HOST, "--port", str(server.port), "--blocking-threads", "4")
    # Its threads are held, so that it does not end by itself.
    end = ("--workers-kill-timeout", "1")
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [*granian, *where, *end, "tests.faults.reading_wsgi:application"],
            cwd=ROOT,
            env=os.environ | own_environment() | {"DJANGO_SETTINGS_MODULE": "gateway.settings"},
            stdout=log,
            stderr=log,
        )
        try:
            wait_until(server.answers)
            with unfinished(server, [UNFINISHED[0]] * 8):
                wait_until(lambda: not server.answers(within=1))
                assert not comes_true(lambda: server.answers(within=1), seconds=3)
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE_SECONDS)


def test_a_body_that_does_not_come_is_refused_and_its_connection_closed(server: Server) -> None:
    request = b"POST /api/v1/checkouts HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nX-Forwarded-For: %s\r\n\r\n{"
    began = time.monotonic()
    with unfinished(server, [request % some_address().encode()]) as (peer,):
        peer.settimeout(30)
        told = read_all(peer)
        assert 9 < time.monotonic() - began < 25
    assert told.startswith(b"HTTP/1.1 408 ")
    assert json.loads(told.partition(b"\r\n\r\n")[2])["error"]["code"] == "body_late"
    assert b"x-ratelimit-remaining" in told.lower()


def some_network() -> list[str]:
    """Forty addresses of one IPv6 /64."""
    network = f"2001:db8:{secrets.randbits(16):x}:{secrets.randbits(16):x}"
    return [f"{network}::{number:x}" for number in range(1, 41)]


@pytest.mark.parametrize("addresses", [lambda: [some_address()] * 40, some_network])
def test_one_client_is_waited_for_only_so_often(server: Server, addresses: Callable[[], list[str]]) -> None:
    request = b"POST /c/abc/choose HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nX-Forwarded-For: %s\r\n\r\n"
    requests = [request % address.encode() for address in addresses()]
    # They are counted by the minute.
    wait_until(lambda: time.time() % 60 < 45)
    with unfinished(server, requests) as peers:
        for peer in peers:
            peer.settimeout(30)
        statuses = [read_all(peer).split(b" ", 2)[1] for peer in peers]
    assert sorted(statuses) == [b"408"] * 30 + [b"429"] * 10


@pytest.mark.parametrize("method", [b"GET", b"HEAD"])
@pytest.mark.parametrize("body", [b"Content-Length: 3\r\n\r\nabc", b"Transfer-Encoding: chunked\r\n\r\n"])
def test_a_body_where_none_belongs_is_refused_at_once(server: Server, method: bytes, body: bytes) -> None:
    with unfinished(server, [method + b" /healthz HTTP/1.1\r\nHost: x\r\n" + body]) as (peer,):
        peer.settimeout(5)
        assert peer.recv(100).startswith(b"HTTP/1.1 400 ")


def test_headers_that_do_not_end_hold_little_and_long_ones_are_refused(server: Server) -> None:
    endless = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: " + b"a" * 65_536
    with unfinished(server, [endless]) as (peer,):
        peer.settimeout(5)
        assert peer.recv(100).startswith(b"HTTP/1.1 431 ")
    assert server.say(
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-A: " + b"a" * 16_384 + b"\r\n\r\n", is_all=False
    ).startswith(b"HTTP/1.1 200 ")


def test_a_header_with_an_underscore_does_not_speak_for_the_client(server: Server) -> None:
    """The server is believed to stand behind a proxy, which replaces X-Forwarded-For and knows nothing of the other."""
    first, second = limits_left(server, "X-Forwarded-For")
    assert second == first
    first, second = limits_left(server, "X_Forwarded_For")
    assert second == first - 1


def limits_left(server: Server, header: str) -> tuple[int, int]:
    """What two requests of one client in one window are told is left, which name two addresses in a header."""
    while True:
        client = some_address()
        first, second = (
            server.send("GET", "/chains", headers={"X-Forwarded-For": client, header: some_address()}).headers
            for _ in range(2)
        )
        if first["X-RateLimit-Reset"] == second["X-RateLimit-Reset"]:
            name = "X-RateLimit-Remaining"
            return int(first[name]), int(second[name])


def read_all(peer: socket.socket) -> bytes:
    return b"".join(iter(lambda: peer.recv(65536), b""))
