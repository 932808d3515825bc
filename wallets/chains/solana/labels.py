"""What a payer's wallet attached to a Solana transaction: reference keys and memos, and which of its transfers they are about."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wallets.chains.base import LABEL_LENGTH, MOST_LABELS
from wallets.chains.solana.decode import (
    ASSOCIATED_TOKEN_PROGRAM,
    TOKEN_PROGRAMS,
    field,
    from_base58,
    integer,
    items,
    key,
    refuse,
)
from wallets.chains.solana.instructions import Flow, Step

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

    def __init__(self, accounts: Accounts, steps: Sequence[Step], meta: Any) -> None:
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
            # A program made it, and got the reference.
            found = [self._keys[place] for place in self._steps[flow.top_order].places]
        found = [one for one in found if one in references]
        return _bounded([*found, *self._memos_of(flow, flows)])

    def _memos_of(self, flow: Flow, flows: Sequence[Flow]) -> Iterable[str]:
        """Yield the memos right before a transfer, as wallets write them; else those right behind it.

        A single one behind all of them is about all.
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
