"""Keys that sign statements: derived and never stored, listed for ever, and withdrawn once."""

import base64
from datetime import timedelta
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.db import IntegrityError, transaction

from gateway.core import json
from gateway.core.signing import (
    KeyPurpose,
    NoSigningKeyError,
    SigningKey,
    claims_of,
    did_document,
    is_withdrawn,
    jwks,
    sign,
    signs_now,
)
from tests.checkouts.schema import alter
from tests.factories import NOON

pytestmark = pytest.mark.django_db

FIRST, SECOND, THIRD = (Fernet.generate_key().decode() for _ in range(3))
DID = "did:web:pay.example"


@pytest.fixture(autouse=True)
def _installation(settings: Any) -> None:
    settings.BASE_URL, settings.ENCRYPTION_KEYS = "https://pay.example", [FIRST]


def decoded(part: bytes | str) -> bytes:
    text = part.encode() if isinstance(part, str) else part
    return base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))


def verify(token: bytes, key: dict[str, Any]) -> None:
    """Raise InvalidSignature where the JWK did not sign the token."""
    text, _, signature = token.rpartition(b".")
    Ed25519PublicKey.from_public_bytes(decoded(key["x"])).verify(decoded(signature), text)


def keys() -> dict[str, dict[str, Any]]:
    """The published keys by their ids."""
    return {key["kid"]: key for key in jwks(now=NOON)["keys"]}


def signed(purpose: KeyPurpose = KeyPurpose.RECEIPT, **claims: Any) -> tuple[str, bytes]:
    return sign(claims or {"a": 1}, purpose, now=NOON)


def test_a_token_says_who_signed_it_and_its_key_is_published() -> None:
    kid, token = signed(amount="23.00", nothing=None)
    header = json.loads(decoded(token.split(b".")[0]))
    assert header == {"alg": "EdDSA", "typ": "florin-receipt+jwt", "kid": f"{DID}#r1"}
    assert kid == header["kid"]
    assert list(claims_of(token).items()) == [("iss", DID), ("amount", "23.00"), ("nothing", None)]
    verify(token, keys()[kid])


def test_what_another_key_signed_does_not_verify() -> None:
    _, token = signed()
    kid, _ = signed(KeyPurpose.TEST)
    assert kid == f"{DID}#t1"
    with pytest.raises(InvalidSignature):
        verify(token, keys()[kid])


def test_the_same_key_is_listed_once_and_signs_the_same() -> None:
    assert signed() == signed()
    assert SigningKey.objects.filter(purpose=KeyPurpose.RECEIPT).count() == 1


def test_keys_are_published_before_they_sign() -> None:
    published = keys()
    assert [*published] == [f"{DID}#r1", f"{DID}#t1"]
    assert published[f"{DID}#r1"] | {"x": ""} == {
        "kty": "OKP",
        "crv": "Ed25519",
        "x": "",
        "kid": f"{DID}#r1",
        "use": "sig",
        "alg": "EdDSA",
        "nbf": int(NOON.timestamp()),
    }
    assert signed()[0] == f"{DID}#r1"


def test_no_private_key_is_stored_or_published() -> None:
    signed()
    rows = repr(list(SigningKey.objects.values()))
    assert FIRST not in rows
    assert {"d"} & {name for key in keys().values() for name in key} == set()
    assert len(bytes(SigningKey.objects.all()[0].public)) == 32


def test_three_keys_in_turn_all_verify_and_one_that_comes_back_keeps_its_id(settings: Any) -> None:
    made = []
    for encryption_keys in ([FIRST], [SECOND, FIRST], [THIRD, SECOND, FIRST], [SECOND], [FIRST]):
        settings.ENCRYPTION_KEYS = encryption_keys
        made.append(signed())
    assert [kid.removeprefix(f"{DID}#") for kid, _ in made] == ["r1", "r2", "r3", "r2", "r1"]
    published = keys()
    assert {kid for kid in published if "#r" in kid} == {f"{DID}#r{number}" for number in (1, 2, 3)}
    for kid, token in made:
        verify(token, published[kid])


def test_without_encryption_keys_nothing_is_signed_and_what_was_signed_still_verifies(settings: Any) -> None:
    kid, token = signed()
    settings.ENCRYPTION_KEYS = []
    with pytest.raises(NoSigningKeyError):
        signed()
    verify(token, keys()[kid])


def test_an_installation_that_never_had_keys_publishes_none(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = []
    assert jwks(now=NOON) == {"keys": []}
    assert did_document(DID, now=NOON)["verificationMethod"] == []


def test_a_withdrawn_key_signs_no_more_and_is_published_with_its_end(settings: Any) -> None:
    kid, token = signed()
    SigningKey.objects.filter(kid=kid).update(until=NOON + timedelta(days=1))
    assert is_withdrawn(kid)
    with pytest.raises(NoSigningKeyError):
        signed()
    assert keys()[kid]["exp"] == int((NOON + timedelta(days=1)).timestamp())
    verify(token, keys()[kid])
    assert kid not in str(did_document(DID, now=NOON))
    settings.ENCRYPTION_KEYS = [SECOND, FIRST]
    assert signed()[0] == f"{DID}#r2"
    assert [signs_now(key) for key in SigningKey.objects.filter(purpose="receipt").order_by("pk")] == [False, True]


def test_the_did_document_has_no_keys_of_test_mode() -> None:
    document = did_document(DID, now=NOON)
    assert (document["id"], document["alsoKnownAs"]) == (DID, ["https://pay.example"])
    methods = document["verificationMethod"]
    assert [method["id"] for method in methods] == [f"{DID}#r1"]
    assert {method["controller"] for method in methods} == {DID}
    assert [method["publicKeyJwk"] for method in methods] == [keys()[f"{DID}#r1"]]
    assert f"{DID}#t1" in keys()
    assert document["assertionMethod"] == [f"{DID}#r1"]


@pytest.mark.parametrize(
    ("base_url", "did"),
    [
        ("https://Pay.Example", "did:web:pay.example"),
        ("https://pay.example:8443", "did:web:pay.example%3A8443"),
        ("http://127.0.0.1:8000", "did:web:127.0.0.1%3A8000"),
    ],
)
def test_the_issuer_is_the_host_of_this_installation(base_url: str, did: str, settings: Any) -> None:
    settings.BASE_URL = base_url
    kid, token = signed()
    assert (kid, claims_of(token)["iss"]) == (f"{did}#r1", did)


def test_a_host_that_moved_signs_under_its_new_name_with_the_key_it_had(settings: Any) -> None:
    _, before = signed()
    settings.BASE_URL = "https://new.example"
    kid, _ = signed()
    assert kid == "did:web:new.example#r1"
    published = keys()
    assert published[kid]["x"] == published[f"{DID}#r1"]["x"]
    verify(before, published[f"{DID}#r1"])
    assert [method["id"] for method in did_document(DID, now=NOON)["verificationMethod"]] == [f"{DID}#r1"]


REFUSED = "signing keys are never changed"


def test_a_listed_key_never_changes_and_is_withdrawn_once() -> None:
    signed()
    key = SigningKey.objects.filter(purpose="receipt")
    for change in ({"public": b"x" * 32}, {"kid": "did:web:thief#r1"}, {"until": NOON, "since": NOON - timedelta(1)}):
        with pytest.raises(IntegrityError, match=REFUSED), transaction.atomic():
            key.update(**change)
    with pytest.raises(IntegrityError, match=REFUSED), transaction.atomic():
        key.delete()
    assert key.update(until=NOON) == 1
    for again in (None, NOON + timedelta(days=1)):
        with pytest.raises(IntegrityError, match=REFUSED), transaction.atomic():
            key.update(until=again)


def test_without_the_trigger_a_listed_key_would_change() -> None:
    signed()
    alter("DROP TRIGGER signing_key_append_only ON gateway_signingkey")
    assert SigningKey.objects.filter(purpose="receipt").update(public=b"x" * 32) == 1
