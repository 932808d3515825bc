"""A node's process: ended by its id, on a port of its own."""

import socket

import pytest

from demo.localnet.anvil import Anvil
from demo.localnet.errors import NodeStartError
from tests.nodes.fixtures import StartNode


def test_stopping_frees_the_port_and_leaves_other_nodes_alone(start_node: StartNode) -> None:
    other, node = start_node(), start_node()
    port = node.port
    node.stop()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
    assert other.block_number() == 0
    node.stop()


def test_a_port_that_is_taken_is_an_error_that_says_so(start_node: StartNode) -> None:
    taken = start_node().port
    with pytest.raises(NodeStartError, match="in use"):
        Anvil(1, port=taken).start()
