"""Checks signed receipts, and machines' offers and receipts, without a network, with the issuer's keys in a JWK Set.

Python's standard library has no Ed25519. `pip install florin[receipts]` brings `cryptography`, which has; nothing else here needs it.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Final

from florin.errors import OtherModeError, ReceiptError

_TYPE: Final = "florin-receipt+jwt"
# RFC 9864 renames the first to the second.
_ALGORITHMS: Final = ("EdDSA", "Ed25519")
_LONGEST: Final = 50_000
# Of the extension `offer-receipt` of x402. Source: npm @x402/extensions 2.27.
_X402_VERSION: Final = 1


def verify(token: str, jwks: Mapping[str, Any], *, livemode: bool | None = True) -> dict[str, Any]:
    """Return the claims of a receipt that a key of the issuer's `/.well-known/jwks.json` signed, whatever the clock says.

    A receipt is evidence of what was true when it was signed: ask its `status_url` what became of the payment. Give
    `livemode=False` for receipts of test mode, None for both. Raises ReceiptError, OtherModeError, and ImportError where
    `cryptography` is not installed.
    """
    _, claims = _checked(token, jwks, _check_receipt)
    _check_mode(claims.get("livemode"), livemode)
    return claims


def verify_x402(token: str, jwks: Mapping[str, Any], *, livemode: bool | None = True) -> dict[str, Any]:
    """Return what a signed offer or receipt of machines says (x402's extension `offer-receipt`), under the same rules.

    A receipt has `payer`, and says that a payment was made for `resourceUrl`. **An offer has `payTo`, and says what was asked:
    it proves no payment.** Neither passes for a receipt of a checkout in `verify`. What became of a payment since, its network says.
    """
    kid, claims = _checked(token, jwks, _check_x402)
    _check_mode(not kid.partition("#")[2].startswith("t"), livemode)
    return claims


def is_x402(token: str) -> bool:
    """Whether a text has the form of a signed offer or receipt of machines. Nothing is verified."""
    try:
        header, claims, _, _ = _parts(token)
        _check_x402(header, claims)
    except _UNREADABLE:
        return False
    return True


def x402_status_path(token: str) -> str:
    """Return the path on the issuer's host that says what became of a machine's receipt. Nothing is verified.

    It names the transaction and SHA-256 of the token's second part, so that bearers alone can ask. Raises ValueError for other tokens.
    """
    _, claims, _, _ = _parts(token)
    network, transaction = claims.get("network"), claims.get("transaction")
    if not (isinstance(network, str) and isinstance(transaction, str)):
        raise ValueError("no receipt of x402")
    digest = sha256(token.strip().split(".")[1].encode()).hexdigest()
    return f"/receipts/{network}/{transaction}/{digest}"


_Check = Callable[[dict[str, Any], dict[str, Any]], None]
_UNREADABLE: Final = (ValueError, AttributeError, TypeError, RecursionError)


def _checked(token: str, jwks: Mapping[str, Any], check: _Check) -> tuple[str, dict[str, Any]]:
    """Return the id of the key that signed a statement, and what it says. Raises ReceiptError."""
    try:
        header, claims, signature, signed = _parts(token)
        check(header, claims)
    except _UNREADABLE:
        raise ReceiptError("This is no signed receipt.", "unreadable") from None
    key = _key(jwks, header["kid"])
    if not _is_signed(key, signature, signed):
        raise ReceiptError("The receipt was changed, or another key signed it.", "forged")
    if "exp" in key:
        raise ReceiptError(
            "The key was withdrawn. Ask the receipt's status_url, or look up its transactions.", "withdrawn"
        )
    return header["kid"], claims


def _check_mode(is_live: object, livemode: bool | None) -> None:
    if livemode is not None and is_live is not livemode:
        raise OtherModeError("The receipt is of test mode." if livemode else "The receipt is of live mode.")


def _parts(token: str) -> tuple[dict[str, Any], dict[str, Any], bytes, bytes]:
    """Split a token. Raises ValueError and AttributeError."""
    parts = token.strip().split(".")
    if len(parts) != 3 or len(token) > _LONGEST:
        raise ValueError("no compact JWS")
    header, claims = json.loads(_decoded(parts[0])), json.loads(_decoded(parts[1]))
    if header.get("alg") not in _ALGORITHMS or "crit" in header:
        raise ValueError("no receipt")
    return header, claims, _decoded(parts[2]), f"{parts[0]}.{parts[1]}".encode()


def _check_receipt(header: dict[str, Any], claims: dict[str, Any]) -> None:
    if header.get("typ") != _TYPE:
        raise ValueError("no receipt")
    if not isinstance(claims.get("iss"), str) or not header.get("kid", "").startswith(f"{claims['iss']}#"):
        raise ValueError("another's key")


def _check_x402(header: dict[str, Any], claims: dict[str, Any]) -> None:
    if "typ" in header or not isinstance(header.get("kid"), str) or claims.get("version") != _X402_VERSION:
        raise ValueError("no statement of x402")
    texts = (claims.get("resourceUrl"), claims.get("network"), claims.get("payer", claims.get("payTo")))
    if not all(isinstance(text, str) for text in texts) or ("payer" in claims) == ("payTo" in claims):
        raise ValueError("neither offer nor receipt")


def _decoded(part: str) -> bytes:
    """Read base64url in the one spelling that counts, so that no character can be changed. Raises ValueError."""
    data = urlsafe_b64decode(part + "=" * (-len(part) % 4))
    if urlsafe_b64encode(data).rstrip(b"=") != part.encode():
        raise ValueError("not base64url")
    return data


def _key(jwks: Any, kid: str) -> Mapping[str, Any]:
    keys = jwks.get("keys") if isinstance(jwks, Mapping) else None
    for key in keys if isinstance(keys, list) else ():
        if isinstance(key, dict) and (key.get("kid"), key.get("kty"), key.get("crv")) == (kid, "OKP", "Ed25519"):
            return key
    raise ReceiptError(f"The keys have no {kid}.", "unknown")


def _is_signed(key: Mapping[str, Any], signature: bytes, signed: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(_decoded(key["x"])).verify(signature, signed)
    except (InvalidSignature, ValueError, KeyError, TypeError):
        return False
    return True
