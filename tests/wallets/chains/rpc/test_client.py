"""One node: whatever it answers, we get the truth or an error of a known kind, soon, and no key of ours leaks."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import pytest

from demo.localnet.anvil import Anvil
from tests.nodes import proxy as faults
from tests.nodes.proxy import Answer, RpcProxy
from wallets.chains.base import (
    ChainError,
    ChainUnavailableError,
    MalformedAnswerError,
    RangeTooLargeError,
)
from wallets.chains.rpc.batches import ask_all
from wallets.chains.rpc.client import (
    MOST_IN_BATCH,
    BatchRefusedError,
    Node,
    RefusedError,
)

BATCH: list[tuple[str, list[Any]]] = [
    ("eth_chainId", []),
    ("eth_blockNumber", []),
    ("eth_getBlockByNumber", ["0x0", False]),
]

WRONG_ANSWERS: dict[str, tuple[faults.Fault, type[ChainError]]] = {
    "drops": (faults.drops, ChainUnavailableError),
    "answers half": (faults.answers_half, ChainUnavailableError),
    "limits rate": (faults.limits_rate, ChainUnavailableError),
    "html": (faults.garbage(), MalformedAnswerError),
    "nothing": (faults.garbage(b""), MalformedAnswerError),
    "null": (faults.garbage(b"null"), MalformedAnswerError),
    "list": (faults.garbage(b"[]"), MalformedAnswerError),
    "string": (faults.garbage(b'"0x1"'), MalformedAnswerError),
    "no result": (faults.garbage(b'{"id":1}'), MalformedAnswerError),
    "error is a string": (
        faults.garbage(b'{"id":1,"error":"no"}'),
        MalformedAnswerError,
    ),
    "another id": (faults.garbage(b'{"id":7,"result":"0x1"}'), MalformedAnswerError),
    "no id": (faults.garbage(b'{"id":null,"result":"0x1"}'), MalformedAnswerError),
    "deep nesting": (faults.garbage(b"[" * 100_000), MalformedAnswerError),
    "not utf-8": (faults.garbage(b"\xff\xfe{}"), MalformedAnswerError),
    "502": (faults.garbage(status=502), ChainUnavailableError),
    "403": (faults.garbage(status=403), ChainUnavailableError),
    "301": (faults.garbage(status=301), ChainUnavailableError),
    "17 MB": (faults.garbage(b"x" * (17 * 1024 * 1024)), RangeTooLargeError),
    "unknown block": (
        faults.refuses(-32000, "header not found"),
        ChainUnavailableError,
    ),
}


@pytest.fixture
def proxy(base_node: Anvil) -> Iterator[RpcProxy]:
    with RpcProxy(base_node.url) as proxy:
        yield proxy


@pytest.fixture
def node(proxy: RpcProxy) -> Iterator[Node]:
    node = Node(proxy.url)
    yield node
    node.close()


@contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that lets `answer` have its first connection, once a request has come."""

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            request = b""
            # Head and body may come apart; hanging up on what was not read would reset the connection.
            while not request.endswith(b"}") and (piece := connection.recv(65_536)):
                request += piece
            answer(connection)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join()


@contextmanager
def dripping(beginning: bytes) -> Iterator[str]:
    """A server whose answer begins so and goes on byte by byte until the test is over."""
    over = threading.Event()

    def drip(connection: socket.socket) -> None:
        with suppress(OSError):
            connection.sendall(beginning)
            while not over.wait(0.02):
                connection.sendall(b"a")

    with serving(drip) as url:
        yield url
        over.set()


def answering(answer: bytes) -> AbstractContextManager[str]:
    """A server that sends these bytes and hangs up."""
    return serving(lambda connection: connection.sendall(answer))


def test_an_honest_node_is_understood(node: Node) -> None:
    assert node.call("eth_chainId", []) == hex(8453)
    chain_id, height, block = node.batch(BATCH)
    assert (chain_id, block["number"]) == (hex(8453), "0x0")
    assert int(height, 16) > 0


def test_one_connection_serves_many_questions(proxy: RpcProxy, node: Node) -> None:
    for _ in range(5):
        node.call("eth_chainId", [])
    [pool] = [node._http.pools.get(key) for key in node._http.pools.keys()]  # noqa: SIM118
    assert pool is not None
    assert (pool.num_connections, pool.num_requests) == (1, 5)


@pytest.mark.parametrize(("fault", "error"), WRONG_ANSWERS.values(), ids=WRONG_ANSWERS)
def test_every_wrong_answer_is_an_error_of_a_known_kind(
    proxy: RpcProxy, node: Node, fault: faults.Fault, error: type[ChainError]
) -> None:
    proxy.fault = fault
    with pytest.raises(error):
        node.call("eth_chainId", [])
    proxy.fault = faults.honest
    assert node.call("eth_chainId", []) == hex(8453)


@pytest.mark.parametrize(
    "fault",
    [
        faults.answers_half_of_a_batch,
        faults.garbage(b"[]"),
        faults.garbage(
            b'[{"id":0,"result":1},{"id":0,"result":1},{"id":0,"result":1}]'
        ),
        faults.garbage(b"[1,2,3]"),
    ],
    ids=["half", "empty", "one id thrice", "numbers"],
)
def test_a_batch_that_is_not_answered_whole_is_no_answer(
    proxy: RpcProxy, node: Node, fault: faults.Fault
) -> None:
    proxy.fault = fault
    with pytest.raises(MalformedAnswerError):
        node.batch(BATCH)


def test_a_batch_is_put_in_order_by_its_ids(proxy: RpcProxy, node: Node) -> None:
    proxy.fault = lambda proxy, request, ask: Answer(
        json.dumps(ask(request)[::-1]).encode()
    )
    assert node.batch(BATCH)[0] == hex(8453)


@pytest.mark.parametrize(
    "message",
    [
        "query returned more than 10000 results",
        "exceed maximum block range: 50000",
        "eth_getLogs is limited to a 5 range",
        "Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range.",
        "ranges over 10000 blocks are not supported on freetier",
        "Log response size exceeded.",
        "exceed max block range: 5000",
    ],
)
def test_every_providers_word_for_too_much_is_understood(
    proxy: RpcProxy, node: Node, message: str
) -> None:
    proxy.fault = faults.refuses(-32005, message)
    with pytest.raises(RangeTooLargeError):
        node.call("eth_getLogs", [{}])
    with pytest.raises(ChainUnavailableError):
        node.call("eth_call", [{}])


def test_a_node_that_takes_no_batches_says_so_in_one_error(
    proxy: RpcProxy, node: Node
) -> None:
    refusal = {"code": -32000, "message": "batch of more than 3 requests not allowed"}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": refusal}).encode()
    proxy.fault = faults.garbage(body, status=400)
    with pytest.raises(RangeTooLargeError):
        node.batch(BATCH)


def test_a_rate_limit_says_how_long_to_wait(proxy: RpcProxy, node: Node) -> None:
    proxy.fault = faults.limits_rate
    with pytest.raises(ChainUnavailableError) as caught:
        node.call("eth_chainId", [])
    assert caught.value.retry_after == 7


def test_a_node_that_hangs_costs_its_time_and_no_more(
    proxy: RpcProxy, node: Node
) -> None:
    proxy.fault = faults.hangs
    started = time.monotonic()
    with pytest.raises(ChainUnavailableError):
        node.call("eth_chainId", [], seconds=0.2)
    assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    "beginning",
    [
        b"HTTP/1.1 200 OK\r\nX-Slow: ",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n",
    ],
    ids=["headers", "chunk size", "body"],
)
def test_a_node_that_answers_byte_by_byte_costs_its_time_and_no_more(
    beginning: bytes,
) -> None:
    with dripping(beginning) as url:
        node = Node(url)
        started = time.monotonic()
        with pytest.raises(ChainUnavailableError, match="ReadTimeoutError"):
            node.call("eth_chainId", [], seconds=0.3)
        assert time.monotonic() - started < 2
        node.close()


def test_an_answer_that_ends_its_connection_is_read_whole() -> None:
    body = b'{"id":1,"result":"0x1"}'
    head = b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n"
    with answering(head + body) as url:
        node = Node(url)
        assert node.call("eth_chainId", []) == "0x1"
        node.close()


def test_a_redirect_is_not_followed(proxy: RpcProxy, node: Node) -> None:
    proxy.fault = lambda proxy, request, ask: Answer(
        b"", status=307, headers={"Location": proxy.url}
    )
    with pytest.raises(ChainUnavailableError):
        node.call("eth_chainId", [])
    assert proxy.requests == 1


def test_keys_in_an_address_are_in_no_error(proxy: RpcProxy) -> None:
    secrets = ("user-name-1", "pass-word-2", "path-key-3", "query-key-4")
    host = proxy.url.removeprefix("http://")
    url = f"http://{secrets[0]}:{secrets[1]}@{host}/v2/{secrets[2]}?apikey={secrets[3]}"
    proxy.fault = faults.refuses(
        -32000, f"project {' '.join(secrets)} at {url} is over"
    )
    node = Node(url)
    with pytest.raises(ChainError) as refused:
        node.call("eth_chainId", [])
    proxy.fault = faults.drops
    with pytest.raises(ChainError) as dropped:
        node.call("eth_chainId", [])
    node.close()
    told = f"{refused.value!r} {dropped.value!r} {node.label}"
    assert "project" in told
    assert not [secret for secret in secrets if secret in told]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}', 200),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}', 400),
        (b'{"id":1,"result":"0x1"}', 200),
        (b'"invalid request"', 200),
        (b"Bad Request", 400),
        (b"Request Entity Too Large", 413),
        (b"", 500),
    ],
    ids=["error", "400 error", "one answer", "text", "400", "413", "500"],
)
def test_a_batch_is_asked_in_smaller_ones_whatever_way_it_is_refused(
    proxy: RpcProxy, node: Node, body: bytes, status: int
) -> None:
    def alone(proxy: RpcProxy, request: Any, ask: faults.Ask) -> Answer:
        if isinstance(request, list):
            return Answer(body, status=status)
        return faults.honest(proxy, request, ask)

    proxy.fault = alone
    with pytest.raises(BatchRefusedError):
        node.batch(BATCH)
    chain_id, *_ = ask_all(node, BATCH)
    assert chain_id == hex(8453)
    assert node.most_in_batch == 1


def test_the_size_of_batch_that_a_node_takes_is_remembered(
    proxy: RpcProxy, node: Node
) -> None:
    def few(proxy: RpcProxy, request: Any, ask: faults.Ask) -> Answer:
        if isinstance(request, list) and len(request) > 10:
            return Answer(b"too many", status=413)
        return faults.honest(proxy, request, ask)

    proxy.fault = few
    calls: list[tuple[str, list[Any]]] = [("eth_chainId", [])] * 50
    assert len(ask_all(node, calls)) == 50
    before = proxy.requests
    assert ask_all(node, calls) == [hex(8453)] * 50
    assert node.most_in_batch == 7
    assert proxy.requests - before == 8


def test_a_node_that_fails_altogether_is_not_remembered_as_one_without_batches(
    proxy: RpcProxy, node: Node
) -> None:
    proxy.fault = faults.garbage(b"", status=500)
    with pytest.raises(ChainUnavailableError):
        ask_all(node, BATCH)
    assert node.most_in_batch == MOST_IN_BATCH


def test_a_batch_is_not_smaller_for_a_range_that_was_too_large(
    proxy: RpcProxy, node: Node
) -> None:
    proxy.fault = faults.refuses(-32005, "block range too large", method="eth_getLogs")
    with pytest.raises(RangeTooLargeError):
        ask_all(node, [("eth_chainId", []), ("eth_getLogs", [{}])])
    assert node.most_in_batch == MOST_IN_BATCH


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [
        (faults.garbage(b'{"Error":"x : lack of computing resources"}'), 2),
        (faults.garbage(b'{"Error":"server is suspended for 12s"}', status=403), 12),
        (faults.garbage(b'{"Error":"suspended for 12 s"}', status=429), 12),
        (faults.garbage(b"Forbidden", status=403), 30),
        (faults.garbage(b'{"Error":"class x.y : contract missing"}'), None),
    ],
    ids=["busy", "ban", "429", "403", "another error"],
)
def test_every_way_to_ask_us_to_wait_is_understood(
    proxy: RpcProxy, node: Node, fault: faults.Fault, seconds: float | None
) -> None:
    proxy.fault = fault
    with pytest.raises(ChainUnavailableError) as caught:
        node.batch(BATCH)
    assert caught.value.retry_after == seconds


def test_only_a_refusal_of_the_question_is_told_as_one(
    proxy: RpcProxy, node: Node
) -> None:
    proxy.fault = faults.refuses(-32602, "TAG safe not supported")
    with pytest.raises(RefusedError):
        node.call("eth_chainId", [])
    proxy.fault = faults.refuses(-32005, "daily request count exceeded")
    with pytest.raises(ChainUnavailableError) as caught:
        node.call("eth_chainId", [])
    assert not isinstance(caught.value, RefusedError)


def test_a_key_in_a_header_is_in_no_error(proxy: RpcProxy) -> None:
    proxy.fault = faults.refuses(-32000, "the key header-key-5 is unknown")
    node = Node(proxy.url, headers={"Authorization": "Bearer header-key-5"})
    with pytest.raises(ChainError) as caught:
        node.call("eth_chainId", [])
    node.close()
    assert "the key [redacted] is unknown" in str(caught.value)
