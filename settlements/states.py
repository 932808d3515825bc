"""Choices of the settlements app's fields."""

from typing import Final

from django.db.models import TextChoices

from gateway.core.web.badges import Badge, BadgedChoices


class Purpose(TextChoices):
    """The purpose of a gas account's transaction."""

    # Forwarders are flushed to their merchants.
    SWEEP = "sweep"
    # Carries out a payer's signed authorisation.
    X402 = "x402"
    # Carries out the authorisation of a wallet, which pays a payout or a checkout.
    RELAY = "relay"
    # Empty: fills a gap in the nonces.
    CANCEL = "cancel"


class TransactionState(TextChoices):
    """The state of a transaction. The token's own events show whether it had its effect."""

    # Signed and stored, perhaps sent.
    INTENDED = "intended"
    # A node accepted it.
    SENT = "sent"
    # In a block, deep enough to stay there.
    MINED = "mined"
    # Its nonce was used by something else; it can never be mined.
    DROPPED = "dropped"


class Outcome(TextChoices):
    """What a transaction came to for those whose authorisation it carries out, as whoever asked for it judges."""

    # Not known yet, or nobody judges.
    OPEN = "open"
    # The money moved, perhaps by a third party's transaction.
    DONE = "done"
    # Nothing moved, at our cost.
    FAILED = "failed"


ON_THEIR_WAY: Final = (TransactionState.INTENDED, TransactionState.SENT)


class SettlementStatus(BadgedChoices):
    """The state of a settlement."""

    PENDING = "pending", Badge("Waiting", "")
    SENT = "sent", Badge("Sent", "info")
    SETTLED = "settled", Badge("Settled", "ok")
    FAILED = "failed", Badge("Failed", "bad")


class Sender(TextChoices):
    """Who pays a settlement's gas."""

    GATEWAY = "gateway"
    # A person's own wallet in the browser.
    WALLET = "wallet"
    # A third party: anyone may flush a forwarder.
    EXTERNAL = "external"
    # None: on its chain payers pay the merchant's own wallet.
    DIRECT = "direct"


class ReleasedBy(TextChoices):
    """Who released escrow."""

    MEMBER = "member"
    API = "api"
    # A third party flushed the forwarder, which pays the merchant in any case.
    EXTERNAL = "external"
