"""A real stream server on the test's database, and readers that speak to it over plain sockets."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from django.conf import settings
from django.db import connection

from gateway.processes.stack import HOST, stream_arguments
from tests.contract.servers import free_port
from tests.database import own_database
from tests.tree import ROOT
from tests.waiting import PATIENCE_SECONDS, wait_until

MOST_STREAMS = 12

OUR_ORIGIN = "http://pages.test"

# Of every server here: no test waits for the second one without saying so.
START_SECONDS = PATIENCE_SECONDS


@dataclass
class Reader:
    """One request, whose answer arrives in a thread. Use it as a context manager; leaving hangs up."""

    port: int
    path: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    received: bytes = b""
    is_ended: bool = False

    def __enter__(self) -> Self:
        self._socket = socket.create_connection((HOST, self.port), timeout=60)
        lines = [f"{self.method} {self.path} HTTP/1.1", f"Host: {HOST}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self._thread = threading.Thread(target=self._take)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()
        self._thread.join()
        self._socket.close()

    def hang_up(self) -> None:
        """End the connection, as a closed tab does."""
        # A server may reset a connection that it closed before it read everything: that is an end, too.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _take(self) -> None:
        with suppress(ConnectionError):
            while chunk := self._socket.recv(65_536):
                self.received += chunk
        self.is_ended = True

    @property
    def status(self) -> int:
        """The answer's status, waited for."""
        wait_until(lambda: b"\r\n\r\n" in self.received)
        return int(self.received[9:12])

    @property
    def head(self) -> dict[str, str]:
        """The answer's headers, waited for, with small letters."""
        wait_until(lambda: b"\r\n\r\n" in self.received)
        lines = self.received.split(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
        return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}

    @property
    def statuses(self) -> list[str]:
        """The statuses told so far, oldest first."""
        parts = self.received.split(b'{"status":"')[1:]
        return [part.split(b'"')[0].decode() for part in parts]

    def await_statuses(self, *wanted: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until exactly these were told."""
        wait_until(lambda: self.statuses == list(wanted), seconds=seconds)


@dataclass(frozen=True)
class StreamServer:
    """One stream server."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path

    def read(self, code: str, *, method: str = "GET", **headers: str) -> Reader:
        """Ask for a page's stream; write header names with underscores."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return Reader(self.port, f"/c/{code}/stream", method, named)

    def kill(self) -> None:
        """End it and its worker as kill -9 does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=PATIENCE_SECONDS)

    def answers(self) -> bool:
        """Whether it serves yet."""
        with socket.socket() as probe:
            return probe.connect_ex((HOST, self.port)) == 0


@contextmanager
def stream_server(folder: Path, **environment: str) -> Iterator[StreamServer]:
    """Run a stream server until the block ends, with `environment` on top of this test's."""
    log = folder / "streams.log"
    port = free_port()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *stream_arguments(port)],
            cwd=ROOT,
            env=os.environ | _environment() | environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    server = StreamServer(port, process, log)
    try:
        wait_until(server.answers, seconds=START_SECONDS)
        yield server
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_SECONDS)


def _environment() -> dict[str, str]:
    return {
        "CHECKOUT_HOST": OUR_ORIGIN,
        **own_database(),
        "FLORIN_ENV": "development",
        "FLORIN_KEY_PREFIX": settings.KEY_PREFIX,
        "MAX_STREAMS": str(MOST_STREAMS),
        "PGAPPNAME": "streams",
        "TRUSTED_PROXIES": HOST,
    }


def is_listening() -> bool:
    """Whether a stream server hears bells."""
    return bool(_sessions("query LIKE 'LISTEN%%'"))


def is_idle() -> bool:
    """Whether no stream server asks the database for anything."""
    return not _sessions("state <> 'idle'")


def _sessions(condition: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'streams' AND datname = current_database()"
            # A pooler may answer this question in a session that the server used before.
            " AND pid <> pg_backend_pid()"
            f" AND {condition}"
        )
        return int(cursor.fetchone()[0])
