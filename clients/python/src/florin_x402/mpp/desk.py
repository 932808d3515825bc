"""Admits requests by credentials of MPP: each becomes a proof that the facilitator knows, of the same price and resource."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from florin_x402.admissions import Admission, Payment
from florin_x402.answers import Answer, Headers, requirement
from florin_x402.byhash import HashDesk
from florin_x402.bysignature import SignatureDesk
from florin_x402.catalogue import Option
from florin_x402.config import Config
from florin_x402.errors import RefusedError
from florin_x402.mpp.challenges import AUTHORIZATION, HASH, METHOD, Challenge, Challenges, credential_in
from florin_x402.mpp.nonces import nonces_of
from florin_x402.mpp.problems import (
    MALFORMED,
    MALFORMED_HASH,
    NO_PAYER,
    STRANGE,
    UNSUPPORTED,
    WRONG_PAYER,
    final_answer,
)
from florin_x402.prices import DECIMALS, Asked, Price
from florin_x402.proofs import HashProof, SignedProof
from florin_x402.wire import UnreadableError, decode_url, encode_url

MOST_BYTES: Final = 2_048
"""Bytes of all challenges of a 402. Proxies such as nginx take 4,096 for all headers of an answer (`proxy_buffer_size`)."""

_UNSOLD_SECONDS: Final = 60
_BY_X_PAYMENT: Final = "A transaction that was sent already pays in X-PAYMENT, with its payer's signature."
_OTHER_HEADER: Final = "Payment-Authorization"
# The gateway cannot read the payment, such as an address with a wrong checksum.
_INVALID: Final = "invalid_payload"

LATE: Final = timedelta(hours=1)
"""How long after a challenge's end what was paid for it still counts: transactions need blocks, and a handler may have failed."""

_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_HASH: Final = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]{1,78}", re.ASCII)
_SOURCE: Final = re.compile(r"did:pkh:eip155:([0-9]{1,20}):(0x[0-9a-fA-F]{40})", re.ASCII)
# Contracts check signatures of any length.
_SIGNATURE: Final = re.compile(r"0x(?:[0-9a-fA-F]{2}){1,4096}", re.ASCII)
_FORMS: Final[Mapping[str, re.Pattern[str]]] = {
    "from": _ADDRESS,
    "to": _ADDRESS,
    "value": _NUMBER,
    "validAfter": _NUMBER,
    "validBefore": _NUMBER,
    "nonce": _HASH,
}


@dataclass(frozen=True, slots=True)
class Credential:
    """What a payer shows: the challenge that it got, the payment, and its own address where it says so. Untrusted."""

    challenge: Mapping[str, Any]
    payload: Mapping[str, Any]
    source: str


class MppDesk:
    """Accepts credentials of MPP. Without secrets it asks for none, and reads none."""

    def __init__(self, config: Config, hashes: HashDesk, signatures: SignatureDesk) -> None:
        self._is_on = bool(config.mpp_secrets)
        self._challenges = Challenges(config.mpp_secrets, origin=config.base_url)
        self._hashes = hashes
        self._signatures = signatures

    def asks(self, asked: Asked, price: Price, options: Sequence[Option]) -> Headers:
        """Return the header that a 402 asks with; none where MPP is off, or where none of the options is of an EVM chain."""
        if not self._is_on:
            return []
        now = datetime.now(UTC)
        # Where a login has the place in Authorization, the credential comes in another header.
        header = _OTHER_HEADER if asked.authorization and credential_in(asked.authorization) is None else ""
        offered = [(option, kinds) for option in options if (kinds := _kinds_of(option))]
        # Published clients only sign. The others stay in the seller's order.
        offered.sort(key=lambda one: AUTHORIZATION not in one[1])
        found = [
            self._challenges.issued(asked, price, option, kinds, now=now).written(header) for option, kinds in offered
        ]
        return [("WWW-Authenticate", _joined(found))] if found else []

    def is_shown(self, asked: Asked) -> bool:
        """Whether a request has a credential, readable or not."""
        return self._is_on and bool(_credentials_in(asked))

    def admit(self, asked: Asked, price: Price, options: Sequence[Option]) -> Admission:
        """Admit a request with a credential, by its challenge's price. Raises RefusedError, FacilitatorError."""
        shown = _credential_of(asked)
        challenge = self._challenges.recognised(shown.challenge, asked)
        if datetime.now(UTC) > challenge.ends_at + LATE:
            raise RefusedError("payment_expired", "This challenge has expired.")
        asks = challenge.asks
        kind = shown.payload.get("type")
        option = _option_of(asks, options, kind)
        wanted = _price_of(asks, price)
        if kind not in asks["methodDetails"]["credentialTypes"]:
            hint = f" {_BY_X_PAYMENT}" if kind == HASH else ""
            raise RefusedError(UNSUPPORTED, f"This resource is not paid for with such a credential.{hint}")
        if kind == HASH:
            found = self._admit_hash(shown, asked, wanted, option, challenge)
        else:
            signed = _signed(shown, asked, wanted, option, challenge)
            found = self._signatures.admit(asked, wanted, [option], signed)
        # What is asked next, should it not be settled, is the price of now.
        return replace(found, price=price, challenge=challenge)

    def _admit_hash(
        self, shown: Credential, asked: Asked, price: Price, option: Option, challenge: Challenge
    ) -> Admission:
        """Admit a request by the payer's own transaction. Raises RefusedError, FacilitatorError."""
        try:
            proof = _by_hash(shown, price, option)
            return self._hashes.admit(asked, price, [option], proof, purpose=challenge.id)
        except RefusedError as error:
            # Its payer has paid: what it wrote about the payment can be written anew.
            if error.reason in {MALFORMED, _INVALID}:
                raise RefusedError(MALFORMED_HASH, str(error)) from None
            if error.reason == WRONG_PAYER:
                raise RefusedError(WRONG_PAYER, f"{error} {_BY_X_PAYMENT}") from None
            raise

    def refusal(self, asked: Asked, error: RefusedError) -> Answer | None:
        """Return the answer to a refused credential that must not make its payer pay again; None if a 402 is the answer."""
        return final_answer(error) if self.is_shown(asked) else None


def receipt(challenge: Challenge, payment: Payment, *, now: datetime) -> Headers:
    """Return the header of an answer that was paid for."""
    told = {
        "status": "success",
        "method": METHOD,
        "challengeId": challenge.id,
        "chainId": challenge.asks["methodDetails"]["chainId"],
        "reference": payment.transaction,
        "timestamp": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return [("Payment-Receipt", encode_url(told))]


def _kinds_of(option: Option) -> list[str]:
    """Return the kinds of credentials that pay an option, preferred first."""
    # Tron has a chain id, too.
    if option.chain_id is None or not (_ADDRESS.fullmatch(option.asset) and _ADDRESS.fullmatch(option.pay_to)):
        return []
    kind = option.kind(2)
    by_transfer = kind is not None and kind.extra.get("assetTransferMethod", "eip3009") == "eip3009"
    # Such credentials have no place for the signature that the gateway may want.
    return [*([AUTHORIZATION] if by_transfer else []), *([] if option.needs_signature else [HASH])]


def _joined(challenges: Sequence[str]) -> str:
    """Return as many challenges as a header has room for, the first of them in any case."""
    told = challenges[0]
    for one in challenges[1:]:
        longer = f"{told}, {one}"
        if len(longer) > MOST_BYTES:
            break
        told = longer
    return told


def _credentials_in(asked: Asked) -> list[str]:
    found = map(credential_in, (asked.authorization, asked.payment_authorization))
    return [text for text in found if text is not None]


def _credential_of(asked: Asked) -> Credential:
    """Read the one credential of a request. Raises RefusedError."""
    found = _credentials_in(asked)
    if len(found) > 1 or asked.proof is not None or asked.signed is not None:
        raise _malformed("A request pays once: send one credential or proof.")
    try:
        told = decode_url(found[0])
    except UnreadableError as error:
        raise _malformed(f"The credential cannot be read: {error}.") from None
    challenge, payload, source = told.get("challenge"), told.get("payload"), told.get("source", "")
    if not isinstance(challenge, dict) or not isinstance(payload, dict) or not isinstance(source, str):
        raise _malformed("A credential has a challenge and a payload, which are objects, and its source is a text.")
    return Credential(challenge, payload, source)


def _option_of(asks: Mapping[str, Any], options: Sequence[Option], kind: object) -> Option:
    """Return the option that a challenge asked for, with the recipient that it named: a merchant's may be another one by now."""
    chain_id, asset = asks["methodDetails"]["chainId"], asks["currency"]
    for option in options:
        if option.chain_id == chain_id and option.asset == asset:
            return replace(option, pay_to=asks["recipient"])
    # Who sent a transaction has paid, and the token may be sold again.
    raise _unsold(wait=_UNSOLD_SECONDS if kind == HASH else None)


def _price_of(asks: Mapping[str, Any], price: Price) -> Price:
    """Return the price that the payer was shown, which holds as long as its challenge."""
    units = int(asks["amount"])
    return price if units == price.units else replace(price, amount=Decimal(units).scaleb(-DECIMALS).normalize())


def _by_hash(shown: Credential, price: Price, option: Option) -> HashProof:
    tx_hash, payer = shown.payload.get("hash"), _payer_of(shown, option)
    if not isinstance(tx_hash, str) or not _HASH.fullmatch(tx_hash):
        raise _malformed("hash is 0x and 64 hexadecimal digits.")
    if not payer:
        raise RefusedError(NO_PAYER, "Send the same credential with its source, did:pkh:eip155:<chain id>:<payer>.")
    told = {"txHash": tx_hash, "chain": option.chain, "token": option.token, "amount": price.text}
    return HashProof({**told, "payerAddress": payer, "payTo": option.pay_to})


def _signed(shown: Credential, asked: Asked, price: Price, option: Option, challenge: Challenge) -> SignedProof:
    """Return a transfer signed for this challenge as a proof of the public standard's version 2."""
    told = {name: shown.payload.get(name) for name in _FORMS}
    fields = {name: value for name, value in told.items() if isinstance(value, str) and _FORMS[name].fullmatch(value)}
    signature = shown.payload.get("signature")
    if len(fields) < len(_FORMS) or not isinstance(signature, str) or not _SIGNATURE.fullmatch(signature):
        raise _malformed("An authorization has from, to, value, validAfter, validBefore, nonce and signature.")
    if fields["to"].lower() != option.pay_to.lower() or int(fields["value"]) != price.units:
        raise _failed("The transfer is not what the challenge asks for.")
    if fields["nonce"].lower() not in nonces_of(challenge.id, challenge.realm):
        raise _failed("The nonce is not this challenge's.")
    # So that nothing is begun after the challenge's end, though what was begun may be continued.
    if int(fields["validBefore"]) > challenge.ends_at.timestamp():
        raise _failed("validBefore is later than the challenge's end.")
    payer = _payer_of(shown, option)
    if payer and payer.lower() != fields["from"].lower():
        raise _failed("The source is not the one that the transfer is from.")
    kind = option.kind(2)
    if kind is None:
        raise _unsold()
    accepted = requirement(asked, price, option, kind)
    payload = {"authorization": fields, "signature": signature}
    return SignedProof(2, {"x402Version": 2, "accepted": accepted, "payload": payload})


def _payer_of(shown: Credential, option: Option) -> str:
    """Return the address that a credential names as its source, "" without one. Raises RefusedError."""
    if not shown.source:
        return ""
    found = _SOURCE.fullmatch(shown.source)
    if found is None or int(found[1]) != option.chain_id:
        raise _malformed("source is did:pkh:eip155:<chain id>:<payer>, of the challenge's chain.")
    return found[2]


def _unsold(*, wait: int | None = None) -> RefusedError:
    return RefusedError(STRANGE, "The resource is no longer sold for this token.", retry_after=wait)


def _malformed(message: str) -> RefusedError:
    return RefusedError(MALFORMED, message)


def _failed(message: str) -> RefusedError:
    return RefusedError("verification_failed", message)
