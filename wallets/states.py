"""Choices of the wallets app's fields."""

from django.db.models import TextChoices

from gateway.core.web.badges import Badge, BadgedChoices


class TransferState(BadgedChoices):
    """A transfer's confirmation state. Only the watcher changes it."""

    DETECTED = "detected", Badge("Confirming", "info")
    CONFIRMED = "confirmed", Badge("Confirmed", "ok")
    ORPHANED = "orphaned", Badge("Reversed", "bad")


class ClaimKind(TextChoices):
    """The use of a transfer, and the purpose of an address. A transfer is used once in the whole system."""

    CHECKOUT = "checkout"
    X402 = "x402"


class TransferUse(TextChoices):
    """What a transfer is claimed for, once: what its address is for, or to be sent back."""

    CHECKOUT = ClaimKind.CHECKOUT.value
    X402 = ClaimKind.X402.value
    # No machine had paid with it when a refund of it was asked for, and none does any more.
    REFUND = "refund"


class ProofPurpose(TextChoices):
    """What the holder of an address signs a message for: to receive there, as `ClaimKind` says, or to get a refund of a payment."""

    CHECKOUT = "checkout"
    X402 = "x402"
    REFUND = "refund"


class Direction(TextChoices):
    """A movement's direction, as the merchant sees it."""

    IN = "in"
    OUT = "out"


class WatchPurpose(TextChoices):
    """Why a wallet is watched."""

    LIST = "list"
    # A payout is expected to reach it. Lists, reports and the API leave it out.
    PAYOUT = "payout"


class WatchStatus(TextChoices):
    """Whether a watched wallet's whole history is read."""

    IMPORTING = "importing"
    ACTIVE = "active"


class DifferenceKind(TextChoices):
    """How two sources of a chain disagree about a transfer."""

    # The second source knows it, but we had not read it.
    MISSED = "missed"
    # We had read it, but the second source does not know it.
    UNKNOWN = "unknown"


class ChainStatus(TextChoices):
    """Whether payments on a chain are seen in time."""

    OK = "ok"
    DELAYED = "delayed"
    DOWN = "down"


class DownReason(TextChoices):
    """Why a chain is down."""

    # It contradicts what was read: a person decides how it goes on.
    HALTED = "halted"
    UNREACHABLE = "unreachable"
