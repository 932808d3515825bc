"""The choices wallets know."""

from django.db.models import TextChoices


class TransferState(TextChoices):
    """How sure we are of a transfer. Only the watcher moves it."""

    DETECTED = "detected"
    CONFIRMED = "confirmed"
    ORPHANED = "orphaned"


class ClaimKind(TextChoices):
    """What a transfer was used for. One transfer is used once in the whole system."""

    CHECKOUT = "checkout"
    X402 = "x402"


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
