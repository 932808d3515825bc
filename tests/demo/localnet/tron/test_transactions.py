"""Fields of protocol buffers, read without the code under test."""

import pytest

from demo.localnet.tron.transactions import InvalidTransactionError, fields_of


def test_numbers_and_bytes_are_read_by_their_field() -> None:
    # 8: the varint 300; 2: the bytes "ab".
    assert fields_of(bytes.fromhex("40ac02") + b"\x12\x02ab") == {8: 300, 2: b"ab"}


def test_of_a_field_that_is_there_twice_the_last_counts() -> None:
    assert fields_of(b"\x08\x01\x08\x02") == {1: 2}


@pytest.mark.parametrize(
    "message",
    [b"\x12\x03ab", b"\x08", b"\x08" + b"\xff" * 11, b"\x09" + bytes(8)],
    ids=["cut off", "no value", "a number without end", "another kind"],
)
def test_what_is_no_message_is_refused(message: bytes) -> None:
    with pytest.raises(InvalidTransactionError, match="OTHER_ERROR"):
        fields_of(message)
