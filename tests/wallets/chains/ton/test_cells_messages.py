"""Internal transfers and the comments in them, read from cells of strangers."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tonsdk.boc import Cell as Written
from tonsdk.utils import Address

from localnet.ton.messages import snake
from tests.wallets.chains.ton.test_cells import SENDER, message, written
from wallets.chains.base import LABEL_LENGTH
from wallets.chains.ton.cells import OP_INTERNAL_TRANSFER, CellError, InternalTransfer, read_internal_transfer


def comment_of(payload: bytes, *, by_ref: bool) -> str | None:
    """What is read of a payload in snake form."""
    return read_internal_transfer(written(message(snake(payload), by_ref=by_ref))).comment


@settings(deadline=None)
@given(units=st.integers(0, 2**120 - 1), wallet=st.binary(min_size=32, max_size=32))
def test_amount_and_sender_are_read_exactly(units: int, wallet: bytes) -> None:
    sender = b"\0" + wallet
    body = written(message(units=units, sender=sender))
    assert read_internal_transfer(body) == InternalTransfer(units, sender, None)


RESPONSES = {
    "none": "00",
    "standard": "100" + "0" * 264,
    "anycast": "101" + "00011" + "101" + "0" * 264,
    "foreign": "01" + f"{12:09b}" + "1" * 12,
    "empty foreign": "01" + "0" * 9,
    "variable": "110" + f"{20:09b}" + "0" * 32 + "1" * 20,
}


@pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)
def test_whatever_address_the_payer_wants_the_rest_sent_to_it_is_a_payment(response: str) -> None:
    """The payer's jetton wallet passes it on unread, and ours takes the money all the same."""
    cell = Written()
    cell.bits.write_uint(OP_INTERNAL_TRANSFER, 32)
    cell.bits.write_uint(42, 64)
    cell.bits.write_grams(7)
    cell.bits.write_address(Address(f"0:{SENDER[1:].hex()}"))
    for bit in response:
        cell.bits.write_bit(int(bit))
    cell.bits.write_grams(1)
    cell.bits.write_bit(0)
    cell.bits.write_uint(0, 32)
    cell.bits.write_bytes(b"x")
    assert read_internal_transfer(written(cell)) == InternalTransfer(7, SENDER, "x")


@pytest.mark.parametrize("rest", ["", "01" + "1" * 9, "11", "1" * 30])
def test_what_follows_the_amount_and_cannot_be_read_is_no_comment(rest: str) -> None:
    cell = Written()
    cell.bits.write_uint(OP_INTERNAL_TRANSFER, 32)
    cell.bits.write_uint(42, 64)
    cell.bits.write_grams(7)
    cell.bits.write_address(Address(f"0:{SENDER[1:].hex()}"))
    for bit in rest:
        cell.bits.write_bit(int(bit))
    assert read_internal_transfer(written(cell)) == InternalTransfer(7, SENDER, None)


def test_what_the_master_gave_has_no_sender() -> None:
    assert read_internal_transfer(written(message(sender=None))).sender is None


@pytest.mark.parametrize("by_ref", [False, True], ids=["inline", "by reference"])
@pytest.mark.parametrize(
    ("payload", "comment"),
    [
        pytest.param(b"", None, id="nothing"),
        pytest.param(b"\0\0", None, id="too short for a kind"),
        pytest.param(bytes(4), None, id="no text"),
        pytest.param(bytes(4) + b"\xff\xfe", None, id="not UTF-8"),
        pytest.param(bytes(4) + "№".encode()[:-1], None, id="half a character"),
        pytest.param(bytes(4) + b"a\0b", "ab", id="NUL"),
        pytest.param(bytes.fromhex("2167da4b") + bytes(9), None, id="encrypted"),
        pytest.param(b"\xde\xad\xbe\xef text", None, id="of another kind"),
        pytest.param(bytes(4) + b"F-7K2M", "F-7K2M", id="short"),
        pytest.param(bytes(4) + b"F-7K2M \xff", "F-7K2M ", id="a byte that is no text"),
        pytest.param("F-7K2M №".encode(), "F-7K2M №", id="no opcode"),
        pytest.param(b"F-7K2M\n\x07", None, id="no opcode, and no text"),
    ],
)
def test_a_payload_is_a_comment_where_it_is_plain_text(payload: bytes, comment: str | None, by_ref: bool) -> None:
    assert comment_of(payload, by_ref=by_ref) == comment


@pytest.mark.parametrize("length", [123, 124, 127, 128, 129, 513, 1_024, 1_025, 5_000])
def test_a_long_comment_goes_on_in_further_cells_and_is_cut(length: int) -> None:
    text = "".join(random.Random(length).choices("abcдеж№", k=length))
    assert comment_of(bytes(4) + text.encode(), by_ref=True) == text[:LABEL_LENGTH]


@pytest.mark.parametrize("character", ["x", "я", "№", "😀"])
def test_a_cut_comment_ends_with_a_whole_character(character: str) -> None:
    text = character * 3_000
    assert comment_of(bytes(4) + text.encode(), by_ref=True) == text[:LABEL_LENGTH]


def test_a_comment_of_half_bytes_is_none() -> None:
    payload = snake(bytes(4) + b"abc")
    payload.bits.write_bit(1)
    assert read_internal_transfer(written(message(payload, by_ref=True))).comment is None


def test_a_payload_that_is_missing_or_exotic_is_no_comment() -> None:
    assert read_internal_transfer(written(message(None, by_ref=True))).comment is None
    payload = snake(bytes(4) + b"abc")
    data = bytearray(written(message(payload, by_ref=True), hash_crc32=False))
    at = data.index(payload.bits.get_top_upped_array()) - 2
    data[at] |= 0x08
    assert read_internal_transfer(bytes(data)).comment is None


def test_what_is_no_internal_transfer_is_refused() -> None:
    for cell in (snake(b"\x0f\x8a\x7e\xa5" + bytes(60)), snake(b""), snake(bytes(3))):
        with pytest.raises(CellError):
            read_internal_transfer(written(cell))
