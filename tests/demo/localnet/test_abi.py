"""Contract calls as bytes."""

from demo.localnet.abi import encode_call, topic


def test_a_call_is_its_selector_and_its_arguments() -> None:
    to = "0x" + "11" * 20
    call = encode_call("transfer(address,uint256)", to, 5)
    assert call[:4].hex() == "a9059cbb"
    assert call[4:36].hex() == "00" * 12 + "11" * 20
    assert int.from_bytes(call[36:]) == 5


def test_arguments_within_parentheses_are_one() -> None:
    call = encode_call("f((uint8,uint8)[],bool)", [(1, 2)], True)
    assert len(call) == 4 + 5 * 32


def test_a_call_without_arguments_is_its_selector() -> None:
    assert encode_call("decimals()").hex() == "313ce567"


def test_an_event_has_the_topic_that_nodes_write() -> None:
    assert topic("Transfer(address,address,uint256)").startswith("0xddf252ad1be2c89b")
