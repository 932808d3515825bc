"""Real web processes on the test database, spoken to over HTTP."""

import http.client
import json
import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpResponse

from gateway.processes.stack import port_is_free, web_arguments
from tests.contract.client import NEW_SETTINGS, Answer, check, some_address
from tests.database import own_database
from tests.tree import ROOT
from tests.waiting import PATIENCE_SECONDS, wait_until

HOST = "127.0.0.1"
THREADS = 4
# As `tests.contract.test_new_settings.set_all` does within a test's own process.
_NEW = {
    "PRICE_CURRENCIES": "EUR,JPY",
    "RATE_SOURCES": "kraken,coinbase,bitstamp",
    "RATE_AGREEMENT": "0.05",
    "RATE_MOST_AGE_SECONDS": "600",
    "RATE_SINGLE_SOURCE": "true",
    "RATE_HOLD_SECONDS": "300",
    "RATE_URL_HEADER": "X-Key: of-the-treasury",
    "DEPEG_GUARD": "true",
    "CHAIN_BASE_TOKENS": "USDC,EURC",
}
_given: set[int] = set()


@dataclass(frozen=True)
class Server:
    """One web process with one worker."""

    port: int

    def send(
        self,
        method: str,
        path: str,
        body: bytes | Iterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request over a connection of its own, and check the answer like any other.

        Each comes from an address of its own, unless `headers` names one: what other tests asked for does not count.
        """
        sent = {"X-Forwarded-For": some_address()} | dict(headers or {})
        peer = http.client.HTTPConnection(HOST, self.port, timeout=PATIENCE_SECONDS)
        try:
            peer.request(method, "/api/v1" + path, body, sent)
            got = peer.getresponse()
            content = got.read()
        finally:
            peer.close()
        return check(HttpResponse(content, status=got.status, headers=dict(got.getheaders())))

    def say(self, text: bytes, *, is_all: bool = True) -> bytes:
        """Send bytes that need not be HTTP; return what comes back until the server hangs up.

        The server drops requests of a client that says that this is all. Else they need `Connection: close`.
        """
        with socket.create_connection((HOST, self.port), timeout=PATIENCE_SECONDS) as peer:
            peer.sendall(text)
            if is_all:
                peer.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: peer.recv(65536), b""))

    def begin(self, path: str, key: str | None, body: Any) -> socket.socket:
        """Post, and read no answer; return the connection."""
        content = json.dumps(body).encode()
        head = [
            f"POST /api/v1{path} HTTP/1.1",
            f"Host: {HOST}",
            f"Authorization: Bearer {key}",
            f"X-Forwarded-For: {some_address()}",
            "Content-Type: application/json",
            f"Content-Length: {len(content)}",
        ]
        peer = socket.create_connection((HOST, self.port), timeout=PATIENCE_SECONDS)
        peer.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + content)
        return peer

    def answers(self, *, within: float = 5.0) -> bool:
        """Whether it serves yet: it answers within so many seconds."""
        with suppress(OSError):
            peer = http.client.HTTPConnection(HOST, self.port, timeout=within)
            try:
                peer.request("GET", "/healthz")
                return peer.getresponse().status == 200
            finally:
                peer.close()
        return False


@contextmanager
def running_servers(count: int, folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[list[Server]]:
    """Run web processes until the block ends, with these settings too."""
    with ExitStack() as stack:
        servers = [stack.enter_context(_process(folder / f"web-{n}.log", environment or {})) for n in range(count)]
        for server in servers:
            wait_until(server.answers)
        yield servers


@contextmanager
def _process(log_file: Path, environment: Mapping[str, str]) -> Iterator[Server]:
    server = Server(free_port())
    with log_file.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, *web_arguments(server.port, workers=1)],
            cwd=ROOT,
            env=os.environ | own_environment() | dict(environment),
            stdout=log,
            stderr=log,
        )
    try:
        yield server
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_SECONDS)


def own_environment() -> dict[str, str]:
    """This test's database and counters, and the new settings where tests have them on."""
    return {
        **(_NEW if NEW_SETTINGS in os.environ else {}),
        "WEB_THREADS": str(THREADS),
        **own_database(),
        "FLORIN_KEY_PREFIX": settings.KEY_PREFIX,
        "FLORIN_ENV": "development",
        "TRUSTED_PROXIES": HOST,
    }


def free_port() -> int:
    """A free port below those the system hands out, and none that this process was given before."""
    candidates = (random.randrange(20_000, 30_000) for _ in range(1_000))
    port = next(p for p in candidates if p not in _given and port_is_free(p))
    _given.add(port)
    return port
