"""The choices the x402 facilitator knows."""

from django.db.models import TextChoices


class Protocol(TextChoices):
    """How a machine proved that it pays."""

    # The hash of a transaction that it sent itself.
    HASH = "hash"
    # A signed authorisation that the facilitator carried out (the public x402 standard, scheme `exact`).
    EXACT = "exact"


class PaymentStatus(TextChoices):
    """What became of a payment's money."""

    # It is there, not final yet or still in the merchant's forwarder.
    VERIFIED = "verified"
    # It reached the merchant's own wallet.
    SETTLED = "settled"
    # A reorganisation took it.
    REVERSED = "reversed"


class Reason(TextChoices):
    """Why a payment is not valid; the first two may become so."""

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
    """How far a signed authorisation was carried out."""

    # One process has it in hand.
    TAKEN = "taken"
    # A transaction that carries it out is written down, perhaps sent.
    SENT = "sent"
    SETTLED = "settled"
    # It can never be carried out.
    FAILED = "failed"
