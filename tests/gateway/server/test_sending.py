"""Answers that nobody reads, from a real server: they hold little, and not for long."""

import asyncio
import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway import asgi
from gateway.processes.stack import HOST, web_arguments
from gateway.server import sending
from tests.contract.servers import free_port, own_environment
from tests.gateway.server.answering import MOST_OF_ALL, PIECES, WHOLE
from tests.tree import ROOT
from tests.waiting import PATIENCE_SECONDS, wait_until

STREAMED = PIECES * sending.PIECE_BYTES
APPLICATION = "tests.gateway.server.answering:application"

pytestmark = pytest.mark.skipif(not sending._IS_LINUX, reason="only Linux tells what a client has taken")


@dataclass
class Told:
    """What the server knows: pieces made, long answers begun and closed, and connections besides the one that asks."""

    pieces: int
    begun: int
    closed: int
    connections: int


@dataclass
class Answering:
    port: int
    log: Path

    def told(self) -> Told:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", "/told")
            pieces, begun, closed, clients = map(int, connection.getresponse().read().split())
        finally:
            connection.close()
        return Told(pieces, begun, closed, clients - 1)

    def asked(self, path: str) -> socket.socket:
        """A connection on which an answer was asked for. Its system takes as little as it may."""
        peer = socket.socket()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.settimeout(30)
        peer.connect((HOST, self.port))
        peer.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        return peer


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answering]:
    """A server that waits three seconds for clients that take nothing."""
    answering = Answering(free_port(), tmp_path_factory.mktemp("answering") / "log")
    with answering.log.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, *web_arguments(answering.port, workers=1, application=APPLICATION)],
            cwd=ROOT,
            env=os.environ | own_environment() | {"DJANGO_SETTINGS_MODULE": "gateway.settings"},
            stdout=log,
            stderr=log,
        )

    def serves() -> bool:
        with suppress(OSError):
            return answering.told().connections == 0
        return False

    try:
        wait_until(serves)
        yield answering
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_SECONDS)


@pytest.fixture
def server(started: Answering) -> Answering:
    """That server, at rest: it looks for a moment longer whether answers of earlier tests are taken."""

    def rests() -> bool:
        told = started.told()
        return told.begun == told.closed and told.connections == 0

    wait_until(rests)
    return started


def all_of(peer: socket.socket) -> bytes:
    """All that still comes, until the connection ends one way or the other."""
    received = b""
    with suppress(ConnectionError):
        while piece := peer.recv(65_536):
            received += piece
    return received


@pytest.mark.parametrize(("path", "length"), [("/whole", WHOLE), ("/streamed", STREAMED)])
def test_a_connection_on_which_nobody_reads_is_closed_at_the_deadline(
    server: Answering, path: str, length: int
) -> None:
    with server.asked(path) as peer:
        wait_until(lambda: server.told().connections == 1)
        wait_until(lambda: server.told().connections == 0)
        assert len(all_of(peer)) < length


def test_answers_that_nobody_reads_are_made_no_further_and_closed(server: Answering) -> None:
    before = server.told()
    with ExitStack() as stack:
        for _ in range(30):
            stack.enter_context(server.asked("/streamed"))
        wait_until(lambda: server.told().closed == before.closed + 30)
        made = (server.told().pieces - before.pieces) * sending.PIECE_BYTES
        # What all may have on their way, one piece each beyond that, and what their systems took.
        assert made <= MOST_OF_ALL + 30 * 4 * sending.PIECE_BYTES
        wait_until(lambda: server.told().connections == 0)
    assert b"an answer's reader is gone" in server.log.read_bytes()


def test_who_reads_slowly_gets_the_whole_answer(server: Answering) -> None:
    with server.asked("/streamed") as peer:
        received = 0
        while received < STREAMED:
            received += len(peer.recv(16_384))
            # A pause between two reads: all of them together are longer than the deadline.
            server.told()


def test_an_answer_that_fails_on_its_way_does_not_look_complete(server: Answering) -> None:
    with server.asked("/broken") as peer:
        assert not all_of(peer).endswith(b"0\r\n\r\n")
    wait_until(lambda: server.told().connections == 0)


def test_the_head_of_a_long_answer_makes_none_of_it_and_keeps_the_connection(server: Answering) -> None:
    before = server.told()
    connection = http.client.HTTPConnection(HOST, server.port, timeout=PATIENCE_SECONDS)
    for _ in range(2):
        connection.request("HEAD", "/streamed")
        assert connection.getresponse().read() == b""
    connection.close()
    after = server.told()
    assert (after.pieces, after.closed) == (before.pieces, before.closed + 2)


def test_connections_from_before_and_after_have_the_deadline_and_those_to_others_do_not() -> None:
    def seconds(own: socket.socket) -> float:
        return own.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) / 1000

    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server((HOST, 0)))
        address = listening.getsockname()
        peers = [stack.enter_context(socket.create_connection(address))]
        accepted = [stack.enter_context(listening.accept()[0])]
        sending.set_deadline.__wrapped__()
        peers.append(stack.enter_context(socket.create_connection(address)))
        accepted.append(stack.enter_context(listening.accept()[0]))
        assert [seconds(own) for own in accepted] == [sending.SEND_SECONDS] * 2
        assert [seconds(peer) for peer in peers] == [0, 0]


def test_the_stream_server_sets_the_deadline_once_it_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def streams(scope: dict[str, str], receive: object, send: object) -> None:
        asked.append(scope["type"])

    monkeypatch.setattr(asgi, "_streams", streams)
    monkeypatch.setattr(asgi, "set_deadline", lambda: asked.append("deadline"))
    for kind in ("lifespan", "http"):
        asyncio.run(asgi.application({"type": kind}, None, None))  # type: ignore[arg-type]
    assert asked == ["lifespan", "deadline", "http"]
