"""Checkout statuses, the moves between them, and how a status follows from facts."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.db.models import TextChoices

GRACE: Final = timedelta(seconds=60)
"""A block's own time may run a little ahead; the contract allows a minute."""


class CheckoutStatus(TextChoices):
    """Where a checkout stands; the specification's five words."""

    PENDING = "pending"
    PROCESSING = "processing"
    UNDERPAID = "underpaid"
    COMPLETED = "completed"
    EXPIRED = "expired"


class CheckoutException(TextChoices):
    """What is unusual about a checkout, beside its status."""

    NONE = ""
    UNDERPAID = "underpaid"
    OVERPAID = "overpaid"
    REVERSED = "reversed"


class InboxReason(TextChoices):
    """Why a transfer waits for a person."""

    LATE = "late"
    LATE_OUTAGE = "late_outage"
    EXTRA = "extra"
    WRONG_NETWORK = "wrong_network"
    WRONG_TOKEN = "wrong_token"  # noqa: S105 - a kind of money
    DUST = "dust"
    UNMATCHED = "unmatched"
    # Several checkouts might be meant, and nothing says which.
    AMBIGUOUS = "ambiguous"
    REVERSED = "reversed"
    # It was credited; another checkout of the price had just expired, and its buyer may be the one who paid.
    RIVAL = "rival"


class InboxStatus(TextChoices):
    """What a person did about it."""

    OPEN = "open"
    CREDITED = "credited"
    REFUNDED = "refunded"
    DISMISSED = "dismissed"


class InboxAct(TextChoices):
    """What a person can decide about money in the inbox."""

    CREDIT = "credit"
    # A successor of the expired checkout takes all that came for it.
    ACCEPT_LATE = "accept_late"
    REFUNDED = "refunded"
    DISMISS = "dismiss"


class RescueVerdict(TextChoices):
    """What became of a transaction that a buyer says paid a checkout."""

    CREDITED = "credited"
    NOT_FINAL = "not_final"
    # It reached us, and a person at the merchant decides.
    WAITING = "waiting"
    SHORT = "short"
    LATE = "late"
    # The checkout was paid already.
    EXTRA = "extra"
    WRONG_NETWORK = "wrong_network"
    WRONG_TOKEN = "wrong_token"  # noqa: S105 - a kind of money
    FAKE_TOKEN = "fake_token"  # noqa: S105 - a kind of fraud
    OTHER_ADDRESS = "other_address"
    FAILED = "failed"
    NOT_FOUND = "not_found"
    # Some chain could not be asked, and no other knows it.
    UNREACHABLE = "unreachable"


class TestScenario(TextChoices):
    """How a test checkout plays out."""

    COMPLETED = "completed"
    UNDERPAID = "underpaid"
    OVERPAID = "overpaid"
    LATE = "late"
    EXPIRED = "expired"
    REORG = "reorg"


_S = CheckoutStatus
MOVES: dict[CheckoutStatus, frozenset[CheckoutStatus]] = {
    _S.PENDING: frozenset({_S.PROCESSING, _S.UNDERPAID, _S.COMPLETED, _S.EXPIRED}),
    _S.PROCESSING: frozenset({_S.PENDING, _S.UNDERPAID, _S.COMPLETED}),
    _S.UNDERPAID: frozenset({_S.PENDING, _S.PROCESSING, _S.COMPLETED, _S.EXPIRED}),
    _S.COMPLETED: frozenset(),
    _S.EXPIRED: frozenset(),
}
FINAL = frozenset(status for status, moves in MOVES.items() if not moves)
LIVE = frozenset(CheckoutStatus) - FINAL
# For what hangs on their order, as a migration does.
LIVE_IN_ORDER = tuple(status for status in CheckoutStatus if status in LIVE)


class EscrowStatus(TextChoices):
    """Whether money that came for a checkout in escrow still waits for somebody of the team."""

    HELD = "held"
    RELEASED = "released"


@dataclass(frozen=True, slots=True)
class Received:
    """What a checkout's transfers add up to, in base units: all that count, and the final ones among them."""

    seen: int
    confirmed: int

    @property
    def unconfirmed(self) -> int:
        """Units seen and not final yet."""
        return self.seen - self.confirmed


def derive_status(
    current: CheckoutStatus, received: Received, *, needed_units: int
) -> CheckoutStatus:
    """Return the status that the facts ask for; `needed_units` is the amount less the tolerance.

    Expiry is not derived here: it depends on how far the chains were read.
    """
    if current in FINAL:
        return current
    if received.confirmed >= needed_units:
        return CheckoutStatus.COMPLETED
    if received.seen >= needed_units:
        return CheckoutStatus.PROCESSING
    if received.confirmed and not received.unconfirmed:
        return CheckoutStatus.UNDERPAID
    if received.confirmed and current == CheckoutStatus.UNDERPAID:
        return CheckoutStatus.UNDERPAID
    return CheckoutStatus.PENDING
