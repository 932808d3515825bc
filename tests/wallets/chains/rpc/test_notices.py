"""What a node pushes: heard from a real node, and survived from a hostile one."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise

import pytest
from structlog.testing import capture_logs
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from localnet.anvil import Anvil
from tests.waiting import PATIENCE_SECONDS, wait_until
from wallets.chains.evm.family import EvmFamily
from wallets.chains.rpc.client import Call
from wallets.chains.rpc.notices import MOST, Notices

HEADS = EvmFamily.head_subscription
assert HEADS is not None
SECRET = "k3y-of-the-provider"


@contextmanager
def listening(url: str, calls: Sequence[Call] = (HEADS,)) -> Iterator[Notices]:
    """Notices, of new blocks if nothing else is said, that a thread listens for until the end."""
    notices = Notices(url)
    notices.subscribe(calls)
    listener = threading.Thread(target=notices.listen)
    listener.start()
    try:
        yield notices
    finally:
        notices.close()
        listener.join(PATIENCE_SECONDS)
        assert not listener.is_alive()


@contextmanager
def answering(answer: Callable[[ServerConnection], None]) -> Iterator[str]:
    """A server that handles each connection with `answer`; its address, with a key in it."""
    with serve(answer, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        port = server.socket.getsockname()[1]
        yield f"ws://127.0.0.1:{port}/v2/{SECRET}"
        server.shutdown()
        thread.join(PATIENCE_SECONDS)


def test_a_block_is_noticed_as_it_comes(base_node: Anvil) -> None:
    with listening(base_node.url.replace("http", "ws")) as notices:

        def a_block_is_noticed() -> bool:
            base_node.mine()
            return notices.wait(1)

        wait_until(a_block_is_noticed)


def test_without_blocks_there_is_no_notice(base_node: Anvil) -> None:
    with listening(base_node.url.replace("http", "ws")) as notices:
        assert not notices.wait(1)


def _refuse(socket: ServerConnection) -> None:
    socket.recv()
    socket.send('{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}')


def _talk_nonsense(socket: ServerConnection) -> None:
    socket.send("<html>")


def _hang_up(socket: ServerConnection) -> None:
    socket.close()


@pytest.mark.parametrize("answer", [_refuse, _talk_nonsense, _hang_up])
def test_a_node_that_pushes_nothing_is_asked_again_and_its_key_stays_secret(
    answer: Callable[[ServerConnection], None],
) -> None:
    connections = []

    def count_and_answer(socket: ServerConnection) -> None:
        connections.append(socket)
        answer(socket)

    with capture_logs() as logs, answering(count_and_answer) as url, listening(url) as notices:
        wait_until(lambda: len(connections) > 1)
        assert not notices.wait(0)
    assert {entry["event"] for entry in logs} == {"node pushes no notices"}
    assert SECRET not in str(logs)


def test_a_flood_of_notices_is_one_notice() -> None:
    sent = threading.Event()

    def flood(socket: ServerConnection) -> None:
        socket.recv()
        socket.send('{"jsonrpc":"2.0","id":1,"result":"0x1"}')
        for _ in range(10):
            socket.send('{"method":"eth_subscription"}')
        sent.set()
        with pytest.raises(ConnectionClosed):
            socket.recv()

    with answering(flood) as url, listening(url) as notices:
        assert sent.wait(PATIENCE_SECONDS)
        assert notices.wait(PATIENCE_SECONDS)
        # The last of them may be read after the first wait.
        wait_until(lambda: not notices.wait(0.1))


class Noted(threading.Event):
    """An event that remembers when it was set."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def set(self) -> None:
        self.times.append(time.monotonic())
        super().set()


def test_a_flood_of_notices_is_read_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    noticed, enough = Noted(), threading.Event()

    def flood(socket: ServerConnection) -> None:
        socket.recv()
        for _ in range(100):
            socket.send('{"method":"eth_subscription"}')
        enough.wait(PATIENCE_SECONDS)

    with answering(flood) as url, listening(url, calls=()) as notices:
        monkeypatch.setattr(notices, "_noticed", noticed)
        notices.subscribe([HEADS])
        wait_until(lambda: len(noticed.times) > 5)
        enough.set()
    pauses = [later - earlier for earlier, later in pairwise(noticed.times[:6])]
    assert min(pauses) >= 0.05


class Subscribed:
    """A node that answers subscriptions: the calls of each connection, in turn."""

    def __init__(self) -> None:
        self.connections: list[list[str]] = []

    def __call__(self, socket: ServerConnection) -> None:
        calls: list[str] = []
        self.connections.append(calls)
        with suppress(ConnectionClosed):
            while True:
                calls.append(json.loads(socket.recv())["params"][0])
                socket.send('{"jsonrpc":"2.0","id":1,"result":7}')

    def made(self) -> list[list[str]]:
        """The calls of each connection, sorted."""
        return [sorted(calls) for calls in self.connections]


def test_a_new_subscription_is_made_on_the_same_connection_and_each_only_once() -> None:
    node = Subscribed()
    with answering(node) as url, listening(url, [("follow", ["a"])]) as notices:
        wait_until(lambda: node.made() == [["a"]])
        notices.subscribe([("follow", ["b"]), ("follow", ["a"])])
        wait_until(lambda: node.made() == [["a", "b"]])
        notices.subscribe([("follow", ["c"])])
        wait_until(lambda: node.made() == [["a", "b", "c"]])
        assert not notices.wait(0)


def test_without_subscriptions_there_is_no_connection() -> None:
    node = Subscribed()
    with answering(node) as url, listening(url, []) as notices:
        assert not notices.wait(1.5)
        assert node.connections == []
        notices.subscribe([("follow", ["a"])])
        wait_until(lambda: node.made() == [["a"]])


def test_there_are_never_too_many_subscriptions() -> None:
    node = Subscribed()

    def many(letter: str) -> list[Call]:
        return [("follow", [f"{letter}{number}"]) for number in range(2 * MOST)]

    with answering(node) as url, listening(url, many("a")) as notices:
        wait_until(lambda: len(node.connections[0:]) > 0)
        wait_until(lambda: len(node.connections[0]) == MOST)
        # In another order they are the same.
        notices.subscribe(reversed(many("a")))
        assert not notices.wait(1.5)
        assert len(node.connections[0]) == MOST
        notices.subscribe(many("b"))
        wait_until(lambda: len(node.connections[0]) == 2 * MOST)
        # What is no longer wanted ends with the connection.
        notices.subscribe(many("c"))
        wait_until(lambda: len(node.connections) == 2)
        wait_until(lambda: len(node.connections[1]) == MOST)
        assert {call[0] for call in node.connections[1]} == {"c"}


def test_a_node_that_takes_few_subscriptions_is_kept_and_told_of_once() -> None:
    connections: list[int] = []

    def take_two(socket: ServerConnection) -> None:
        connections.append(0)
        for _ in range(2):
            socket.recv()
            socket.send('{"jsonrpc":"2.0","id":1,"result":7}')
        for _ in range(3):
            socket.recv()
            socket.send('{"jsonrpc":"2.0","id":1,"error":{"code":-32005}}')
        socket.send('{"method":"logsNotification"}')
        with suppress(ConnectionClosed):
            socket.recv()

    calls: list[Call] = [("follow", [str(number)]) for number in range(5)]
    with capture_logs() as logs, answering(take_two) as url, listening(url, calls) as notices:
        assert notices.wait(PATIENCE_SECONDS)
        assert len(connections) == 1
    assert [entry["event"] for entry in logs] == ["node takes no more subscriptions"]
    assert SECRET not in str(logs)


def test_a_node_that_accepts_and_hangs_up_is_asked_ever_less_often() -> None:
    def accept_and_hang_up(socket: ServerConnection) -> None:
        socket.recv()
        socket.send('{"jsonrpc":"2.0","id":1,"result":7}')
        socket.close()

    with answering(accept_and_hang_up) as url, listening(url) as notices:
        wait_until(lambda: notices._failures > 1)


def test_endless_empty_fragments_end_the_connection() -> None:
    opened, ended = threading.Event(), threading.Event()

    def send_fragments(socket: ServerConnection) -> None:
        socket.recv()
        opened.set()
        try:
            # The beginning of a text, and then what adds nothing to it.
            socket.socket.sendall(b"\x01\x00")
            while True:
                socket.socket.sendall(b"\x00\x00" * 1_000)
        except OSError:
            ended.set()

    with answering(send_fragments) as url, listening(url) as notices:
        assert opened.wait(PATIENCE_SECONDS)
        assert ended.wait(PATIENCE_SECONDS)
        assert not notices.wait(0)


def test_closing_ends_a_wait_at_once() -> None:
    notices = Notices("ws://127.0.0.1:9")
    notices.close()
    assert notices.wait(PATIENCE_SECONDS)
    assert notices.wait(PATIENCE_SECONDS)
