"""The choices settlements know."""

from typing import Final

from django.db.models import TextChoices


class Purpose(TextChoices):
    """Why a gas account sends a transaction."""

    # Forwarders are flushed to their merchants.
    SWEEP = "sweep"
    # A payer's signed authorisation is carried out.
    X402 = "x402"
    # Nothing: it uses up a number that another transaction left open.
    CANCEL = "cancel"


class TransactionState(TextChoices):
    """How far a transaction came. Whether it did what it was sent for, the token's own events tell."""

    # Signed and written down, perhaps broadcast.
    INTENDED = "intended"
    # A node took it.
    SENT = "sent"
    # In a block, deep enough to stay there.
    MINED = "mined"
    # Its number was used by something else; it can never be mined.
    DROPPED = "dropped"


ON_THEIR_WAY: Final = (TransactionState.INTENDED, TransactionState.SENT)


class SettlementStatus(TextChoices):
    """How far money is on its way from forwarders to a merchant's wallet."""

    PENDING = "pending"
    SENT = "sent"
    SETTLED = "settled"
    FAILED = "failed"


class Sender(TextChoices):
    """Who pays the gas of a settlement."""

    GATEWAY = "gateway"
    # A person's own wallet in the browser.
    WALLET = "wallet"
    # A stranger: anybody may flush a forwarder.
    EXTERNAL = "external"
    # Nobody: on its chain payers pay the merchant's own wallet.
    DIRECT = "direct"


class ReleasedBy(TextChoices):
    """Who let go what was held in escrow."""

    MEMBER = "member"
    API = "api"
    # A stranger flushed the forwarder, which pays the merchant all the same.
    EXTERNAL = "external"
