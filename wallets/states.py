"""The choices wallets know."""

from django.db.models import TextChoices


class TransferState(TextChoices):
    """How sure we are of a transfer. Only the watcher moves it."""

    DETECTED = "detected"
    CONFIRMED = "confirmed"
    ORPHANED = "orphaned"


class ClaimKind(TextChoices):
    """What a transfer was used for, and what an address was given out for. A transfer is used once in the whole system."""

    CHECKOUT = "checkout"
    X402 = "x402"


class Direction(TextChoices):
    """Which way a movement went, seen from the merchant."""

    IN = "in"
    OUT = "out"


class WatchStatus(TextChoices):
    """Whether all of a watched wallet's history is known."""

    IMPORTING = "importing"
    ACTIVE = "active"


class DifferenceKind(TextChoices):
    """How two sources of a chain disagree about a transfer."""

    # The second source knows it, we had not read it.
    MISSED = "missed"
    # We had read it, the second source does not know it.
    UNKNOWN = "unknown"


class ChainStatus(TextChoices):
    """Whether payments on a chain are seen in time."""

    OK = "ok"
    DELAYED = "delayed"
    DOWN = "down"
