"""Parser of TON cells in serialised form, and of the message that a jetton wallet receives with a transfer (TEP-74).

It is strict, because strangers write the content.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from wallets.chains.base import LABEL_LENGTH

MOST_CELLS: Final = 10_000
"""A message holds at most 8,192 (the network's own limit)."""

MOST_BYTES: Final = 1 << 20
"""Far above the 256 kB of bits that a message may hold."""

_MAGIC: Final = bytes.fromhex("b5ee9c72")
_HAS_INDEX: Final = 0x80
_EXOTIC: Final = 0x08
_WITH_HASHES: Final = 0x10
_MOST_REFERENCES: Final = 4
_MOST_BITS: Final = 1023

OP_INTERNAL_TRANSFER: Final = 0x178D4519
"""TEP-74: `internal_transfer`, from the sender's jetton wallet to the receiver's."""

_OP_TEXT: Final = bytes(4)
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
# No character needs more than four bytes.
_MOST_TEXT_BYTES: Final = 4 * LABEL_LENGTH


class CellError(ValueError):
    """The bytes are not valid cells, or the cells lack the expected content."""


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """Up to 1,023 bits and four further cells. `bits` hold `length` bits, the first one highest."""

    bits: int
    length: int
    references: Sequence["Cell"]
    is_exotic: bool = False


class Slice:
    """Reads values from a cell's front. Every method raises CellError if the cell ends too early."""

    def __init__(self, cell: Cell) -> None:
        if cell.is_exotic:
            raise CellError("an exotic cell holds no values")
        self._bits = cell.bits
        self.remaining = cell.length
        self.references = list(cell.references)

    def unsigned(self, length: int) -> int:
        """Take an unsigned integer of so many bits."""
        if length > self.remaining:
            raise CellError("the cell ends too early")
        self.remaining -= length
        value = self._bits >> self.remaining
        self._bits &= (1 << self.remaining) - 1
        return value

    def coins(self) -> int:
        """Take an amount (VarUInteger 16)."""
        return self.unsigned(8 * self.unsigned(4))

    def address(self) -> bytes | None:
        """Take an address: workchain and account, 33 bytes; None where none is given."""
        kind = self.unsigned(2)
        if kind == 0b00:
            return None
        # The other kinds are foreign and variable addresses, which no jetton wallet has.
        if kind != 0b10 or self.unsigned(1):
            raise CellError("not a standard address")
        return self.unsigned(8 + 256).to_bytes(33, "big")

    def skip_address(self) -> None:
        """Skip an address of any kind (block.tlb, `MsgAddress`): the message's author may write any."""
        kind = self.unsigned(2)
        if kind == 0b01:
            self.unsigned(self.unsigned(9))
        elif kind > 0b01:
            if self.unsigned(1):
                self.unsigned(self.unsigned(5))
            length = 8 + 256 if kind == 0b10 else self.unsigned(9) + 32
            self.unsigned(length)

    def reference(self) -> Cell:
        """Take the next cell."""
        if not self.references:
            raise CellError("a cell is missing")
        return self.references.pop(0)

    def rest(self) -> bytes:
        """Take all bits that are left, which must be whole bytes."""
        if self.remaining % 8:
            raise CellError("not whole bytes")
        count = self.remaining // 8
        return self.unsigned(self.remaining).to_bytes(count, "big")


def read_cells(data: bytes) -> Cell:
    """Return the root of a bag with one root. Raises CellError.

    The checksum at the end is ignored: it protects files, and an attacker would set it correctly.
    """
    reader = _Bytes(data)
    if len(data) > MOST_BYTES or reader.take(4) != _MAGIC:
        raise CellError("not a bag of cells")
    flags = reader.number(1)
    reference_bytes, offset_bytes = flags & 0x07, reader.number(1)
    if not (1 <= reference_bytes <= 4 and 1 <= offset_bytes <= 8):
        raise CellError("impossible sizes")
    count, roots, absent = (reader.number(reference_bytes) for _ in range(3))
    if not 1 <= count <= MOST_CELLS or roots != 1 or absent:
        raise CellError("too many cells, or not one root")
    reader.take(offset_bytes)
    root = reader.number(reference_bytes)
    if flags & _HAS_INDEX:
        reader.take(count * offset_bytes)
    raw = [_read_cell(reader, reference_bytes) for _ in range(count)]
    cells = _linked(raw)
    if root >= count:
        raise CellError("the root is missing")
    return cells[root]


class _Bytes:
    """Takes bytes off the front."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        found = self._data[self._at : self._at + count]
        if len(found) != count:
            raise CellError("the bytes end too early")
        self._at += count
        return found

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "big")


@dataclass(frozen=True, slots=True)
class _RawCell:
    bits: int
    length: int
    references: tuple[int, ...]
    is_exotic: bool


def _read_cell(reader: _Bytes, reference_bytes: int) -> _RawCell:
    first, second = reader.number(1), reader.number(1)
    references = first & 0x07
    if references > _MOST_REFERENCES or first & _WITH_HASHES:
        raise CellError("not a plain cell")
    data = reader.take((second + 1) // 2)
    bits, length = int.from_bytes(data, "big"), 8 * len(data)
    if second % 2:
        # The last byte is not full: its lowest set bit marks the end.
        if not data[-1]:
            raise CellError("no end mark")
        unused = (bits & -bits).bit_length()
        bits, length = bits >> unused, length - unused
    if length > _MOST_BITS:
        raise CellError("too many bits")
    followed = tuple(reader.number(reference_bytes) for _ in range(references))
    return _RawCell(bits, length, followed, bool(first & _EXOTIC))


def _linked(raw: Sequence[_RawCell]) -> list[Cell]:
    """Link the cells. Every reference points forward, so no cell can contain itself."""
    cells: list[Cell] = []
    for index in reversed(range(len(raw))):
        each = raw[index]
        if any(not index < target < len(raw) for target in each.references):
            raise CellError("a cell refers backwards")
        # `cells` is built from the end: the last cell of the bag is its first.
        below = [cells[len(raw) - 1 - target] for target in each.references]
        cells.append(Cell(each.bits, each.length, below, each.is_exotic))
    cells.reverse()
    return cells


@dataclass(frozen=True, slots=True)
class InternalTransfer:
    """`units` of a jetton, from the owner with the key `sender`; None if the jetton's master minted it."""

    units: int
    sender: bytes | None
    comment: str | None


def read_internal_transfer(body: bytes) -> InternalTransfer:
    """Parse a message's body. Raises CellError if it is not an internal transfer; an unknown payload has no comment."""
    message = Slice(read_cells(body))
    if message.unsigned(32) != OP_INTERNAL_TRANSFER:
        raise CellError("not an internal transfer")
    message.unsigned(64)
    units, sender = message.coins(), message.address()
    # The rest is the payer's own text, and cannot invalidate the payment.
    return InternalTransfer(units, sender, _comment(message))


def _comment(message: Slice) -> str | None:
    """Return the comment in the forward payload: the rest of the message, or a separate cell."""
    try:
        # The recipient of the rest of the attached coin, and how much goes on with the notification.
        message.skip_address()
        message.coins()
        payload = Slice(message.reference()) if message.unsigned(1) else message
        return _text(payload)
    except CellError:
        return None


def _text(payload: Slice) -> str | None:
    """Read text that continues in each cell's first reference (TEP-64, snake format), up to a label's length.

    Some wallets leave out the opcode of text. Then it must be readable: other payloads are for programs, or encrypted.
    """
    data = payload.rest()
    following: Cell | None = payload.references[0] if payload.references else None
    while following is not None and len(data) < _MOST_TEXT_BYTES:
        part = Slice(following)
        data += part.rest()
        following = part.references[0] if part.references else None
    has_opcode = data.startswith(_OP_TEXT)
    data = data.removeprefix(_OP_TEXT)[:_MOST_TEXT_BYTES]
    text = data.decode(errors="ignore")
    lost = len(data) - len(text.encode())
    # At most the last character is cut.
    is_text = lost <= (3 if len(data) == _MOST_TEXT_BYTES else 0)
    is_text = is_text and not _CONTROLS.search(text)
    if not has_opcode and not is_text:
        return None
    # Neither the database nor logs can hold NUL.
    return text.replace("\0", "")[:LABEL_LENGTH] or None
