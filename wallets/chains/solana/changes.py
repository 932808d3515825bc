"""A Solana transaction's movements of watched tokens.

Balances are compared before and after, by owner and token. So the programs that moved them need not be known: a fee withheld
by Token-2022 and a transfer by another program are read correctly. The transaction's instructions then show of which movements a
change consists (`Parts`).
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, TypeVar

from wallets.chains.base import ChainUnavailableError
from wallets.chains.solana.decode import field, integer, items, key, optional, refuse, signature, slot, time
from wallets.chains.solana.instructions import BALANCES, Accounts, Flow, Labels, read_flows, read_steps

MOST_ACCOUNTS: Final = 256
"""An account's place in its transaction is one byte."""

NOWHERE: Final = MOST_ACCOUNTS
"""Added to an account's position for a debit without a recipient: no account has such a position."""

Holding = tuple[str, str]
"""An owner and a mint."""

Balances = Mapping[Holding, Mapping[int, int]]
"""The changes of each holding's token accounts, by the account's place in the transaction."""

NEWEST_VERSION: Final = 127
"""A transaction's version has seven bits. Future versions are read like the others, or refused."""

_AMOUNT: Final = re.compile(r"[0-9]{1,20}", re.ASCII)
_MOST_UNITS: Final = 2**64 - 1


@dataclass(frozen=True, slots=True)
class TokenCredit:
    """An owner got `units` base units of a token.

    `position` is the place, among the transaction's accounts, of the token account that rose (the first one, if several
    did), or that of the instruction, if the transaction moved this owner's token several times, or that of who paid it. The payer
    signed both orders, so it is the same at every node and for any set of watched tokens. `is_sum`: no known instruction moved
    just this amount, so it may be several payments.
    """

    owner: str
    mint: str
    units: int
    position: int
    sender: str
    labels: tuple[str, ...] = ()
    is_sum: bool = False


@dataclass(frozen=True, slots=True)
class Debit:
    """An owner gave `units` base units of a token to a recipient.

    `position` is that of the recipient's Credit, so that both sides identify the same movement. If there is no
    recipient (burned, or withheld as a fee), `recipient` is empty and `position` is NOWHERE plus the place of the
    first token account that fell.
    """

    owner: str
    mint: str
    units: int
    position: int
    recipient: str


@dataclass(frozen=True, slots=True)
class Effects:
    """What a transaction moved. `sums` are the credits by balance alone, as releases before 0.26 recorded them."""

    credits: tuple[TokenCredit, ...] = ()
    debits: tuple[Debit, ...] = ()
    sums: tuple[TokenCredit, ...] = ()


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
    def credits(self) -> tuple[TokenCredit, ...]:
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


def read_strangers(answer: Any, *, known: Collection[str]) -> tuple[TokenCredit, ...]:
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


def read_to_oneself(answer: Any) -> tuple[TokenCredit, ...]:
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
        TokenCredit(*holders[flow.source], flow.units, flow.position, holders[flow.source][0])
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


def sum_credits(balances: Balances, *, fee_payer: str, labels: tuple[str, ...] = ()) -> Iterator[TokenCredit]:
    """Yield the gain of each holding; its sender is the owner that lost most."""
    totals = {holding: sum(places.values()) for holding, places in balances.items()}
    for (owner, mint), units in totals.items():
        if units <= 0:
            continue
        falls = [(total, who) for (who, what), total in totals.items() if what == mint]
        fall, sender = min(falls)
        yield TokenCredit(
            owner=owner,
            mint=mint,
            units=units,
            position=_first_risen(balances[owner, mint]),
            # Another program may have minted it, or moved it from where no balance is reported.
            sender=sender if fall < 0 else fee_payer,
            labels=labels,
        )


def sum_debits(balances: Balances, credits_: Sequence[TokenCredit]) -> Iterator[Debit]:
    """Assign the credits to debits, the largest debit first, so that a single payer paid everything."""
    falls = sorted((total, holding) for holding, places in balances.items() if (total := sum(places.values())) < 0)
    risen = sorted(credits_, key=lambda credit: credit.position)
    left = {credit.position: credit.units for credit in risen}
    for fall, (owner, mint) in falls:
        unpaid = -fall
        for credit in risen:
            units = min(unpaid, left[credit.position])
            if credit.mint != mint or not units:
                continue
            left[credit.position] -= units
            unpaid -= units
            yield Debit(owner, mint, units, credit.position, credit.owner)
        if unpaid:
            place = NOWHERE + _first_fallen(balances[owner, mint])
            yield Debit(owner, mint, unpaid, place, "")


def _first_fallen(places: Mapping[int, int]) -> int:
    return min(place for place, change in places.items() if change < 0)


def _first_risen(places: Mapping[int, int]) -> int:
    return min(place for place, change in places.items() if change > 0)


_Told = TypeVar("_Told", TokenCredit, Debit)


class Parts:
    """Splits sums into the movements that they consist of. `sums` and `debits` are those of the balances."""

    def __init__(
        self,
        balances: Balances,
        flows: Sequence[Flow],
        *,
        sums: Sequence[TokenCredit],
        debits: Sequence[Debit],
        signers: Sequence[str],
    ) -> None:
        self._holders = _holders(balances)
        self._totals = {one: sum(all_.values()) for one, all_ in balances.items()}
        self._signers = signers
        self._sums, self._debits = _by_holding(sums), _by_holding(debits)
        self._ins: dict[Holding, list[Flow]] = defaultdict(list)
        self._outs: dict[Holding, list[Flow]] = defaultdict(list)
        for flow in flows:
            source, target = self._ends(flow)
            # A transfer between accounts of one owner is no movement.
            if source != target:
                self._add(self._outs, source, flow)
                self._add(self._ins, target, flow)
        self._unclear = self._find_unclear(balances, flows)
        self._split = self._find_split(flows)

    def credits(self, labels: Labels) -> Iterator[TokenCredit]:
        """Yield the credits of all owners."""
        for holding in self._totals:
            found, flows = self._sums[holding], self._ins[holding]
            if holding in self._unclear:
                yield from (replace(one, is_sum=True) for one in found)
            elif holding in self._split:
                yield from (self._credit(holding, f, labels) for f in flows)
            else:
                pairs = zip(found, flows, strict=True)
                yield from (replace(c, sender=self._sender(f)) for c, f in pairs)

    def debits(self) -> Iterator[Debit]:
        """Yield the debits of all owners."""
        for holding in self._totals:
            if holding in self._split:
                yield from (self._debit(holding, one) for one in self._outs[holding])
            else:
                yield from self._debits[holding]

    def _find_split(self, flows: Sequence[Flow]) -> set[Holding]:
        """Return the holdings that are told in parts, with all that they paid or were paid by.

        Both sides must report the same movement at the same position, and one owner's movements are all parts or all sums.
        """
        clear = self._totals.keys() - self._unclear
        split = {holding for holding in clear if not self._is_whole(holding)}
        sides = [{one for one in self._ends(flow) if one is not None and one in clear} for flow in flows]
        while further := {one for ends in sides if ends & split for one in ends} - split:
            split |= further
        return split

    def _is_whole(self, holding: Holding) -> bool:
        """Whether the sums already are the movements: nothing was added up or netted, and each reached its recipient."""
        came = sorted(one.units for one in self._sums[holding])
        left = sorted((one.recipient, one.units) for one in self._debits[holding])
        return came == sorted(flow.units for flow in self._ins[holding]) and left == sorted(
            (self._recipient(flow), flow.units) for flow in self._outs[holding]
        )

    def _find_unclear(self, balances: Balances, flows: Sequence[Flow]) -> set[Holding]:
        moved: dict[int | None, int] = defaultdict(int)
        for flow in flows:
            moved[flow.source] -= flow.units
            moved[flow.target] += flow.units
        unclear = {
            holding
            for holding, places in balances.items()
            for place, change in places.items()
            if moved[place] != change or self._holders[place] is None
        }
        unclear |= {holding for holding in self._ins.keys() & self._outs.keys() if holding[0] not in self._signers}
        ends = [self._ends(flow) for flow in flows]
        # Both sides must report the same movement, so whoever paid an unclear holding is unclear too.
        payers = {source for source, target in ends if target in unclear}
        return unclear | {one for one in payers if one is not None}

    def _credit(self, holding: Holding, flow: Flow, labels: Labels) -> TokenCredit:
        return TokenCredit(
            *holding,
            units=flow.units,
            position=flow.position,
            sender=self._sender(flow),
            labels=labels.of(flow, self._ins[holding]),
        )

    def _debit(self, holding: Holding, flow: Flow) -> Debit:
        return Debit(*holding, units=flow.units, position=flow.position, recipient=self._recipient(flow))

    def _recipient(self, flow: Flow) -> str:
        """Return the target's owner; empty where there is none."""
        _, target = self._ends(flow)
        return target[0] if target is not None else ""

    def _sender(self, flow: Flow) -> str:
        """Return the source's owner; if it only passed the money on, the owner that lost most; else the payer of the fee."""
        source, target = self._ends(flow)
        if source is not None and self._totals[source] < 0:
            return source[0]
        falls = [
            (total, owner)
            for (owner, mint), total in self._totals.items()
            if total < 0 and target is not None and mint == target[1]
            if owner != target[0]
        ]
        if falls:
            return min(falls)[1]
        return source[0] if source is not None else self._signers[0]

    def _ends(self, flow: Flow) -> tuple[Holding | None, Holding | None]:
        return self._at(flow.source), self._at(flow.target)

    def _at(self, place: int | None) -> Holding | None:
        return None if place is None else self._holders.get(place)

    @staticmethod
    def _add(flows: dict[Holding, list[Flow]], holding: Holding | None, flow: Flow) -> None:
        if holding is not None:
            flows[holding].append(flow)


def _holders(balances: Balances) -> dict[int, Holding | None]:
    """Return the holding of each token account, by its place; None for an account that changed hands."""
    holders: dict[int, Holding | None] = {}
    for holding, places in balances.items():
        for place in places:
            holders[place] = None if place in holders else holding
    return holders


def _by_holding(told: Sequence[_Told]) -> Mapping[Holding, list[_Told]]:
    found: dict[Holding, list[_Told]] = defaultdict(list)
    for one in told:
        found[one.owner, one.mint].append(one)
    return found
