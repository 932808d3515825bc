"""Cells from strangers: read exactly as TON's own tools write them, and refused in every other form."""

import base64
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tonsdk.boc import Cell as Written
from tonsdk.utils import Address

from demo.localnet.ton.messages import snake
from wallets.chains.ton.cells import (
    MOST_BYTES,
    Cell,
    CellError,
    Slice,
    read_cells,
)
from wallets.chains.ton.messages import (
    OP_INTERNAL_TRANSFER,
    InternalTransfer,
    read_internal_transfer,
)

SENDER = bytes([0]) + bytes(range(32))


def written(cell: Any, **options: bool) -> bytes:
    """A cell of tonsdk's as bytes."""
    return bytes(cell.to_boc(**({"has_idx": False} | options)))


def message(
    payload: Any = None,
    *,
    by_ref: bool = False,
    units: int = 5,
    sender: bytes | None = SENDER,
) -> Any:
    """An internal transfer, with `payload` (a cell of tonsdk's) inline or by reference."""
    cell = Written()
    cell.bits.write_uint(OP_INTERNAL_TRANSFER, 32)
    cell.bits.write_uint(42, 64)
    cell.bits.write_grams(units)
    cell.bits.write_address(Address(f"0:{sender[1:].hex()}") if sender else None)
    cell.bits.write_address(None)
    cell.bits.write_grams(1)
    cell.bits.write_bit(int(by_ref))
    if payload is not None and by_ref:
        cell.refs.append(payload)
    elif payload is not None:
        cell.write_cell(payload)
    return cell


def comment_of(payload: bytes, *, by_ref: bool) -> str | None:
    """What is read of a payload in snake form."""
    return read_internal_transfer(
        written(message(snake(payload), by_ref=by_ref))
    ).comment


@settings(deadline=None)
@given(
    # tonsdk cannot write more: it has no room for the mark that ends a cell of up to 1,023 bits.
    bits=st.lists(st.booleans(), max_size=1_015),
    options=st.fixed_dictionaries(
        {"has_idx": st.booleans(), "hash_crc32": st.booleans()}
    ),
)
def test_a_cell_holds_the_bits_that_were_written(
    bits: list[bool], options: dict[str, bool]
) -> None:
    cell = Written()
    for bit in bits:
        cell.bits.write_bit(int(bit))
    read = read_cells(written(cell, **options))
    assert read.length == len(bits)
    assert read.bits == int("".join("01"[bit] for bit in bits) or "0", 2)


def test_references_are_in_their_order() -> None:
    root = Written()
    for number in range(4):
        below = Written()
        below.bits.write_uint(number, 8)
        root.refs.append(below)
    slice_ = Slice(read_cells(written(root)))
    assert [Slice(slice_.reference()).unsigned(8) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(CellError):
        slice_.reference()


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
def test_whatever_address_the_payer_wants_the_rest_sent_to_it_is_a_payment(
    response: str,
) -> None:
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
    ],
)
def test_a_payload_is_a_comment_where_it_is_plain_text(
    payload: bytes, comment: str | None, by_ref: bool
) -> None:
    assert comment_of(payload, by_ref=by_ref) == comment


@pytest.mark.parametrize("length", [123, 124, 127, 128, 129, 500, 512, 513, 5_000])
def test_a_long_comment_goes_on_in_further_cells_and_is_cut(length: int) -> None:
    text = "".join(random.Random(length).choices("abcдеж№", k=length))
    assert comment_of(bytes(4) + text.encode(), by_ref=True) == text[:128]


@pytest.mark.parametrize("character", ["x", "я", "№", "😀"])
def test_a_cut_comment_ends_with_a_whole_character(character: str) -> None:
    text = character * 1_000
    assert comment_of(bytes(4) + text.encode(), by_ref=True) == text[:128]


def test_a_comment_of_half_bytes_is_none() -> None:
    payload = snake(bytes(4) + b"abc")
    payload.bits.write_bit(1)
    assert (
        read_internal_transfer(written(message(payload, by_ref=True))).comment is None
    )


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


GOOD = written(message(snake(bytes(4) + b"x" * 300), by_ref=True), hash_crc32=False)


def test_every_truncation_is_refused() -> None:
    for length in range(len(GOOD)):
        with pytest.raises(CellError):
            read_internal_transfer(GOOD[:length])


@settings(deadline=None)
@given(at=st.integers(0, len(GOOD) - 1), byte=st.integers(0, 255))
def test_a_changed_byte_is_read_or_refused_and_nothing_else(at: int, byte: int) -> None:
    changed = GOOD[:at] + bytes([byte]) + GOOD[at + 1 :]
    try:
        found = read_internal_transfer(changed)
    except CellError:
        return
    assert 0 <= found.units < 2**120
    assert found.comment is None or len(found.comment) <= 128


@settings(deadline=None)
@given(data=st.binary(max_size=400))
def test_noise_is_read_or_refused_and_nothing_else(data: bytes) -> None:
    for noise in (data, GOOD[:4] + data, GOOD[:10] + data):
        try:
            read_internal_transfer(noise)
        except CellError:
            continue


def bag(*cells: bytes, count: int | None = None, root: int = 0) -> bytes:
    """Cells as given, in one bag."""
    body = b"".join(cells)
    sizes = bytes([1, 2, count or len(cells), 1, 0]) + len(body).to_bytes(2, "big")
    return bytes.fromhex("b5ee9c72") + sizes + bytes([root]) + body


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(bag(b"\x01\x00\x00"), id="a cell that contains itself"),
        pytest.param(bag(b"\x01\x00\x01", b"\x01\x00\x00"), id="a circle"),
        pytest.param(bag(b"\x01\x00\x09"), id="a reference to nowhere"),
        pytest.param(bag(b"\x05\x00" + bytes(5)), id="five references"),
        pytest.param(bag(b"\x00\x01\x00"), id="no end mark"),
        pytest.param(bag(b"\x00\xff" + b"\1" * 128), id="bits before no end"),
        pytest.param(bag(b"\x10\x00"), id="hashes within"),
        pytest.param(bag(b"\x00\x00", count=200), id="fewer cells than said"),
        pytest.param(bag(b"\x00\x00", root=3), id="a root that is missing"),
        pytest.param(bytes(MOST_BYTES + 1), id="far too long"),
    ],
)
def test_impossible_cells_are_refused(data: bytes) -> None:
    with pytest.raises(CellError):
        read_internal_transfer(data)


def test_a_chain_as_deep_as_can_be_sent_does_not_overflow() -> None:
    count = 200
    cells = [bytes([1, 2, 0, index + 1]) for index in range(count - 1)]
    read = read_cells(bag(*cells, b"\x00\x02\x00"))
    depth = 0
    while read.references:
        [read] = read.references
        depth += 1
    assert depth == count - 1


def test_an_exotic_cell_gives_no_values() -> None:
    with pytest.raises(CellError):
        Slice(Cell(0, 8, (), is_exotic=True))


def test_real_cells_of_another_writer_are_read() -> None:
    # An empty cell, as ton-indexer's C++ writes it (with a checksum).
    read = read_cells(base64.b64decode("te6cckEBAQEAAgAAAEysuc0="))
    assert (read.length, list(read.references)) == (0, [])
