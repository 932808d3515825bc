"""A Solana transaction's effects on the balances of watched tokens.

Balances are compared before and after, by owner and token. So the programs that moved them need not be known: a fee withheld
by Token-2022 and a transfer by another program are read correctly. The transaction's instructions then show of which movements a
change consists (`parts`).
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from wallets.chains.base import ChainUnavailableError
from wallets.chains.solana.decode import field, integer, items, key, optional, refuse, signature, slot, time
from wallets.chains.solana.instructions import BALANCES, Accounts, Labels, read_flows, read_steps
from wallets.chains.solana.parts import MOST_ACCOUNTS, Balances, Credit, Debit, Holding, Parts, sum_credits, sum_debits

NEWEST_VERSION: Final = 127
"""A transaction's version has seven bits. Future versions are read like the others, or refused."""

_AMOUNT: Final = re.compile(r"[0-9]{1,20}", re.ASCII)
_MOST_UNITS: Final = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Effects:
    """What a transaction moved. `sums` are the credits by balance alone, as releases before 0.26 recorded them."""

    credits: tuple[Credit, ...] = ()
    debits: tuple[Debit, ...] = ()
    sums: tuple[Credit, ...] = ()


_NOTHING: Final = Effects()


@dataclass(frozen=True, slots=True)
class ReadTransaction:
    """A transaction's effects on watched tokens. `accounts` are all that it names; a failed one moved nothing."""

    slot: int
    time: datetime
    accounts: frozenset[str]
    succeeded: bool
    effects: Effects

    @property
    def credits(self) -> tuple[Credit, ...]:
        """Return what owners got."""
        return self.effects.credits

    @property
    def debits(self) -> tuple[Debit, ...]:
        """Return what owners gave."""
        return self.effects.debits


def read_transaction(
    answer: Any, *, asked: str, decimals: Mapping[str, int], unaccepted: Collection[str] = ()
) -> ReadTransaction:
    """Read a transaction in the encoding `json`; `decimals` are those of the watched tokens, by mint.

    An unaccepted mint that has other decimals is left out: a wrong figure of ours must not stop the reading of payments.

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
    balances = {} if failed else _balances(meta, accounts.keys, decimals, unaccepted)
    effects = _effects(balances, accounts, message, meta) if balances else _NOTHING
    return ReadTransaction(
        slot=slot(field(answer, "slot")),
        time=time(seconds),
        accounts=frozenset(accounts.keys),
        succeeded=not failed,
        effects=effects,
    )


def _effects(balances: Balances, accounts: Accounts, message: Any, meta: Any) -> Effects:
    steps = read_steps(message, meta, accounts.keys)
    labels, signers = Labels(accounts, steps, meta), accounts.signers
    sums = tuple(sum_credits(balances, fee_payer=signers[0], labels=labels.all()))
    debits = tuple(sum_debits(balances, sums))
    parts = Parts(balances, read_flows(steps), sums=sums, debits=debits, signers=signers)
    return Effects(tuple(parts.credits(labels)), tuple(parts.debits()), sums)


def read_strangers(answer: Any, *, known: Collection[str]) -> tuple[Credit, ...]:
    """Return the other movements of a transaction that `read_transaction` has read: of unknown tokens, and of coin.

    Coin has an empty mint, and lamports as units; the rent deposits of token accounts do not count. Raises
    MalformedAnswerError.
    """
    meta, message = (field(answer, "meta"), field(field(answer, "transaction"), "message"))
    if field(meta, "err") is not None:
        return ()
    keys = _accounts(message, meta).keys
    balances = _strange_balances(meta, keys, known)
    tokens = sum_credits(balances, fee_payer=keys[0])
    return (*tokens, *sum_credits(_coin(meta, keys), fee_payer=keys[0]))


def read_to_oneself(answer: Any) -> tuple[Credit, ...]:
    """Return what owners sent to themselves, of any token, in a transaction that `read_transaction` has read.

    It changes no owner's balance, so only the instructions tell it. Raises MalformedAnswerError.
    """
    meta, message = (field(answer, "meta"), field(field(answer, "transaction"), "message"))
    if field(meta, "err") is not None:
        return ()
    keys = _accounts(message, meta).keys
    told = [entry for name in BALANCES for entry in items(field(meta, name))]
    holders: dict[int | None, Holding] = {
        integer(field(one, "accountIndex"), most=len(keys) - 1): (key(owner), key(field(one, "mint")))
        for one in told
        if (owner := optional(one, "owner")) is not None
    }
    flows = read_flows(read_steps(message, meta, keys))
    return tuple(
        Credit(*holders[flow.source], flow.units, flow.position, holders[flow.source][0])
        for flow in flows
        if flow.source in holders and holders[flow.source] == holders.get(flow.target)
    )


def _strange_balances(meta: Any, keys: Sequence[str], known: Collection[str]) -> dict[Holding, dict[int, int]]:
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
    told = [entry for name in BALANCES for entry in items(field(meta, name))]
    token_accounts = {integer(field(entry, "accountIndex"), most=len(keys) - 1) for entry in told}
    before, after = (
        [integer(one, most=_MOST_UNITS) for one in items(field(meta, name))] for name in ("preBalances", "postBalances")
    )
    if not len(before) == len(after) == len(keys):
        refuse("as many balances came as a transaction has no accounts")
    return {
        (owner, ""): {place: after[place] - before[place]}
        for place, owner in enumerate(keys)
        if place not in token_accounts
    }


def _accounts(message: Any, meta: Any) -> Accounts:
    own = [key(one) for one in items(field(message, "accountKeys"))]
    loaded = optional(meta, "loadedAddresses")
    # Nodes leave it out where a transaction cannot have any.
    writable, read_only = (
        [key(one) for one in items(field(loaded, name))] if loaded is not None else []
        for name in ("writable", "readonly")
    )
    header = field(message, "header")
    signers, unsigned_read_only = (
        integer(field(header, name), most=MOST_ACCOUNTS)
        for name in ("numRequiredSignatures", "numReadonlyUnsignedAccounts")
    )
    keys = [*own, *writable, *read_only]
    if not signers or signers + unsigned_read_only > len(own):
        refuse("a transaction has fewer accounts than it says")
    if len(keys) > MOST_ACCOUNTS or len(set(keys)) < len(keys):
        refuse("a transaction names accounts that it cannot name")
    return Accounts(keys, own[:signers], own[len(own) - unsigned_read_only :], read_only)


def _balances(
    meta: Any, keys: Sequence[str], decimals: Mapping[str, int], unaccepted: Collection[str]
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
                amount = field(entry, "uiTokenAmount")
                if mint in unaccepted and field(amount, "decimals") != decimals[mint]:
                    continue
                units = _units(amount, decimals[mint])
                changes[key(field(entry, "owner")), mint][place] += sign * units
    return changes


def _units(amount: Any, decimals: int | None) -> int:
    text = field(amount, "amount")
    if not isinstance(text, str) or not _AMOUNT.fullmatch(text):
        refuse("an amount is not an amount")
    if decimals is not None and field(amount, "decimals") != decimals:
        refuse("a token has other decimals than it has")
    return integer(int(text), most=_MOST_UNITS)
