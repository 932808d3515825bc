"""Web push: what a browser's push service is sent, and how we prove to it who we are.

A message is one record of `aes128gcm` (RFC 8188) under keys that only the browser has (RFC 8291), so the service reads nothing.
Requests are signed by the P-256 key that the subscription was made for (VAPID, RFC 8292), which follows from ENCRYPTION_KEYS.
"""

import hmac
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings

from gateway.core import json
from gateway.core.secrets import derivations

POINT_BYTES: Final = 65
"""An uncompressed point of P-256."""
AUTH_BYTES: Final = 16
"""The authentication secret of RFC 8291, section 3.2."""
MOST_TEXT: Final = 3_000
"""The bytes of text that a message carries at most: services take 4,096 with header and tag (RFC 8291, section 4)."""

_RECORD: Final = 4_096
# The delimiter of the last record (RFC 8188, section 2).
_LAST: Final = b"\x02"
_TOKEN_LASTS: Final = timedelta(hours=12)
"""RFC 8292 allows a day."""
# FIPS 186-4, appendix D.1.2.3.
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def encode(data: bytes) -> str:
    """Return base64url without padding, as both RFCs write keys."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """Return the bytes of base64url, padded or not. Raises ValueError."""
    if not text.isascii():
        raise ValueError("not base64url")
    bare = text.rstrip("=")
    found = urlsafe_b64decode(bare + "=" * (-len(bare) % 4))
    # The decoder skips letters that it does not know.
    if encode(found) != bare:
        raise ValueError("not base64url")
    return found


@dataclass(frozen=True, slots=True)
class BrowserKeys:
    """What a subscription's browser gave: its public key and the authentication secret, as bytes."""

    p256dh: bytes
    auth: bytes

    @classmethod
    def read(cls, p256dh: str, auth: str) -> "BrowserKeys":
        """Return the keys from base64url. Raises ValueError for what is no point of P-256, or of another length."""
        keys = cls(decode(p256dh), decode(auth))
        if len(keys.p256dh) != POINT_BYTES or len(keys.auth) != AUTH_BYTES:
            raise ValueError("a key has another length")
        _ = _point(keys.p256dh)
        return keys


def encrypt(
    text: bytes, keys: BrowserKeys, *, own: ec.EllipticCurvePrivateKey | None = None, salt: bytes | None = None
) -> bytes:
    """Return the body of a push message: header and one record (RFC 8188), encrypted by RFC 8291.

    `own` and `salt` are for test vectors; each message has its own. Raises ValueError for more than MOST_TEXT bytes.
    """
    if len(text) > MOST_TEXT:
        raise ValueError("the text is too long for a push message")
    own, salt = own or ec.generate_private_key(ec.SECP256R1()), salt or os.urandom(16)
    public = _public_bytes(own)
    shared = own.exchange(ec.ECDH(), _point(keys.p256dh))
    secret = _hkdf(keys.auth, shared, b"WebPush: info\0" + keys.p256dh + public, 32)
    key = _hkdf(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _hkdf(salt, secret, b"Content-Encoding: nonce\0", 12)
    header = salt + _RECORD.to_bytes(4, "big") + bytes([len(public)]) + public
    return header + AESGCM(key).encrypt(nonce, text + _LAST, None)


def _hkdf(salt: bytes, material: bytes, info: bytes, length: int) -> bytes:
    """Return up to 32 bytes of HKDF with SHA-256 (RFC 5869): one block of its second step."""
    return hmac.digest(hmac.digest(salt, material, "sha256"), info + b"\x01", "sha256")[:length]


def _point(data: bytes) -> ec.EllipticCurvePublicKey:
    return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), data)


def _public_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def server_key() -> str:
    """Return the public key that new subscriptions are made for; "" without ENCRYPTION_KEYS: then there is no push."""
    return next(iter(_own_keys(tuple(settings.ENCRYPTION_KEYS))), "")


@lru_cache(maxsize=4)
def _own_keys(_keys: tuple[str, ...]) -> dict[str, ec.EllipticCurvePrivateKey]:
    """Return our keys by public key, the current one first: earlier ones sign for the subscriptions made for them."""
    scalars = [int.from_bytes(derived, "big") % (_ORDER - 1) + 1 for derived in derivations("vapid")]
    own = [ec.derive_private_key(scalar, ec.SECP256R1()) for scalar in scalars]
    return {encode(_public_bytes(key)): key for key in own}


def authorization(url: str, public_key: str, *, now: datetime) -> str:
    """Return the Authorization header for a push service (RFC 8292, section 3).

    Raises LookupError if no configured key is the one that the subscription was made for.
    """
    private = _own_keys(tuple(settings.ENCRYPTION_KEYS))[public_key]
    parts = urlsplit(url)
    claims = {
        "aud": f"{parts.scheme}://{parts.netloc}",
        "exp": int((now + _TOKEN_LASTS).timestamp()),
        "sub": settings.BASE_URL if settings.BASE_URL.startswith("https://") else "mailto:florin@localhost.invalid",
    }
    signed = f"{encode(json.dumps({'typ': 'JWT', 'alg': 'ES256'}))}.{encode(json.dumps(claims))}"
    r, s = decode_dss_signature(private.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    token = f"{signed}.{encode(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"
    return f"vapid t={token}, k={public_key}"
