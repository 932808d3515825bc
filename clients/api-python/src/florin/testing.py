"""For your tests: signs a body as Florin does."""

import hmac
import time
from base64 import b64decode, b64encode


def sign(body: bytes, secret: str, *, event_id: str = "evt_test", now: float | None = None) -> dict[str, str]:
    """Return the headers of a webhook with this body. `now` is in seconds since 1970."""
    at = int(time.time() if now is None else now)
    key = b64decode(secret.removeprefix("whsec_"), validate=True)
    stripe_like = hmac.digest(secret.encode(), f"{at}.".encode() + body, "sha256").hex()
    standard = hmac.digest(key, f"{event_id}.{at}.".encode() + body, "sha256")
    return {
        "Content-Type": "application/json",
        "X-Service-Signature": f"t={at},v1={stripe_like}",
        "webhook-id": event_id,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{b64encode(standard).decode()}",
    }
