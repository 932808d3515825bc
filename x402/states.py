"""Choices of the x402 app's fields."""

from django.db.models import TextChoices

from gateway.core.web.badges import Badge, BadgedChoices


class Protocol(TextChoices):
    """How a machine proved its payment."""

    # The hash of a transaction that it sent itself.
    HASH = "hash"
    # A signed authorisation that the facilitator carried out (the public x402 standard, scheme `exact`).
    EXACT = "exact"
    # The same for a maximum that the payer signed (scheme `upto`): the payment is what was settled of it.
    UPTO = "upto"


class PaymentStatus(BadgedChoices):
    """The state of a payment's money."""

    # It arrived, but is not final or still in the merchant's forwarder.
    VERIFIED = "verified", Badge("Verified", "info")
    # It reached the merchant's own wallet.
    SETTLED = "settled", Badge("Settled", "ok")
    # A reorg removed it.
    REVERSED = "reversed", Badge("Reversed", "bad")


class Reason(TextChoices):
    """Why a payment is not valid; the first two may change."""

    NOT_FOUND = "not_found"
    NOT_CONFIRMED = "not_confirmed"
    FAILED_TRANSACTION = "failed_transaction"
    WRONG_RECIPIENT = "wrong_recipient"
    WRONG_TOKEN = "wrong_token"  # noqa: S105 - a reason, no secret
    INSUFFICIENT_AMOUNT = "insufficient_amount"
    WRONG_PAYER = "wrong_payer"
    WRONG_CHAIN = "wrong_chain"
    ALREADY_USED = "already_used"
    TOO_OLD = "too_old"
    REQUIREMENTS_MISMATCH = "requirements_mismatch"


class AuthorizationState(TextChoices):
    """The state of a signed authorisation."""

    # One process holds it.
    TAKEN = "taken"
    # Its transaction is stored, and perhaps sent.
    SENT = "sent"
    SETTLED = "settled"
    # It can never be carried out.
    FAILED = "failed"
