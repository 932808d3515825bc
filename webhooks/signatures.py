"""Webhook signatures, in formats that published libraries verify.

The `t=...,v1=...` header is Stripe's form (https://docs.stripe.com/webhooks#verify-manually); the three `webhook-*` headers
are Standard Webhooks 1.0.0 (https://github.com/standard-webhooks/standard-webhooks). Both come from one secret.
"""

import hmac
import secrets as random
from base64 import b64decode, b64encode
from collections.abc import Sequence

from django.conf import settings

SECRET_PREFIX = "whsec_"  # noqa: S105 - says what follows, and is none itself
_SECRET_BYTES = 32


def new_secret() -> str:
    """Return a fresh signing secret: `whsec_` and 32 random bytes in base64."""
    return SECRET_PREFIX + b64encode(random.token_bytes(_SECRET_BYTES)).decode()


def sign(body: bytes, *, message_id: str, timestamp: int, secrets: Sequence[str]) -> dict[str, str]:
    """Return the signature headers of one attempt at `timestamp` (Unix seconds).

    Each secret signs, so that during a rotation the receiver's old one still verifies.
    """
    stripe_like = [_stripe_signature(body, timestamp, secret) for secret in secrets]
    standard = [_standard_signature(body, message_id, timestamp, secret) for secret in secrets]
    return {
        settings.WEBHOOK_SIGNATURE_HEADER: ",".join([f"t={timestamp}", *stripe_like]),
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(standard),
    }


def sign_as_btcpay(body: bytes, secret: str) -> str:
    """Return BTCPay Server's `BTCPay-Sig`: the HMAC of the body alone, by the text of the secret.

    From its API reference, https://docs.btcpayserver.org/API/Greenfield/v1/ (Webhooks).
    """
    return "sha256=" + hmac.digest(secret.encode(), body, "sha256").hex()


def _stripe_signature(body: bytes, timestamp: int, secret: str) -> str:
    # Stripe's scheme uses the secret's text as key, with its prefix.
    signed = b"%d." % timestamp + body
    return "v1=" + hmac.digest(secret.encode(), signed, "sha256").hex()


def _standard_signature(body: bytes, message_id: str, timestamp: int, secret: str) -> str:
    # Standard Webhooks uses the bytes encoded after the prefix as key.
    key = b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + b64encode(hmac.digest(key, signed, "sha256")).decode()
