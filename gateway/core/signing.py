"""Signs statements with Ed25519 as compact JWS (RFC 7515, RFC 8037), and names the public keys that anybody checks them with.

A private key is derived from the first of ENCRYPTION_KEYS and stored nowhere. It signs statements, never transactions. Public keys
are listed for ever, as statements are checked years later; only one that leaked is withdrawn.
"""

import base64
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.db import models
from django.db.models import Q, QuerySet

from gateway.core import json
from gateway.core.secrets import derivations

TYPE: Final = "florin-receipt+jwt"
# RFC 9864 calls it Ed25519; verifiers of today know this name.
_ALGORITHM: Final = "EdDSA"


class NoSigningKeyError(Exception):
    """Nothing can be signed: ENCRYPTION_KEYS is empty, or the key of its first one was withdrawn."""


class KeyPurpose(models.TextChoices):
    """What a key signs: receipts of money, or of test mode."""

    RECEIPT = "receipt"
    TEST = "test"


# The name by which a key is derived, which no other secret has, and the letter of its ids.
_NAMES: Final = {KeyPurpose.RECEIPT: ("receipt-key:1", "r"), KeyPurpose.TEST: ("receipt-key:test:1", "t")}


class SigningKey(models.Model):
    """A public key. `kid` is its DID URL, such as `did:web:pay.example#r1`; a trigger keeps the row as it is.

    `until` is set once, when the key is withdrawn: from then on its signatures alone prove nothing.
    """

    kid = models.CharField(max_length=300, unique=True)
    public = models.BinaryField(max_length=32)
    purpose = models.CharField(max_length=7, choices=KeyPurpose)
    since = models.DateTimeField()
    until = models.DateTimeField(null=True)

    class Meta:
        app_label = "gateway"
        constraints = [
            models.CheckConstraint(condition=Q(purpose__in=KeyPurpose.values), name="signing_key_purpose_known")
        ]

    def __str__(self) -> str:
        return self.kid


class Signed(NamedTuple):
    """A compact JWS, and the id of the key that signed it."""

    kid: str
    token: bytes


def issuer() -> str:
    """Return who signs: this installation's DID, by the host of BASE_URL."""
    return did_of(urlsplit(settings.BASE_URL).netloc)


def did_of(host: str) -> str:
    """Return the DID of a host, which may have a port (did:web)."""
    return f"did:web:{quote(host.lower(), safe='')}"


def sign(claims: Mapping[str, Any], purpose: KeyPurpose, *, now: datetime) -> Signed:
    """Sign claims, with `iss` in front of them. Raises NoSigningKeyError."""
    private, kid = _signer(purpose, now=now)
    header = {"alg": _ALGORITHM, "typ": TYPE, "kid": kid}
    return _signed(private, header, json.dumps({"iss": kid.partition("#")[0], **claims}))


def sign_plain(claims: Mapping[str, Any], purpose: KeyPurpose, *, now: datetime) -> Signed:
    """Sign texts and whole numbers as another format has them: no `iss`, no type, names in order (RFC 8785).

    Raises NoSigningKeyError.
    """
    private, kid = _signer(purpose, now=now)
    return _signed(private, {"alg": _ALGORITHM, "kid": kid}, json.canonical(dict(claims)))


def plain_digest(claims: Mapping[str, Any]) -> str:
    """Return SHA-256, in hexadecimal, of the second part of a token that `sign_plain` makes of these claims, whichever key signs it."""
    return sha256(_encoded(json.canonical(dict(claims)))).hexdigest()


def has_key(purpose: KeyPurpose, *, now: datetime) -> bool:
    """Return whether something can be signed."""
    try:
        _signer(purpose, now=now)
    except NoSigningKeyError:
        return False
    return True


def claims_of(token: bytes) -> dict[str, Any]:
    """Return the claims of a token that `sign` made. Nothing is verified."""
    payload = token.split(b".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4)))
    return found


def is_withdrawn(kid: str) -> bool:
    """Return whether a listed key was withdrawn."""
    return SigningKey.objects.filter(kid=kid, until__isnull=False).exists()


def signs_now(key: SigningKey) -> bool:
    """Return whether a listed key is that of the first of ENCRYPTION_KEYS. Raises NoSigningKeyError."""
    private = _private_key(KeyPurpose(key.purpose))
    return bytes(key.public) == private.public_key().public_bytes_raw()


def jwks(*, now: datetime) -> dict[str, Any]:
    """Return every key as a JWK Set (RFC 7517), the withdrawn ones with `exp`. The keys of today are listed before they sign."""
    _list_current_keys(now=now)
    return {"keys": [_jwk(key) for key in SigningKey.objects.order_by("pk")]}


def did_document(did: str, *, now: datetime) -> dict[str, Any]:
    """Return the DID document with the keys of a DID that may be believed.

    Without keys of test mode: published verifiers take any key of the document, whatever it may assert.
    """
    _list_current_keys(now=now)
    keys = list(_keys_of(did).filter(purpose=KeyPurpose.RECEIPT, until=None).order_by("pk"))
    return {
        "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/jws-2020/v1"],
        "id": did,
        "alsoKnownAs": [settings.BASE_URL],
        "verificationMethod": [
            {"id": key.kid, "type": "JsonWebKey2020", "controller": did, "publicKeyJwk": _jwk(key)} for key in keys
        ],
        "assertionMethod": [key.kid for key in keys],
    }


def _private_key(purpose: KeyPurpose) -> Ed25519PrivateKey:
    name, _ = _NAMES[purpose]
    seeds = derivations(name)
    # `derive` would give a random key, which no process could use again.
    if not seeds:
        raise NoSigningKeyError
    return Ed25519PrivateKey.from_private_bytes(seeds[0])


def _signer(purpose: KeyPurpose, *, now: datetime) -> tuple[Ed25519PrivateKey, str]:
    """Return the key that signs now, and its id. Raises NoSigningKeyError."""
    private = _private_key(purpose)
    key = _current_key(purpose, private, now=now)
    if key.until is not None:
        raise NoSigningKeyError
    return private, key.kid


def _signed(private: Ed25519PrivateKey, header: Mapping[str, str], payload: bytes) -> Signed:
    text = _encoded(json.dumps(dict(header))) + b"." + _encoded(payload)
    return Signed(header["kid"], text + b"." + _encoded(private.sign(text)))


def _current_key(purpose: KeyPurpose, private: Ed25519PrivateKey, *, now: datetime) -> SigningKey:
    """Return the listed public half of a key; list it under the next number if it is new."""
    public, (_, letter) = private.public_key().public_bytes_raw(), _NAMES[purpose]
    did = issuer()
    known = _keys_of(did).filter(purpose=purpose)
    while True:
        # Counted before the look, so that what another process lists in between is found or takes this number.
        number = known.count() + 1
        if (key := known.filter(public=public).order_by("pk").first()) is not None:
            return key
        fresh = {"public": public, "purpose": purpose, "since": now}
        key, _ = SigningKey.objects.get_or_create(kid=f"{did}#{letter}{number}", defaults=fresh)
        if bytes(key.public) == public:
            return key


def _list_current_keys(*, now: datetime) -> None:
    with suppress(NoSigningKeyError):
        for purpose in KeyPurpose:
            _current_key(purpose, _private_key(purpose), now=now)


def _keys_of(did: str) -> "QuerySet[SigningKey]":
    return SigningKey.objects.filter(kid__startswith=f"{did}#")


def _jwk(key: SigningKey) -> dict[str, Any]:
    """Return a key as a JWK. `nbf` and `exp` are ours: since when it signs, and when it was withdrawn."""
    found = {
        "kty": "OKP",
        "crv": "Ed25519",
        "x": _encoded(bytes(key.public)).decode(),
        "kid": key.kid,
        "use": "sig",
        "alg": _ALGORITHM,
        "nbf": int(key.since.timestamp()),
    }
    return found if key.until is None else found | {"exp": int(key.until.timestamp())}


def _encoded(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
