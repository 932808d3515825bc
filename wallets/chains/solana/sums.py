"""Sums of a Solana transaction's changes of balances, by owner and token: what each gained, and where its loss went."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

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
    it is the same at every node and for any set of watched tokens. `is_sum` says that no instruction is known that moved
    just this: it may be several payments.
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
    """Yield what each holding gained, from whom lost most."""
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
