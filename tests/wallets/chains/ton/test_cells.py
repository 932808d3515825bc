"""Cells from strangers: read exactly as TON's own tools write them, and refused in every other form."""

import base64
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tonsdk.boc import Cell as Written
from tonsdk.utils import Address

from localnet.ton.messages import snake
from wallets.chains.base import LABEL_LENGTH
from wallets.chains.ton.cells import (
    MOST_BYTES,
    OP_INTERNAL_TRANSFER,
    Cell,
    CellError,
    Slice,
    read_cells,
    read_internal_transfer,
)

SENDER = bytes([0]) + bytes(range(32))


def written(cell: Any, **options: bool) -> bytes:
    """A cell of tonsdk's as bytes."""
    return bytes(cell.to_boc(**({"has_idx": False} | options)))


def message(payload: Any = None, *, by_ref: bool = False, units: int = 5, sender: bytes | None = SENDER) -> Any:
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


@settings(deadline=None)
@given(
    # tonsdk cannot write more: it has no room for the mark that ends a cell of up to 1,023 bits.
    bits=st.lists(st.booleans(), max_size=1_015),
    options=st.fixed_dictionaries({"has_idx": st.booleans(), "hash_crc32": st.booleans()}),
)
def test_a_cell_holds_the_bits_that_were_written(bits: list[bool], options: dict[str, bool]) -> None:
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
    assert found.comment is None or len(found.comment) <= LABEL_LENGTH


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
