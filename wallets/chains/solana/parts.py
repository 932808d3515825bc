"""A Solana transaction's movements of watched tokens: one for each instruction, where these explain the sums of its changes."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from wallets.chains.solana.instructions import Flow, Labels

MOST_ACCOUNTS: Final = 256
"""An account's place in its transaction is one byte."""

NOWHERE: Final = MOST_ACCOUNTS
"""Added to an account's position for a debit without a recipient: no account has such a position."""

Holding = tuple[str, str]
"""An owner and a mint."""

Balances = Mapping[Holding, Mapping[int, int]]
"""The changes of each holding's token accounts, by the account's place in the transaction."""


@dataclass(frozen=True, slots=True)
class Credit:
    """An owner got `units` base units of a token.

    `position` is the place, among the transaction's accounts, of the token account that rose (the first one, if several
    did), or that of the instruction, if the transaction moved this owner's token several times. The payer signed both orders, so
    it is the same at every node and for any set of watched tokens. `is_sum`: no known instruction moved just
    this amount, so it may be several payments.
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


def sum_credits(balances: Balances, *, fee_payer: str, labels: tuple[str, ...] = ()) -> Iterator[Credit]:
    """Yield the gain of each holding; its sender is the owner that lost most."""
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
            position=_first_risen(balances[owner, mint]),
            # Another program may have minted it, or moved it from where no balance is reported.
            sender=sender if fall < 0 else fee_payer,
            labels=labels,
        )


def sum_debits(balances: Balances, credits_: Sequence[Credit]) -> Iterator[Debit]:
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


_Told = TypeVar("_Told", Credit, Debit)


class Parts:
    """Splits sums into the movements that they consist of. `sums` and `debits` are those of the balances."""

    def __init__(
        self,
        balances: Balances,
        flows: Sequence[Flow],
        *,
        sums: Sequence[Credit],
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

    def credits(self, labels: Labels) -> Iterator[Credit]:
        """Yield the credits of all owners."""
        for holding in self._totals:
            found, flows = self._sums[holding], self._ins[holding]
            if holding in self._unclear:
                yield from (replace(one, is_sum=True) for one in found)
            elif self._is_whole(holding):
                pairs = zip(found, flows, strict=True)
                yield from (replace(c, sender=self._sender(f)) for c, f in pairs)
            else:
                yield from (self._credit(holding, f, labels) for f in flows)

    def debits(self) -> Iterator[Debit]:
        """Yield the debits of all owners."""
        for holding in self._totals:
            if holding in self._unclear or self._is_whole(holding):
                yield from self._debits[holding]
            else:
                yield from (self._debit(holding, one) for one in self._outs[holding])

    def _is_whole(self, holding: Holding) -> bool:
        """Whether the sums already are the movements: nothing was added up, and nothing was netted."""
        pairs = ((self._sums[holding], self._ins[holding]), (self._debits[holding], self._outs[holding]))
        return all(_units(told) == _units(flows) for told, flows in pairs)

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

    def _credit(self, holding: Holding, flow: Flow, labels: Labels) -> Credit:
        return Credit(
            *holding,
            units=flow.units,
            position=flow.position,
            sender=self._sender(flow),
            labels=labels.of(flow, self._ins[holding]),
        )

    def _debit(self, holding: Holding, flow: Flow) -> Debit:
        _, target = self._ends(flow)
        recipient = target[0] if target is not None else ""
        return Debit(*holding, units=flow.units, position=flow.position, recipient=recipient)

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


def _units(told: Sequence[Credit] | Sequence[Debit] | Sequence[Flow]) -> list[int]:
    return sorted(one.units for one in told)
