"""What a Solana transaction's instructions move between token accounts: its own ones, and those of the programs it calls.

The layouts are those of the token programs' published interfaces, with the batches of p-token.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wallets.chains.base import PARTS_FROM
from wallets.chains.solana.decode import TOKEN_PROGRAMS, field, from_base58, integer, items, optional, refuse

_MOST_STEPS: Final = 256  # Solana allows 64 in a transaction
_MOST_OWN: Final = 1_232  # bytes
_MOST_IN_BATCH: Final = 128  # more do not fit into a transaction
_UNITS_BYTES: Final = 8
# A batch of 80 transfers has 900 bytes. Base58 is slow to decode.
_LONGEST_DATA: Final = 2_048

_BATCH: Final = b"\xff"
_TRANSFER_CHECKED: Final = b"\x0c"
# Further on it is like TransferChecked, with the fee behind the decimals.
_TRANSFER_WITH_FEE: Final = b"\x1a\x01"
_FEE_AT: Final = 10

# By an instruction's first byte: the places of its source and target among its accounts, and how many it needs.
_LAYOUTS: Final[dict[int, tuple[int | None, int | None, int]]] = {
    3: (0, 1, 3),  # Transfer
    7: (None, 1, 3),  # MintTo
    8: (0, None, 3),  # Burn
    12: (0, 2, 4),  # TransferChecked
    14: (None, 1, 3),  # MintToChecked
    15: (0, None, 3),  # BurnChecked
}


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction; `order` rises as they run: those that programs called follow the transaction's own that called them."""

    order: int
    program: str
    told: Any
    keys: int

    @property
    def places(self) -> list[int]:
        """Return its accounts, by place in the transaction. Raises MalformedAnswerError."""
        told = items(field(self.told, "accounts"))
        return [integer(one, most=self.keys - 1) for one in told]


@dataclass(frozen=True, slots=True)
class Flow:
    """An instruction moves `units` from one token account to another; without a source it mints, without a target it burns.

    Accounts are given by place in the transaction. `added` are those behind the accounts that the instruction needs.
    """

    position: int
    source: int | None
    target: int | None
    units: int
    added: tuple[int, ...] = ()

    @property
    def top_order(self) -> int:
        """Return the order of the transaction's own instruction that it is part of."""
        return _order(self.position - PARTS_FROM >> 16, 0)


def read_steps(message: Any, meta: Any, keys: Sequence[str]) -> list[Step]:
    """Return a transaction's instructions in the order in which they run. Raises MalformedAnswerError."""
    own = items(field(message, "instructions"))
    if len(own) > _MOST_OWN:
        refuse("a transaction has more instructions than fit into one")
    told = {_order(top, 0): one for top, one in enumerate(own)}
    # Null where a node does not record them.
    groups = optional(meta, "innerInstructions")
    for group in items([] if groups is None else groups):
        inner = items(field(group, "instructions"))
        top = integer(field(group, "index"), most=len(own) - 1)
        if len(inner) >= _MOST_STEPS or _order(top, 1) in told:
            refuse("inner instructions came twice, or too many")
        told |= {_order(top, number): one for number, one in enumerate(inner, 1)}
    return [
        Step(order, keys[_program(one, keys)], one, len(keys))
        for order, one in sorted(told.items(), key=lambda item: item[0])
    ]


def read_flows(steps: Sequence[Step]) -> list[Flow]:
    """Return what the token programs' instructions move, of any token. Raises MalformedAnswerError."""
    return [flow for step in steps if step.program in TOKEN_PROGRAMS for flow in _flows(step)]


def _flows(step: Step) -> Iterator[Flow]:
    text = field(step.told, "data")
    if not isinstance(text, str):
        refuse("an instruction's data is not its data")
    if len(text) > _LONGEST_DATA:
        return
    for number, (data, places) in enumerate(_each(from_base58(text), step.places)):
        # A fee is a movement of its own, right behind its transfer.
        yield from _moves(data, places, position=step.order + 2 * number)


def _each(data: bytes, places: Sequence[int]) -> Iterator[tuple[bytes, Sequence[int]]]:
    """Yield the instruction, or those of a batch: each has its number of accounts and of bytes before it."""
    if data[:1] != _BATCH:
        yield data, places
        return
    at, first = 1, 0
    for _ in range(_MOST_IN_BATCH):
        if at + 2 > len(data):
            return
        accounts, end = data[at], at + 2 + data[at + 1]
        yield data[at + 2 : end], places[first : first + accounts]
        at, first = end, first + accounts


def _moves(data: bytes, places: Sequence[int], *, position: int) -> Iterator[Flow]:
    fee = 0
    if data.startswith(_TRANSFER_WITH_FEE):
        data = _TRANSFER_CHECKED + data[2:]
        fee = _units(data, at=_FEE_AT)
    if len(data) <= _UNITS_BYTES or data[0] not in _LAYOUTS:
        return
    source, target, needed = _LAYOUTS[data[0]]
    if len(places) < needed:
        return
    taken = None if source is None else places[source]
    units = _units(data, at=1) - fee
    if units > 0:
        given = None if target is None else places[target]
        yield Flow(position, taken, given, units, tuple(places[needed:]))
    if fee:
        yield Flow(position + 1, taken, None, fee)


def _units(data: bytes, *, at: int) -> int:
    return int.from_bytes(data[at : at + _UNITS_BYTES], "little")


def _order(top: int, inner: int) -> int:
    return PARTS_FROM + (top << 16) + (inner << 8)


def _program(instruction: Any, keys: Sequence[str]) -> int:
    return integer(field(instruction, "programIdIndex"), most=len(keys) - 1)
