"""Parses the payment proofs of requests. They are untrusted input."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from florin_x402.errors import RefusedError
from florin_x402.prices import Asked
from florin_x402.wire import UnreadableError, decode

_FIELDS: Final = ("txHash", "chain", "token", "amount", "payerAddress", "payTo")
_SIGNATURE_FIELDS: Final = ("signature", "publicKey")
_LONGEST_FIELD: Final = 400


@dataclass(frozen=True, slots=True)
class HashProof:
    """The specification's proof: the transaction that the payer sent. `payment` has its fields and no others."""

    payment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SignedProof:
    """The public standard's proof: a signed authorisation. `payload` is the payer's whole object."""

    version: int
    payload: Mapping[str, Any]

    @property
    def accepted(self) -> Mapping[str, Any]:
        """What the payer says it pays: all requirements in version 2, scheme and network in version 1."""
        if self.version == 1:
            return self.payload
        told = self.payload.get("accepted")
        return told if isinstance(told, dict) else {}


Proof = HashProof | SignedProof


def proof_of(asked: Asked) -> Proof | None:
    """Return a request's proof; None if it has none. Raises RefusedError."""
    if asked.proof is not None and asked.signed is not None:
        raise _malformed("X-PAYMENT and PAYMENT-SIGNATURE came together.")
    if asked.signed is not None:
        return _standard(_object(asked.signed, "PAYMENT-SIGNATURE"), 2)
    if asked.proof is None:
        return None
    told = _object(asked.proof, "X-PAYMENT")
    if "x402Version" in told and "txHash" in told:
        raise _malformed("X-PAYMENT has both txHash and x402Version.")
    return _standard(told, 1) if "x402Version" in told else _by_hash(told)


def digest_of(proof: Proof, resource: str) -> str:
    """Return a key for a proof used for a resource."""
    content = proof.payment if isinstance(proof, HashProof) else proof.payload
    text = json.dumps([content, resource], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _by_hash(told: Mapping[str, Any]) -> HashProof:
    names = [*_FIELDS, *(name for name in _SIGNATURE_FIELDS if name in told)]
    payment = {name: told.get(name) for name in names}
    for name, value in payment.items():
        if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_FIELD:
            raise _malformed(f"{name} in X-PAYMENT must be a string.")
    return HashProof({name: str(value) for name, value in payment.items()})


def _standard(told: Mapping[str, Any], version: int) -> SignedProof:
    # A Boolean equals a number in Python.
    if type(told.get("x402Version")) is not int:
        raise _malformed("x402Version must be a number.")
    if told["x402Version"] != version:
        raise RefusedError("invalid_x402_version", f"This header is version {version}.")
    if not isinstance(told.get("payload"), dict):
        raise _malformed("payload must be an object.")
    return SignedProof(version, told)


def _object(text: str, header: str) -> dict[str, Any]:
    try:
        return decode(text)
    except UnreadableError as error:
        raise _malformed(f"{header} cannot be read: {error}.") from None


def _malformed(message: str) -> RefusedError:
    return RefusedError("invalid_payload", message)
