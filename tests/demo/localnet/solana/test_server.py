"""The local chain's server: batches, and its port."""

import http.client
import json
import socket

import pytest

from demo.localnet.errors import NodeStartError
from demo.localnet.solana.node import SolanaNode


def test_questions_are_answered_in_batches(solana_node: SolanaNode) -> None:
    asked = [
        {"jsonrpc": "2.0", "id": 7, "method": "getHealth"},
        {"jsonrpc": "2.0", "id": 9, "method": "getNothing", "params": []},
    ]
    connection = http.client.HTTPConnection("127.0.0.1", solana_node.port)
    connection.request("POST", "/", json.dumps(asked))
    answers = json.loads(connection.getresponse().read())
    connection.close()
    assert answers[0] == {"jsonrpc": "2.0", "id": 7, "result": "ok"}
    assert (answers[1]["id"], answers[1]["error"]["code"]) == (9, -32601)


def test_stopping_frees_the_port_and_a_taken_port_is_an_error() -> None:
    with SolanaNode() as node:
        port = node.port
        with pytest.raises(NodeStartError, match="in use"):
            SolanaNode(port=port).start()
        assert node.pid
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
    node.stop()
