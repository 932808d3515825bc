"""Which payout an outflow pays: pure rules, in their order.

1. A payout fits that waits for exactly this: chain, token, recipient and units are the same, and it is not younger.
2. Of those that fit, the one that the transaction names; else one of a batch of the paying wallet; else the oldest.
3. Else, a payout that fits but has its outflow already was paid twice, unless a reorg removed that: then it is paid again; one that
   was cancelled was paid all the same. Each only for a time after it ended, or if the transaction names it: the same amount a month
   later is the next wage.
4. Else, a payout that waits for another amount to this recipient: a person may accept the outflow.
5. Else nothing: a wallet may pay whom it likes.

Rule 3 comes before rule 4: a second send of one payout would be offered as the wrong amount of another, which would end unpaid.

Two payouts of one amount to one recipient cannot be told apart without a name in the transaction: a second send of the first pays
the second. The number of payouts that are called paid never exceeds the number of fitting outflows, and what is too much is
reported.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

import base58

from checkouts.attribution.labels import plain

# Ids have underscores, keys are base58.
_WORD: Final = re.compile(r"[0-9A-Za-z_]+")

CLOCKS_DIFFER: Final = timedelta(seconds=60)
"""How much earlier than its payout an outflow's block may be: blocks carry their own times."""


SECOND_SEND: Final = timedelta(days=5)
"""How long after a payout and its batches ended the same outflow is a second send: a long weekend, and less than a week's wage."""


def reference_of(public_id: str) -> bytes:
    """Return the 32 bytes that a payment of a payout carries on Solana, as a key that nobody has (Solana Pay's reference)."""
    return hashlib.sha256(f"florin payout {public_id}".encode()).digest()


def names_of(public_id: str) -> frozenset[str]:
    """Return what names a payout in a transaction: its reference, and its id as a text."""
    return frozenset({public_id, base58.b58encode(reference_of(public_id)).decode()})


def names_in(labels: Iterable[str]) -> frozenset[str]:
    """Return what may be a payout's name in the texts that a payer attached, whatever stands around it."""
    return frozenset(word for label in labels for word in _WORD.findall(plain(label)))


class MatchKind(Enum):
    """What an outflow is to a payout."""

    PAYS = "it pays it"
    PAID_TWICE = "it pays it a second time, after it was cancelled, or after a reorg removed what paid it"
    WRONG_AMOUNT = "it goes to its recipient, but has other units"
    NOTHING = "no payout is concerned"


@dataclass(frozen=True, slots=True)
class Outflow:
    """What left a wallet. `recipient` is in canonical form; `names` are the transaction's hash and labels.

    One that `must_be_named` comes from a wallet that is not watched, which may be anybody's: only a payout that it names is
    concerned.
    """

    chain: str
    token: str
    recipient: str
    units: int
    block_time: datetime
    wallet_id: int | None = None
    names: frozenset[str] = frozenset()
    must_be_named: bool = False


@dataclass(frozen=True, slots=True)
class PayoutCandidate:
    """A payout that was approved: it waits for its outflow (`is_waiting`), has one, final or not, or was handed out and cancelled.

    `wallet_id` is its batch's wallet. `names` are the names of it that a transaction may carry: its reference key, its text, and the
    hash of a transaction that was handed out for it. Names are guesses to others: they never overrule rule 1. `ended_at` is when it
    and its last batch ended, or a list that is still open was last paid from; None while they have not. It `was_reversed` if a reorg
    removed its outflow after that was final.
    """

    pk: int
    chain: str
    token: str
    recipient: str
    units: int
    created_at: datetime
    is_waiting: bool
    wallet_id: int | None = None
    names: frozenset[str] = frozenset()
    ended_at: datetime | None = None
    is_cancelled: bool = False
    was_paid_twice: bool = False
    was_reversed: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """What an outflow is to which payout; None to no one."""

    verdict: MatchKind
    payout: PayoutCandidate | None = None


def match(outflow: Outflow, candidates: Iterable[PayoutCandidate]) -> Match:
    """Return what an outflow is to a merchant's payouts of one mode."""
    related = [one for one in candidates if _is_related(outflow, one)]
    for verdict, rule in RULES:
        if found := [one for one in related if rule(outflow, one)]:
            return Match(verdict, _preferred(outflow, found))
    return Match(MatchKind.NOTHING)


def _is_related(outflow: Outflow, payout: PayoutCandidate) -> bool:
    if outflow.must_be_named and not outflow.names & payout.names:
        return False
    same = (payout.chain, payout.token, payout.recipient) == (outflow.chain, outflow.token, outflow.recipient)
    return same and outflow.block_time >= payout.created_at - CLOCKS_DIFFER


def _pays(outflow: Outflow, payout: PayoutCandidate) -> bool:
    return payout.is_waiting and payout.units == outflow.units


def _repeats(outflow: Outflow, payout: PayoutCandidate) -> bool:
    is_soon = payout.ended_at is None or outflow.block_time <= payout.ended_at + SECOND_SEND
    is_named = bool(outflow.names & payout.names)
    return not payout.is_waiting and payout.units == outflow.units and (is_soon or is_named)


def _is_near(outflow: Outflow, payout: PayoutCandidate) -> bool:
    return payout.is_waiting and payout.units != outflow.units


Rule = Callable[[Outflow, PayoutCandidate], bool]

RULES: Sequence[tuple[MatchKind, Rule]] = (
    (MatchKind.PAYS, _pays),
    (MatchKind.PAID_TWICE, _repeats),
    (MatchKind.WRONG_AMOUNT, _is_near),
)
"""The verdicts in the order in which they are tried."""


def _preferred(outflow: Outflow, payouts: Sequence[PayoutCandidate]) -> PayoutCandidate:
    """Return the named one, else one of the paying wallet's batches, else the oldest; never blame one twice before the others.

    One whose outflow is gone is still owed, and a cancelled one has none yet, so that they come before one that was paid.
    """

    def rank(payout: PayoutCandidate) -> tuple[bool, bool, bool, bool, bool, datetime, int]:
        is_named = bool(outflow.names & payout.names)
        is_own = payout.wallet_id is not None and payout.wallet_id == outflow.wallet_id
        owed = (not payout.was_reversed, payout.was_paid_twice, not payout.is_cancelled)
        return (not is_named, *owed, not is_own, payout.created_at, payout.pk)

    return min(payouts, key=rank)
