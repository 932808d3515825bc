"""A Solana transaction's effects on the balances of watched tokens, and its labels.

Balances are compared before and after, by owner and token. So the programs that moved them need not be known: a fee withheld
by Token-2022, a transfer by another program and a transfer to oneself are all read correctly.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from wallets.chains.base import LABEL_LENGTH, MOST_LABELS, ChainUnavailableError
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
    signature,
    slot,
    time,
)

_MEMO_PROGRAMS: Final = frozenset(
    {
        "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
        "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo",
    }
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
NEWEST_VERSION: Final = 127
"""A transaction's version has seven bits. Future versions are read like the others, or refused."""

_AMOUNT: Final = re.compile(r"[0-9]{1,20}", re.ASCII)
_MOST_UNITS: Final = 2**64 - 1
_MOST_ACCOUNTS: Final = 256  # an account's place in its transaction is one byte
# Base58 letters; a whole transaction has 1,232 bytes. A program may hand 10 kB to another one, which is slow to decode.
_LONGEST_MEMO: Final = 2_048

NOWHERE: Final = _MOST_ACCOUNTS
"""Added to an account's position for a debit without a recipient: no account has such a position."""

Holding = tuple[str, str]
"""An owner and a mint."""


@dataclass(frozen=True, slots=True)
class Credit:
    """An owner's balance of a token rose by `units` base units.

    `account_index` is the position, among the transaction's accounts, of the first token account that rose. The payer
    signed that order, so it is the same at every node and for any set of watched tokens.
    """

    owner: str
    mint: str
    units: int
    account_index: int
    sender: str


@dataclass(frozen=True, slots=True)
class Debit:
    """`units` of a decrease of an owner's balance, and their recipient; the parts add up to the decrease.

    `account_index` is that of the recipient's Credit, so that both sides identify the same movement. If there is no
    recipient (burned, or withheld as a fee), `recipient` is empty and `account_index` is NOWHERE plus the position of the
    first token account that fell.
    """

    owner: str
    mint: str
    units: int
    account_index: int
    recipient: str


@dataclass(frozen=True, slots=True)
class ReadTransaction:
    """A transaction's effects on watched tokens. `accounts` are all that it names; a failed one moved nothing."""

    slot: int
    time: datetime
    accounts: frozenset[str]
    credits: tuple[Credit, ...]
    labels: tuple[str, ...]
    succeeded: bool = True
    debits: tuple[Debit, ...] = ()


def read_transaction(
    answer: Any, *, asked: str, decimals: Mapping[str, int]
) -> ReadTransaction:
    """Read a transaction in the encoding `json`; `decimals` are those of the watched tokens, by mint.

    Raises ChainUnavailableError if the node lacks it, or its time or what it did; MalformedAnswerError.
    """
    if answer is None:
        # A reorg just removed it, or this node has pruned it, but another may have it.
        raise ChainUnavailableError("the node lacks a transaction it told")
    meta, seconds = field(answer, "meta"), field(answer, "blockTime")
    if meta is None or seconds is None:
        raise ChainUnavailableError("the node does not know all of a transaction yet")
    if (version := optional(answer, "version")) != "legacy":
        integer(version, most=NEWEST_VERSION)
    body = field(answer, "transaction")
    if [signature(one) for one in items(field(body, "signatures"))][:1] != [asked]:
        refuse("another transaction came than was asked for")
    message = field(body, "message")
    accounts = _accounts(message, meta)
    failed = field(meta, "err") is not None
    balances = {} if failed else _balances(meta, accounts.keys, decimals)
    credits_ = tuple(_credits(balances, fee_payer=accounts.keys[0]))
    return ReadTransaction(
        slot=slot(field(answer, "slot")),
        time=time(seconds),
        accounts=frozenset(accounts.keys),
        credits=credits_,
        labels=_labels(accounts, message, meta) if credits_ else (),
        succeeded=not failed,
        debits=tuple(_debits(balances, credits_)),
    )


def read_strangers(answer: Any, *, known: Collection[str]) -> tuple[Credit, ...]:
    """Return the other movements of a transaction that `read_transaction` has read: of unknown tokens, and of coin.

    Coin has an empty mint, and lamports as units; the rent deposits of token accounts do not count. Raises
    MalformedAnswerError.
    """
    meta, message = (
        field(answer, "meta"),
        field(field(answer, "transaction"), "message"),
    )
    if field(meta, "err") is not None:
        return ()
    keys = _accounts(message, meta).keys
    balances = _strange_balances(meta, keys, known)
    tokens = _credits(balances, fee_payer=keys[0])
    return (*tokens, *_credits(_coin(meta, keys), fee_payer=keys[0]))


def _strange_balances(
    meta: Any, keys: Sequence[str], known: Collection[str]
) -> dict[Holding, dict[int, int]]:
    changes: dict[Holding, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for name, sign in (("preTokenBalances", -1), ("postTokenBalances", 1)):
        for entry in items(field(meta, name)):
            mint, owner = key(field(entry, "mint")), optional(entry, "owner")
            # Old transactions do not report owners.
            if mint in known or owner is None:
                continue
            place = integer(field(entry, "accountIndex"), most=len(keys) - 1)
            units = _units(field(entry, "uiTokenAmount"), None)
            changes[key(owner), mint][place] += sign * units
    return changes


def _coin(meta: Any, keys: Sequence[str]) -> dict[Holding, dict[int, int]]:
    told = [entry for name in _TOLD for entry in items(field(meta, name))]
    token_accounts = {
        integer(field(entry, "accountIndex"), most=len(keys) - 1) for entry in told
    }
    before, after = (
        [integer(one, most=_MOST_UNITS) for one in items(field(meta, name))]
        for name in ("preBalances", "postBalances")
    )
    if not len(before) == len(after) == len(keys):
        refuse("as many balances came as a transaction has no accounts")
    return {
        (owner, ""): {place: after[place] - before[place]}
        for place, owner in enumerate(keys)
        if place not in token_accounts
    }


@dataclass(frozen=True, slots=True)
class _Accounts:
    """A transaction's accounts in order: its own, then those from lookup tables."""

    keys: Sequence[str]
    own_read_only: Sequence[str]
    loaded_read_only: Sequence[str]


def _accounts(message: Any, meta: Any) -> _Accounts:
    own = [key(one) for one in items(field(message, "accountKeys"))]
    loaded = optional(meta, "loadedAddresses")
    # Nodes leave it out where a transaction cannot have any.
    writable, read_only = (
        [key(one) for one in items(field(loaded, name))] if loaded is not None else []
        for name in ("writable", "readonly")
    )
    header = field(message, "header")
    signers, unsigned_read_only = (
        integer(field(header, name), most=_MOST_ACCOUNTS)
        for name in ("numRequiredSignatures", "numReadonlyUnsignedAccounts")
    )
    keys = [*own, *writable, *read_only]
    if not signers or signers + unsigned_read_only > len(own):
        refuse("a transaction has fewer accounts than it says")
    if len(keys) > _MOST_ACCOUNTS or len(set(keys)) < len(keys):
        refuse("a transaction names accounts that it cannot name")
    return _Accounts(keys, own[len(own) - unsigned_read_only :], read_only)


def _balances(
    meta: Any, keys: Sequence[str], decimals: Mapping[str, int]
) -> dict[Holding, dict[int, int]]:
    """Return the changes of each owner's token accounts: by owner and mint, then by the account's position."""
    changes: dict[Holding, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for name, sign in (("preTokenBalances", -1), ("postTokenBalances", 1)):
        seen = set()
        for entry in items(field(meta, name)):
            place = integer(field(entry, "accountIndex"), most=len(keys) - 1)
            if place in seen:
                refuse("a balance came twice")
            seen.add(place)
            mint = key(field(entry, "mint"))
            if mint in decimals:
                units = _units(field(entry, "uiTokenAmount"), decimals[mint])
                changes[key(field(entry, "owner")), mint][place] += sign * units
    return changes


def _units(amount: Any, decimals: int | None) -> int:
    text = field(amount, "amount")
    if not isinstance(text, str) or not _AMOUNT.fullmatch(text):
        refuse("an amount is not an amount")
    if decimals is not None and field(amount, "decimals") != decimals:
        refuse("a token has other decimals than it has")
    return integer(int(text), most=_MOST_UNITS)


def _credits(
    balances: Mapping[Holding, Mapping[int, int]], *, fee_payer: str
) -> Iterator[Credit]:
    totals = {holding: sum(places.values()) for holding, places in balances.items()}
    for (owner, mint), units in totals.items():
        if units <= 0:
            continue
        falls = [(total, who) for (who, what), total in totals.items() if what == mint]
        fall, sender = min(falls)
        yield Credit(
            owner=owner,
            mint=mint,
            units=units,
            account_index=_first_risen(balances[owner, mint]),
            # Another program may have minted it, or moved it from where no balance is reported.
            sender=sender if fall < 0 else fee_payer,
        )


def _debits(
    balances: Mapping[Holding, Mapping[int, int]], credits_: Sequence[Credit]
) -> Iterator[Debit]:
    """Assign the credits to debits, the largest debit first, so that a single payer paid everything."""
    falls = sorted(
        (total, holding)
        for holding, places in balances.items()
        if (total := sum(places.values())) < 0
    )
    risen = sorted(credits_, key=lambda credit: credit.account_index)
    left = {credit.account_index: credit.units for credit in risen}
    for fall, (owner, mint) in falls:
        unpaid = -fall
        for credit in risen:
            units = min(unpaid, left[credit.account_index])
            if credit.mint != mint or not units:
                continue
            left[credit.account_index] -= units
            unpaid -= units
            yield Debit(owner, mint, units, credit.account_index, credit.owner)
        if unpaid:
            place = NOWHERE + _first_fallen(balances[owner, mint])
            yield Debit(owner, mint, unpaid, place, "")


def _first_fallen(places: Mapping[int, int]) -> int:
    return min(place for place, change in places.items() if change < 0)


def _first_risen(places: Mapping[int, int]) -> int:
    return min(place for place, change in places.items() if change > 0)


def _labels(accounts: _Accounts, message: Any, meta: Any) -> tuple[str, ...]:
    """Return the keys that a payer's wallet added for us, and the memos.

    A Solana Pay reference is an account that is neither written nor signs, and that the payment itself does not need.
    """
    instructions = [*items(field(message, "instructions")), *_inner_instructions(meta)]
    programs = [_program(one, accounts.keys) for one in instructions]
    told = [entry for name in _TOLD for entry in items(field(meta, name))]
    in_a_role = _ORDINARY.union(programs, *(_roles(one, accounts.keys) for one in told))
    memos = [
        memo
        for program, instruction in zip(programs, instructions, strict=True)
        if program in _MEMO_PROGRAMS and (memo := _memo(instruction))
    ]
    # Accounts from lookup tables come last: there may be many, and wallets put references into the message itself.
    found = [*accounts.own_read_only, *memos, *accounts.loaded_read_only]
    labels = dict.fromkeys(label for label in found if label not in in_a_role)
    return tuple(labels)[:MOST_LABELS]


_TOLD: Final = ("preTokenBalances", "postTokenBalances")


def _roles(balance: Any, keys: Sequence[str]) -> set[str]:
    place = integer(field(balance, "accountIndex"), most=len(keys) - 1)
    return {keys[place], key(field(balance, "mint")), key(field(balance, "owner"))}


def _inner_instructions(meta: Any) -> list[Any]:
    groups = optional(meta, "innerInstructions")
    # Null where a node does not record them.
    if groups is None:
        return []
    return [one for each in items(groups) for one in items(field(each, "instructions"))]


def _program(instruction: Any, keys: Sequence[str]) -> str:
    return keys[integer(field(instruction, "programIdIndex"), most=len(keys) - 1)]


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
