"""What a local node answers where it refuses."""

from demo.localnet.errors import NodeError


def test_an_error_of_a_node_keeps_its_code_and_data() -> None:
    error = NodeError(-32_000, "too poor", {"need": 5})
    assert str(error) == "too poor (-32000)"
    assert (error.code, error.data) == (-32_000, {"need": 5})
