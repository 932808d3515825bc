"""Rules of the rescue: from facts about a transaction to one case.

Pure: no database, no clock, no node. Facts about other buyers are never passed in, so no case can reveal them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from checkouts.amounts import DUST_UNITS
from checkouts.attribution.deposit_rules import is_older, lateness
from checkouts.states import CheckoutStatus, InboxReason, RescueVerdict


class Whose(StrEnum):
    """The owner of an address, as seen from one checkout."""

    # Derived for this checkout: money there was meant for it.
    CHECKOUT = "checkout"
    # The merchant's wallet that the checkout names; buyers of other checkouts pay there too.
    MERCHANT = "merchant"
    OTHER = "other"


class Case(StrEnum):
    """The case that the answer to the buyer describes. Of several movements in one transaction, the first case listed here wins."""

    CREDITED = "credited"
    SHORT = "short"
    # Seen and credited; the network is still confirming it.
    CONFIRMING = "confirming"
    # On the chain, but not read or not decided yet.
    READING = "reading"
    # A node knows it, but no block has it.
    IN_LINE = "in_line"
    # In time, but found too late to count: our fault.
    FOUND_LATE = "found_late"
    LATE = "late"
    EXTRA = "extra"
    DUST = "dust"
    # In the merchant's wallet, but nothing names this checkout.
    UNNAMED = "unnamed"
    # The right token on an offered chain, but at another chain's address.
    WRONG_PLACE = "wrong_place"
    WRONG_NETWORK = "wrong_network"
    WRONG_TOKEN = "wrong_token"  # noqa: S105 - a kind of money
    # A chain's own coin.
    COIN = "coin"
    # A token that no list has. It may be worth something.
    UNKNOWN_TOKEN = "unknown_token"  # noqa: S105 - a kind of money
    # An unlisted one that bears a genuine token's name.
    FAKE_TOKEN = "fake_token"  # noqa: S105 - a kind of fraud
    # Its sender is its recipient: it moved nothing.
    TO_ONESELF = "to_oneself"
    # It reached the merchant's wallet before this checkout was created.
    EARLIER = "earlier"
    OTHER_ADDRESS = "other_address"
    NOTHING_MOVED = "nothing_moved"
    FAILED = "failed"
    UNREACHABLE = "unreachable"
    NOT_FOUND = "not_found"


VERDICTS = MappingProxyType(
    {
        Case.CREDITED: RescueVerdict.CREDITED,
        Case.SHORT: RescueVerdict.SHORT,
        Case.CONFIRMING: RescueVerdict.NOT_FINAL,
        Case.READING: RescueVerdict.NOT_FINAL,
        Case.IN_LINE: RescueVerdict.NOT_FINAL,
        Case.FOUND_LATE: RescueVerdict.WAITING,
        Case.LATE: RescueVerdict.LATE,
        Case.EXTRA: RescueVerdict.EXTRA,
        Case.DUST: RescueVerdict.WAITING,
        Case.UNNAMED: RescueVerdict.WAITING,
        Case.WRONG_PLACE: RescueVerdict.WRONG_NETWORK,
        Case.WRONG_NETWORK: RescueVerdict.WRONG_NETWORK,
        Case.WRONG_TOKEN: RescueVerdict.WRONG_TOKEN,
        Case.COIN: RescueVerdict.WRONG_TOKEN,
        Case.UNKNOWN_TOKEN: RescueVerdict.WRONG_TOKEN,
        Case.FAKE_TOKEN: RescueVerdict.FAKE_TOKEN,
        Case.TO_ONESELF: RescueVerdict.OTHER_ADDRESS,
        Case.EARLIER: RescueVerdict.OTHER_ADDRESS,
        Case.OTHER_ADDRESS: RescueVerdict.OTHER_ADDRESS,
        Case.NOTHING_MOVED: RescueVerdict.OTHER_ADDRESS,
        Case.FAILED: RescueVerdict.FAILED,
        Case.UNREACHABLE: RescueVerdict.UNREACHABLE,
        Case.NOT_FOUND: RescueVerdict.NOT_FOUND,
    }
)
UNDECIDED = frozenset({RescueVerdict.NOT_FINAL, RescueVerdict.UNREACHABLE, RescueVerdict.NOT_FOUND})
"""Verdicts that another look-up may change; all others are final."""

_RANKS = {case: rank for rank, case in enumerate(Case)}


@dataclass(frozen=True, slots=True)
class Record:
    """Our record of a movement for this checkout: credited to it, or in the inbox as meant for it.

    `is_decided` without either means that it belongs to another checkout or is unmatched.
    """

    is_credited: bool = False
    is_meant: bool = False
    is_decided: bool = False
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class RescueMovement:
    """A token movement of the transaction. `token` is empty for an unlisted token; `is_coin` marks the chain's native coin.

    `takes_chain` and `takes_token` say whether the checkout offered them, `is_in_place` whether it named this address.
    """

    token: str
    units: int
    recipient: str
    whose: Whose
    # The hash under which it is recorded, or would be.
    tx_hash: str = ""
    is_coin: bool = False
    # The contract, where it is unlisted.
    token_address: str = ""
    is_accepted: bool = False
    takes_chain: bool = False
    takes_token: bool = False
    is_in_place: bool = False
    record: Record | None = None

    @property
    def is_ours(self) -> bool:
        """Return whether it went to the checkout's address, or was credited to the checkout from another one."""
        record = self.record or Record()
        is_linked = record.is_credited or record.is_meant
        return is_linked or self.whose is not Whose.OTHER


@dataclass(frozen=True, slots=True)
class RescueTransaction:
    """A transaction that a chain or our books know; `block_time` is None while it waits for a block.

    Without `is_whole`, it may still make further movements.
    """

    chain: str
    tx_hash: str
    succeeded: bool
    block_time: datetime | None
    movements: Sequence[RescueMovement]
    to_oneself: Sequence[RescueMovement] = ()
    is_whole: bool = True

    @property
    def is_ours(self) -> bool:
        """Whether it concerns the checkout."""
        return any(movement.is_ours for movement in self.movements)


@dataclass(frozen=True, slots=True)
class CheckoutStanding:
    """The checkout's state. `missing_units` is the amount due, as on its page."""

    status: CheckoutStatus
    missing_units: int
    created_at: datetime
    expires_at: datetime
    is_cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer. `transaction` and `movement` are its subject; `late_by` is how late the payment came."""

    case: Case
    transaction: RescueTransaction | None = None
    movement: RescueMovement | None = None
    late_by: timedelta | None = None

    @property
    def verdict(self) -> RescueVerdict:
        """Return the case as it is recorded."""
        return VERDICTS[self.case]

    @property
    def is_unread(self) -> bool:
        """Return whether a chain has money for the checkout that is not recorded."""
        is_new = self.movement is not None and self.movement.record is None
        return is_new and self.case in {Case.READING, Case.LATE, Case.FOUND_LATE, Case.EXTRA}


def find(transactions: Iterable[RescueTransaction], standing: CheckoutStanding, *, is_all: bool) -> Finding:
    """Return the best case for all transactions with one hash; `is_all` says that all chains answered."""
    unknown = Finding(Case.NOT_FOUND if is_all else Case.UNREACHABLE)
    found = [finding for each in transactions for finding in _judge(each, standing)]
    return min(found, key=_preference, default=unknown)


def _preference(finding: Finding) -> tuple[int, int]:
    units = finding.movement.units if finding.movement else 0
    return _RANKS[finding.case], -units


def _judge(transaction: RescueTransaction, standing: CheckoutStanding) -> list[Finding]:
    if not transaction.succeeded:
        return [Finding(Case.FAILED, transaction)]
    is_coming = not (transaction.is_whole or transaction.is_ours)
    if is_coming or (not transaction.movements and transaction.block_time is None):
        return [Finding(Case.IN_LINE, transaction)]
    if not transaction.movements and not transaction.to_oneself:
        return [Finding(Case.NOTHING_MOVED, transaction)]
    moved_nothing = [Finding(Case.TO_ONESELF, transaction, movement) for movement in transaction.to_oneself]
    return moved_nothing + [
        Finding(_case(movement, transaction, standing), transaction, movement, _late_by(transaction, standing))
        for movement in transaction.movements
    ]


def _late_by(transaction: RescueTransaction, standing: CheckoutStanding) -> timedelta | None:
    if transaction.block_time is None:
        return None
    if _lateness(transaction.block_time, standing) is not InboxReason.LATE:
        return None
    return transaction.block_time - standing.expires_at


def _lateness(block_time: datetime, standing: CheckoutStanding) -> InboxReason | None:
    return lateness(
        block_time, status=standing.status, expires_at=standing.expires_at, is_cancelled=standing.is_cancelled
    )


def _case(movement: RescueMovement, transaction: RescueTransaction, standing: CheckoutStanding) -> Case:
    record = movement.record or Record()
    # Includes money at any address that a person credited.
    if record.is_credited:
        return credited_case(standing, is_final=record.is_final)
    if not movement.is_ours:
        return Case.OTHER_ADDRESS
    is_named = record.is_meant or movement.whose is Whose.CHECKOUT
    if not is_named and _is_earlier(transaction, standing):
        return Case.EARLIER
    unfit = _unfit(movement)
    if unfit is not None:
        return unfit
    if transaction.block_time is None:
        return Case.IN_LINE
    if not is_named:
        return Case.UNNAMED if record.is_decided else Case.READING
    return _in_time(record, transaction.block_time, standing)


def credited_case(standing: CheckoutStanding, *, is_final: bool) -> Case:
    """Return the case of a transfer that pays the checkout."""
    if standing.missing_units:
        return Case.SHORT
    if standing.status == CheckoutStatus.EXPIRED:
        # A reorg removed it and brought it back after the time was over.
        return Case.FOUND_LATE
    return Case.CREDITED if is_final else Case.CONFIRMING


def _is_earlier(transaction: RescueTransaction, standing: CheckoutStanding) -> bool:
    mined_at = transaction.block_time
    return mined_at is not None and is_older(mined_at, standing.created_at, named=True)


def _unfit(movement: RescueMovement) -> Case | None:
    """Return why this movement can never pay anything; None if it may."""
    if not movement.token:
        return Case.COIN if movement.is_coin else Case.UNKNOWN_TOKEN
    if not movement.is_accepted:
        return Case.WRONG_TOKEN
    if not movement.takes_chain:
        return Case.WRONG_NETWORK
    if not movement.takes_token:
        return Case.WRONG_TOKEN
    if not movement.is_in_place:
        return Case.WRONG_PLACE
    return Case.DUST if movement.units < DUST_UNITS else None


_TOO_LATE = {InboxReason.EXTRA: Case.EXTRA, InboxReason.LATE: Case.LATE, InboxReason.LATE_OUTAGE: Case.FOUND_LATE}


def _in_time(record: Record, block_time: datetime, standing: CheckoutStanding) -> Case:
    """Return the case of money meant for the checkout but not credited."""
    if (reason := _lateness(block_time, standing)) is not None:
        return _TOO_LATE[reason]
    if not record.is_decided:
        return Case.READING
    return Case.FOUND_LATE if standing.missing_units else Case.EXTRA
