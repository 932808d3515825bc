"""What a Solana transaction's instructions move between token accounts, and what the payer's wallet attached to it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wallets.chains.base import LABEL_LENGTH, MOST_LABELS, PARTS_FROM
from wallets.chains.solana.decode import (
    ASSOCIATED_TOKEN_PROGRAM,
    TOKEN_PROGRAMS,
    field,
    from_base58,
    integer,
    items,
    key,
    optional,
    refuse,
)

_MOST_STEPS: Final = 256  # Solana allows 64 in a transaction
_MOST_OWN: Final = 1_232  # bytes
_MOST_IN_BATCH: Final = 128  # more do not fit into a transaction
_UNITS_BYTES: Final = 8
# A batch of 80 transfers has 900 bytes. Base58 is slow to decode.
_LONGEST_DATA: Final = 2_048

_BATCH: Final = b"\xff"
_TRANSFER_CHECKED: Final = b"\x0c"
# The rest is laid out like TransferChecked, with the fee behind the decimals.
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

_MEMO_PROGRAMS: Final = frozenset(
    {"MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo"}
)
# Accounts that every payment may contain, so they are not references.
_ORDINARY: Final = frozenset(
    {
        "11111111111111111111111111111111",
        ASSOCIATED_TOKEN_PROGRAM,
        "ComputeBudget111111111111111111111111111111",
        "SysvarC1ock11111111111111111111111111111111",
        "SysvarRent111111111111111111111111111111111",
        "Sysvar1nstructions1111111111111111111111111",
        *_MEMO_PROGRAMS,
        *TOKEN_PROGRAMS,
    }
)
# Base58 letters; a whole transaction has 1,232 bytes. A program may hand 10 kB to another one, which is slow to decode.
_LONGEST_MEMO: Final = 2_048
BALANCES: Final = ("preTokenBalances", "postTokenBalances")


@dataclass(frozen=True, slots=True)
class InstructionStep:
    """An instruction. `order` is that of running: an inner instruction follows the outer one that called it."""

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

    Accounts are given by place in the transaction. `added` are the accounts behind those that the instruction needs.
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


def read_steps(message: Any, meta: Any, keys: Sequence[str]) -> list[InstructionStep]:
    """Return a transaction's instructions in the order in which they run. Raises MalformedAnswerError."""
    own = items(field(message, "instructions"))
    if len(own) > _MOST_OWN:
        refuse("a transaction has more instructions than fit into one")
    told = {_order(top, 0): one for top, one in enumerate(own)}
    # Null if the node does not record inner instructions.
    groups = optional(meta, "innerInstructions")
    for group in items([] if groups is None else groups):
        inner = items(field(group, "instructions"))
        top = integer(field(group, "index"), most=len(own) - 1)
        if len(inner) >= _MOST_STEPS or _order(top, 1) in told:
            refuse("inner instructions came twice, or too many")
        told |= {_order(top, number): one for number, one in enumerate(inner, 1)}
    return [
        InstructionStep(order, keys[_program(one, keys)], one, len(keys))
        for order, one in sorted(told.items(), key=lambda item: item[0])
    ]


def read_flows(steps: Sequence[InstructionStep]) -> list[Flow]:
    """Return what the token programs' instructions move, of any token. Raises MalformedAnswerError."""
    return [flow for step in steps if step.program in TOKEN_PROGRAMS for flow in _flows(step)]


def _flows(step: InstructionStep) -> Iterator[Flow]:
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


@dataclass(frozen=True, slots=True)
class Accounts:
    """A transaction's accounts in order: its own, of which the first ones sign, then those from lookup tables."""

    keys: Sequence[str]
    signers: Sequence[str]
    own_read_only: Sequence[str]
    loaded_read_only: Sequence[str]


class Labels:
    """A transaction's labels.

    A Solana Pay reference is an account that is neither written nor signs, and that the payment itself does not need.
    """

    def __init__(self, accounts: Accounts, steps: Sequence[InstructionStep], meta: Any) -> None:
        self._keys = accounts.keys
        self._steps = {one.order: one for one in steps}
        told = [entry for name in BALANCES for entry in items(field(meta, name))]
        roles = (_roles(one, accounts.keys) for one in told)
        taken = _ORDINARY.union((one.program for one in steps), *roles)
        self._memos = [
            (one.order, memo)
            for one in steps
            if one.program in _MEMO_PROGRAMS and (memo := _memo(one.told)) and memo not in taken
        ]
        # Accounts from lookup tables come last: there may be many, and wallets put references into the message itself.
        self._own = [one for one in accounts.own_read_only if one not in taken]
        self._loaded = [one for one in accounts.loaded_read_only if one not in taken]

    def all(self) -> tuple[str, ...]:
        """Return the labels of the whole transaction."""
        memos = (memo for _, memo in self._memos)
        return _bounded([*self._own, *memos, *self._loaded])

    def of(self, flow: Flow, flows: Sequence[Flow]) -> tuple[str, ...]:
        """Return the labels of one of the `flows` to an owner, which are in their order."""
        if len(flows) == 1:
            return self.all()
        references = {*self._own, *self._loaded}
        found = [self._keys[place] for place in flow.added]
        tops = [one.top_order for one in flows]
        if not references & {*found} and tops.count(flow.top_order) == 1:
            # A program made the transfer, and got the reference.
            found = [self._keys[place] for place in self._steps[flow.top_order].places]
        found = [one for one in found if one in references]
        return _bounded([*found, *self._memos_of(flow, flows)])

    def _memos_of(self, flow: Flow, flows: Sequence[Flow]) -> Iterable[str]:
        """Yield the memos right before a transfer, as wallets write them; else those right behind it.

        A single memo behind all transfers belongs to each of them.
        """
        first = self._memos[0][0] if self._memos else 0
        is_before = first < flows[0].position
        for order, memo in self._memos:
            behind = [one for one in flows if one.position > order]
            ahead = [one for one in flows if one.position < order]
            meant = behind[:1] or ahead[-1:] if is_before else ahead[-1:]
            is_about_all = not is_before and not behind and len(self._memos) == 1
            if flow in meant or is_about_all:
                yield memo


def _bounded(labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(labels))[:MOST_LABELS]


def _roles(balance: Any, keys: Sequence[str]) -> set[str]:
    place = integer(field(balance, "accountIndex"), most=len(keys) - 1)
    return {keys[place], key(field(balance, "mint")), key(field(balance, "owner"))}


def _memo(instruction: Any) -> str:
    """Return a memo's text, shortened to a label; empty if it cannot be shown."""
    data = field(instruction, "data")
    if not isinstance(data, str):
        refuse("an instruction's data is not its data")
    if len(data) > _LONGEST_MEMO:
        return ""
    try:
        text = from_base58(data).decode()
    except UnicodeDecodeError:
        return ""
    return text.replace("\0", "")[:LABEL_LENGTH]
