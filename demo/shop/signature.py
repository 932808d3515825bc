"""Verifies a webhook's signature, as a merchant does."""

import hashlib
import hmac

TOLERANCE_SECONDS = 300


def is_genuine(header: str, body: bytes, *, secret: str, now: float) -> bool:
    """Whether the X-Service-Signature `header` was made for `body` with `secret`.

    `now` is the Unix time; a signature older or younger by more than five minutes is
    refused, so that a recorded request cannot be played back later.
    """
    fields = [field.strip().split("=", 1) for field in header.split(",")]
    pairs = [(field[0], field[1]) for field in fields if len(field) == 2]
    sent_at = dict(pairs).get("t", "")
    # isdigit alone also holds for digits that int() does not read.
    if not (sent_at.isascii() and sent_at.isdigit() and len(sent_at) < 12):
        return False
    signed = sent_at.encode() + b"." + body
    wanted = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    known = [value for name, value in pairs if name == "v1" and value.isascii()]
    genuine = any(hmac.compare_digest(value, wanted) for value in known)
    return genuine and abs(now - int(sent_at)) <= TOLERANCE_SECONDS
