"""Checkout statuses, the moves between them, and their derivation from facts."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Final

from django.db.models import TextChoices
from django.utils.translation import pgettext_lazy

from gateway.core.texts import Lazy
from gateway.core.web.badges import Badge, BadgedChoices

GRACE: Final = timedelta(seconds=60)
"""A block's own time may run slightly ahead; the contract allows a minute."""

TIME_FOR_THE_REST: Final = timedelta(minutes=15)
"""How long at least a buyer can send the rest, once a real part of the price was seen before the end."""

REAL_PART: Final = Decimal("0.1")
"""The share of a price that is a real part of it. A cent shall not hold a converted price, whose rate may fall meanwhile."""


class CheckoutStatus(BadgedChoices):
    """A checkout's status; the specification's five words."""

    PENDING = "pending", Badge("Pending", "")
    PROCESSING = "processing", Badge("Confirming", "info")
    UNDERPAID = "underpaid", Badge("Underpaid", "warn")
    COMPLETED = "completed", Badge("Completed", "ok")
    EXPIRED = "expired", Badge("Expired", "")


class CheckoutException(TextChoices):
    """An exception to a checkout's normal course, beside its status."""

    NONE = ""
    UNDERPAID = "underpaid"
    OVERPAID = "overpaid"
    REVERSED = "reversed"


class TerminalStatus(BadgedChoices):
    """Whether a device may sell at a terminal."""

    UNPAIRED = "unpaired", Badge("Not paired", "warn")
    PAIRED = "paired", Badge("Paired", "ok")
    REVOKED = "revoked", Badge("Revoked", "")


class CustomerKind(TextChoices):
    """What a customer's checkouts have in common."""

    REF = "ref", pgettext_lazy("team", "Customer reference")
    EMAIL = "email", pgettext_lazy("team", "E-mail address")
    # Where the money came from. An exchange's address is of many people.
    ADDRESS = "address", pgettext_lazy("team", "Paying address")


class InboxReason(TextChoices):
    """Why a transfer is in the inbox."""

    LATE = "late"
    LATE_OUTAGE = "late_outage"
    EXTRA = "extra"
    WRONG_NETWORK = "wrong_network"
    WRONG_TOKEN = "wrong_token"  # noqa: S105 - a kind of money
    DUST = "dust"
    UNMATCHED = "unmatched"
    # Several checkouts might be meant, and nothing decides between them.
    AMBIGUOUS = "ambiguous"
    REVERSED = "reversed"
    # Credited, but the money may be from the buyer of another checkout of this price that had just expired.
    RIVAL = "rival"


class InboxStatus(TextChoices):
    """The status of an inbox item."""

    OPEN = "open", pgettext_lazy("team", "Open")
    CREDITED = "credited", pgettext_lazy("team", "Credited")
    REFUNDED = "refunded", pgettext_lazy("team", "Refunded")
    DISMISSED = "dismissed", pgettext_lazy("team", "Dismissed")


class InboxOutcome(TextChoices):
    """How an inbox item was closed."""

    CREDITED = "credited"
    # A successor of its expired checkout took it.
    ACCEPTED_LATE = "accepted_late"
    REFUNDED = "refunded"
    DISMISSED = "dismissed"
    # An alarm: the network has the money again.
    RESTORED = "restored"


class InboxAct(TextChoices):
    """The acts that a person can choose for money in the inbox."""

    CREDIT = "credit"
    # A successor of the expired checkout takes all its money.
    ACCEPT_LATE = "accept_late"
    REFUNDED = "refunded"
    DISMISS = "dismiss"

    @property
    def word(self) -> Lazy:
        """Return the act as words after a colon, such as "accept late"."""
        return _ACTS[self]


_ACTS: Final = {
    InboxAct.CREDIT: pgettext_lazy("team", "credit"),
    InboxAct.ACCEPT_LATE: pgettext_lazy("team", "accept late"),
    InboxAct.REFUNDED: pgettext_lazy("team", "refunded"),
    InboxAct.DISMISS: pgettext_lazy("team", "dismiss"),
}


class RescueVerdict(TextChoices):
    """The result of looking up a buyer's transaction."""

    CREDITED = "credited"
    NOT_FINAL = "not_final"
    # The money arrived, and a person at the merchant decides.
    WAITING = "waiting"
    SHORT = "short"
    LATE = "late"
    # The checkout was already paid.
    EXTRA = "extra"
    WRONG_NETWORK = "wrong_network"
    WRONG_TOKEN = "wrong_token"  # noqa: S105 - a kind of money
    FAKE_TOKEN = "fake_token"  # noqa: S105 - a kind of fraud
    OTHER_ADDRESS = "other_address"
    FAILED = "failed"
    NOT_FOUND = "not_found"
    # Some chain did not answer, and no other knows it.
    UNREACHABLE = "unreachable"


class TestScenario(TextChoices):
    """How a test checkout plays out."""

    COMPLETED = "completed", pgettext_lazy("team", "Completed")
    PROCESSING = "processing", pgettext_lazy("team", "Processing")
    UNDERPAID = "underpaid", pgettext_lazy("team", "Underpaid")
    TOPPED_UP = "topped_up", pgettext_lazy("team", "Topped up")
    # Half is paid, and the time to pay ends.
    PART_PAID = "part_paid", pgettext_lazy("team", "Part paid")
    OVERPAID = "overpaid", pgettext_lazy("team", "Overpaid")
    # Paid twice.
    EXTRA = "extra", pgettext_lazy("team", "Extra")
    LATE = "late", pgettext_lazy("team", "Late")
    EXPIRED = "expired", pgettext_lazy("team", "Expired")
    # Money that vanishes returns.
    REORG = "reorg", pgettext_lazy("team", "Reorg")
    # It does not return.
    REVERSED = "reversed", pgettext_lazy("team", "Reversed")


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
# For code that depends on their order, such as a migration.
LIVE_IN_ORDER = tuple(status for status in CheckoutStatus if status in LIVE)


class EscrowStatus(TextChoices):
    """Whether money in escrow is still held."""

    HELD = "held"
    RELEASED = "released"


@dataclass(frozen=True, slots=True)
class Received:
    """What a checkout received, in millionths of a USD: all that counts, what is final of it, and what waits for a second node only."""

    seen: int
    confirmed: int
    waiting: int = 0

    @property
    def unconfirmed(self) -> int:
        """What is seen and not final yet."""
        return self.seen - self.confirmed


def derive_status(current: CheckoutStatus, received: Received, *, needed_units: int) -> CheckoutStatus:
    """Return the status that follows from the facts; `needed_units` is the amount less the tolerance.

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
    if current == CheckoutStatus.UNDERPAID and received.confirmed + received.waiting:
        return CheckoutStatus.UNDERPAID
    return CheckoutStatus.PENDING
