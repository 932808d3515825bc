"""An answer that does not end in time costs its time and no more."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import pytest

from tests.nodes import proxy as faults
from tests.nodes.proxy import Answer, RpcProxy
from wallets.chains.base import ChainError, ChainUnavailableError, MalformedAnswerError, RangeTooLargeError
from wallets.chains.rpc import client
from wallets.chains.rpc.client import Node, RefusedError


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


def test_a_node_that_hangs_costs_its_time_and_no_more(
    base_proxy: RpcProxy, rpc_node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Or its silence would end the call as soon.
    monkeypatch.setattr(client, "SILENT_SECONDS", 60.0)
    base_proxy.fault = faults.hangs
    started = time.monotonic()
    with pytest.raises(ChainUnavailableError):
        rpc_node.call("eth_chainId", [], seconds=0.2)
    assert time.monotonic() - started < 8


@pytest.mark.parametrize(
    "beginning",
    [
        b"HTTP/1.1 200 OK\r\nX-Slow: ",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n",
    ],
    ids=["headers", "chunk size", "body"],
)
def test_a_node_that_answers_byte_by_byte_costs_its_time_and_no_more(beginning: bytes) -> None:
    with dripping(beginning) as url:
        node = Node(url)
        started = time.monotonic()
        with pytest.raises(ChainUnavailableError, match="ReadTimeoutError"):
            node.call("eth_chainId", [], seconds=0.3)
        assert time.monotonic() - started < 8
        node.close()


def test_an_answer_that_ends_its_connection_is_read_whole() -> None:
    body = b'{"id":1,"result":"0x1"}'
    head = b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n"
    with answering(head + body) as url:
        node = Node(url)
        assert node.call("eth_chainId", []) == "0x1"
        node.close()


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
    "error is a string": (faults.garbage(b'{"id":1,"error":"no"}'), MalformedAnswerError),
    "error's code is a list": (faults.garbage(b'{"id":1,"error":{"code":[],"message":"no"}}'), MalformedAnswerError),
    "another id": (faults.garbage(b'{"id":7,"result":"0x1"}'), MalformedAnswerError),
    "no id": (faults.garbage(b'{"id":null,"result":"0x1"}'), MalformedAnswerError),
    "deep nesting": (faults.garbage(b"[" * 100_000), MalformedAnswerError),
    "not utf-8": (faults.garbage(b"\xff\xfe{}"), MalformedAnswerError),
    "502": (faults.garbage(status=502), ChainUnavailableError),
    "403": (faults.garbage(status=403), ChainUnavailableError),
    "301": (faults.garbage(status=301), ChainUnavailableError),
    "17 MB": (faults.garbage(faults.TOO_LARGE), RangeTooLargeError),
    "unknown block": (faults.refuses(-32000, "header not found"), ChainUnavailableError),
}


def test_an_honest_node_is_understood(rpc_node: Node) -> None:
    assert rpc_node.call("eth_chainId", []) == hex(8453)
    chain_id, height, block = rpc_node.batch(BATCH)
    assert (chain_id, block["number"]) == (hex(8453), "0x0")
    assert int(height, 16) > 0


def test_one_connection_serves_many_questions(base_proxy: RpcProxy, rpc_node: Node) -> None:
    for _ in range(5):
        rpc_node.call("eth_chainId", [])
    [pool] = [rpc_node._http.pools.get(key) for key in rpc_node._http.pools.keys()]  # noqa: SIM118
    assert pool is not None
    assert (pool.num_connections, pool.num_requests) == (1, 5)


@pytest.mark.parametrize(("fault", "error"), WRONG_ANSWERS.values(), ids=WRONG_ANSWERS)
def test_every_wrong_answer_is_an_error_of_a_known_kind(
    base_proxy: RpcProxy, rpc_node: Node, fault: faults.Fault, error: type[ChainError]
) -> None:
    base_proxy.fault = fault
    with pytest.raises(error):
        rpc_node.call("eth_chainId", [])
    base_proxy.fault = faults.honest
    assert rpc_node.call("eth_chainId", []) == hex(8453)


@pytest.mark.parametrize(
    "fault",
    [
        faults.answers_half_of_a_batch,
        faults.garbage(b"[]"),
        faults.garbage(b'[{"id":0,"result":1},{"id":0,"result":1},{"id":0,"result":1}]'),
        faults.garbage(b"[1,2,3]"),
    ],
    ids=["half", "empty", "one id thrice", "numbers"],
)
def test_a_batch_that_is_not_answered_whole_is_no_answer(
    base_proxy: RpcProxy, rpc_node: Node, fault: faults.Fault
) -> None:
    base_proxy.fault = fault
    with pytest.raises(MalformedAnswerError):
        rpc_node.batch(BATCH)


def test_a_batch_is_put_in_order_by_its_ids(base_proxy: RpcProxy, rpc_node: Node) -> None:
    base_proxy.fault = lambda proxy, request, ask: Answer(json.dumps(ask(request)[::-1]).encode())
    assert rpc_node.batch(BATCH)[0] == hex(8453)


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
def test_every_providers_word_for_too_much_is_understood(base_proxy: RpcProxy, rpc_node: Node, message: str) -> None:
    base_proxy.fault = faults.refuses(-32005, message)
    with pytest.raises(RangeTooLargeError):
        rpc_node.call("eth_getLogs", [{}])
    with pytest.raises(ChainUnavailableError):
        rpc_node.call("eth_call", [{}])


def test_a_node_that_takes_no_batches_says_so_in_one_error(base_proxy: RpcProxy, rpc_node: Node) -> None:
    refusal = {"code": -32000, "message": "batch of more than 3 requests not allowed"}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": refusal}).encode()
    base_proxy.fault = faults.garbage(body, status=400)
    with pytest.raises(RangeTooLargeError):
        rpc_node.batch(BATCH)


def test_a_rate_limit_says_how_long_to_wait(base_proxy: RpcProxy, rpc_node: Node) -> None:
    base_proxy.fault = faults.limits_rate
    with pytest.raises(ChainUnavailableError) as caught:
        rpc_node.call("eth_chainId", [])
    assert caught.value.retry_after == 7


def test_a_redirect_is_not_followed(base_proxy: RpcProxy, rpc_node: Node) -> None:
    base_proxy.fault = lambda proxy, request, ask: Answer(b"", status=307, headers={"Location": base_proxy.url})
    with pytest.raises(ChainUnavailableError):
        rpc_node.call("eth_chainId", [])
    assert base_proxy.requests == 1


def test_keys_in_an_address_are_in_no_error(base_proxy: RpcProxy) -> None:
    secrets = ("user-name-1", "pass-word-2", "path-key-3", "query-key-4")
    host = base_proxy.url.removeprefix("http://")
    url = f"http://{secrets[0]}:{secrets[1]}@{host}/v2/{secrets[2]}?apikey={secrets[3]}"
    base_proxy.fault = faults.refuses(-32000, f"project {' '.join(secrets)} at {url} is over")
    node = Node(url)
    with pytest.raises(ChainError) as refused:
        node.call("eth_chainId", [])
    base_proxy.fault = faults.drops
    with pytest.raises(ChainError) as dropped:
        node.call("eth_chainId", [])
    node.close()
    told = f"{refused.value!r} {dropped.value!r} {node.label}"
    assert "project" in told
    assert not [secret for secret in secrets if secret in told]


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
    base_proxy: RpcProxy, rpc_node: Node, fault: faults.Fault, seconds: float | None
) -> None:
    base_proxy.fault = fault
    with pytest.raises(ChainUnavailableError) as caught:
        rpc_node.batch(BATCH)
    assert caught.value.retry_after == seconds


def test_only_a_refusal_of_the_question_is_told_as_one(base_proxy: RpcProxy, rpc_node: Node) -> None:
    base_proxy.fault = faults.refuses(-32602, "TAG safe not supported")
    with pytest.raises(RefusedError):
        rpc_node.call("eth_chainId", [])
    base_proxy.fault = faults.refuses(-32005, "daily request count exceeded")
    with pytest.raises(ChainUnavailableError) as caught:
        rpc_node.call("eth_chainId", [])
    assert not isinstance(caught.value, RefusedError)


def test_a_key_in_a_header_is_in_no_error(base_proxy: RpcProxy) -> None:
    base_proxy.fault = faults.refuses(-32000, "the key header-key-5 is unknown")
    node = Node(base_proxy.url, headers={"Authorization": "Bearer header-key-5"})
    with pytest.raises(ChainError) as caught:
        node.call("eth_chainId", [])
    node.close()
    assert "the key [redacted] is unknown" in str(caught.value)


@pytest.mark.parametrize(
    ("code", "message", "is_revert"),
    [
        (3, "execution reverted: no", True),
        (3, "", True),
        (-32000, "Execution reverted", True),
        (-32000, "invalid opcode: INVALID", True),
        (-32000, "out of gas", True),
        (-32000, "stack underflow (0 <=> 1)", True),
        (-32000, "invalid jump destination", True),
        (-32015, "VM execution error.", True),
        (-32603, "EVM error InvalidFEOpcode", True),
        (-32603, "EVM error StackOverflow", True),
        (-32000, "REVERT opcode executed", True),
        (-32000, "Not enough energy for 'SSTORE' operation executing", True),
        (-32000, "header not found", False),
        (-32000, "execution aborted (timeout = 5s)", False),
        (-32601, "the method eth_call does not exist", False),
        (-32001, "quota exceeded", False),
        (-32000, "missing trie node 12ab", False),
    ],
)
def test_only_a_contract_that_stops_is_a_revert(code: int, message: str, is_revert: bool) -> None:
    error = Node("http://revert.example")._refusal({"code": code, "message": message}, "eth_call")
    assert isinstance(error, RefusedError)
    assert error.is_revert is is_revert
