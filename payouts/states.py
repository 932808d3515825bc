"""Choices of the payouts app's fields, and the moves between a payout's statuses."""

from typing import Final

from django.db.models import TextChoices
from django.utils.translation import pgettext_lazy

from gateway.core.texts import Lazy
from gateway.core.web.badges import Badge, BadgedChoices


class PayoutKind(TextChoices):
    """A refund has sources, which are transfers that came in; any other payout has none."""

    REFUND = "refund", pgettext_lazy("team", "Refund")
    PAYOUT = "payout", pgettext_lazy("team", "Payout")

    @property
    def word(self) -> Lazy:
        """Return the kind as a word within a sentence."""
        return _KINDS[self]


class PayoutStatus(BadgedChoices):
    """A payout's status. Only an outflow on the chain makes it paid."""

    # It waits for the recipient's address.
    OPEN = "open", Badge("Waiting for the address", "info")
    # Its address waits for approvals.
    REQUESTED = "requested", Badge("To approve", "warn")
    APPROVED = "approved", Badge("To pay", "warn")
    # It was handed out to be signed, or an outflow that fits it is not final yet.
    SENDING = "sending", Badge("Sending", "info")
    PAID = "paid", Badge("Paid", "ok")
    CANCELLED = "cancelled", Badge("Cancelled", "")
    # Nobody gave an address in time.
    EXPIRED = "expired", Badge("Expired", "")

    @property
    def word(self) -> Lazy:
        """Return the status as words within a sentence: a refund or payout "is" that."""
        return _STATUSES[self]


_KINDS: Final = {PayoutKind.REFUND: pgettext_lazy("team", "refund"), PayoutKind.PAYOUT: pgettext_lazy("team", "payout")}
_STATUSES: Final = {
    PayoutStatus.OPEN: pgettext_lazy("team", "waiting for an address"),
    PayoutStatus.REQUESTED: pgettext_lazy("team", "waiting for approval"),
    PayoutStatus.APPROVED: pgettext_lazy("team", "approved"),
    PayoutStatus.SENDING: pgettext_lazy("team", "being sent"),
    PayoutStatus.PAID: pgettext_lazy("team", "paid"),
    PayoutStatus.CANCELLED: pgettext_lazy("team", "cancelled"),
    PayoutStatus.EXPIRED: pgettext_lazy("team", "expired"),
}


class PayoutException(TextChoices):
    """An exception to a payout's normal course, beside its status."""

    NONE = ""
    # A reorg removed the outflow after it was final.
    REVERSED = "reversed"
    PAID_TWICE = "paid_twice"
    # A person accepted another amount as paid.
    WRONG_AMOUNT = "wrong_amount"


class AddressBy(TextChoices):
    """Who gave a payout's address."""

    CLAIM = "claim"
    API = "api"
    PERSON = "person"
    # It is that of an outflow that a person named.
    CHAIN = "chain"


class Method(TextChoices):
    """What the paying wallet signs."""

    AUTHORIZATION = "authorization"
    TRANSACTION = "transaction"
    CALLS = "calls"
    SAFE = "safe"
    LIST = "list"


ENDING: Final = frozenset({Method.AUTHORIZATION, Method.TRANSACTION})
"""The methods whose requests end by themselves, as the chain can show."""

BY_CALLS: Final = frozenset({Method.CALLS, Method.SAFE})
"""The methods that ask a wallet for calls of the token."""


class Trouble(TextChoices):
    """Why the gas account has not sent what a paying wallet signed."""

    NONE = ""
    # No gas account can pay for it now, or this merchant's payments took their part of the day's gas.
    GAS = "gas"
    # The paying wallet has too little of the token.
    FUNDS = "funds"
    # The token knows the nonce: it paid, and its outflow is on the way here, or the wallet cancelled it.
    USED = "used"
    # The token refuses it for another reason: a blocked address, for example.
    REFUSED = "refused"


class PayoutScenario(TextChoices):
    """What becomes of a payout of test mode once it was handed out to be signed."""

    PAID = "paid"
    NEVER = "never"
    WRONG_AMOUNT = "wrong_amount"
    REORG = "reorg"


class PayoutStepKind(TextChoices):
    """A step of a scenario."""

    SEND = "send"
    SEND_LESS = "send_less"
    CONFIRM = "confirm"
    ORPHAN = "orphan"


class BatchStatus(TextChoices):
    """Whether a batch can still be paid. A cancelled one can be, until what was signed has ended."""

    OPEN = "open"
    CANCELLED = "cancelled"
    CLOSED = "closed"


SHOWN_DIGITS: Final = 8
"""How many hexadecimal digits of a digest people compare: of a batch, and of a list that is approved."""

_S = PayoutStatus
MOVES: Final[dict[PayoutStatus, frozenset[PayoutStatus]]] = {
    _S.OPEN: frozenset({_S.REQUESTED, _S.CANCELLED, _S.EXPIRED}),
    _S.REQUESTED: frozenset({_S.APPROVED, _S.CANCELLED}),
    # Back: its address changed, or an approval is void.
    _S.APPROVED: frozenset({_S.REQUESTED, _S.SENDING, _S.PAID, _S.CANCELLED}),
    # Back: its batch was cancelled, and can no longer be paid.
    _S.SENDING: frozenset({_S.APPROVED, _S.PAID}),
    _S.PAID: frozenset(),
    _S.CANCELLED: frozenset(),
    _S.EXPIRED: frozenset(),
}
FINAL: Final = frozenset(status for status, moves in MOVES.items() if not moves)
UNSENT: Final = (_S.OPEN, _S.REQUESTED, _S.APPROVED)
"""The statuses in which a payout can be cancelled, in their order."""
UNHANDED: Final = (_S.REQUESTED, _S.APPROVED)
"""The statuses in which a payout has its address, and nothing was handed out: a person still decides."""
ADDRESSLESS: Final = (_S.OPEN, _S.CANCELLED, _S.EXPIRED)
"""The statuses in which a payout may have no address, beside an imported one (`payouts.lifecycle.noted`)."""
