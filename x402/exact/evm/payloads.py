"""Parses payers' payloads on EVM chains: EIP-3009's and Permit2's authorisations, every value by hand.

Python reads numbers such as "1_000" and " 1"; chains do not. Raises RefusedPaymentError.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from wallets.chains.base import AddressError
from wallets.chains.evm.family import EVM_FAMILY
from x402.exact import reasons
from x402.exact.errors import RefusedPaymentError
from x402.exact.evm.permit2 import PERMIT2, PROXY, UPTO_PROXY
from x402.exact.inputs import PERMIT2_PREFIX, Body, OwnPermit, SignedPayment
from x402.inputs import UPTO

_UINT256: Final = re.compile(r"[0-9]{1,78}", re.ASCII)
_NONCE: Final = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
# Smart wallets' signatures may contain several, and deployment code.
_SIGNATURE: Final = re.compile(r"0x(?:[0-9a-fA-F]{2}){65,4096}", re.ASCII)
# The proxy takes r, s and v of a key.
_KEYS_SIGNATURE: Final = re.compile(r"0x[0-9a-fA-F]{130}", re.ASCII)
_MOST: Final = 2**256 - 1


GAS_SPONSORING: Final = "eip2612GasSponsoring"
"""The extension by which a payer's first Permit2 payment brings what allows Permit2, so that the payer needs no coins."""


def read_domain(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the signature's domain and the transfer method."""
    kept = {key: extra.get(key) for key in ("name", "version", "assetTransferMethod")}
    return {key: value for key, value in kept.items() if isinstance(value, str) and len(value) <= 64}


def read_signed(payload: Body, *, asset: str, scheme: str) -> SignedPayment:
    """Parse a payer's signed authorisation of a token in one of the schemes. Raises RefusedPaymentError."""
    signature = payload.get("signature")
    if not isinstance(signature, str) or not _SIGNATURE.fullmatch(signature):
        raise RefusedPaymentError(reasons.SIGNATURE)
    if scheme == UPTO:
        return _upto(_object(payload, "permit2Authorization"), signature, asset)
    if "permit2Authorization" in payload:
        return _permit2(_object(payload, "permit2Authorization"), signature, asset, PROXY)
    return _eip3009(_object(payload, "authorization"), signature)


def _eip3009(told: Body, signature: str) -> SignedPayment:
    nonce = _text(told, "nonce", _NONCE).lower()
    signed = SignedPayment(
        payer=_payer(told),
        recipient=_party(told, "to"),
        units=_number(told, "value"),
        valid_after=_number(told, "validAfter"),
        valid_before=_number(told, "validBefore"),
        nonce=nonce,
        payload={},
    )
    authorization = {
        "from": signed.payer,
        "to": signed.recipient,
        "value": str(signed.units),
        "validAfter": str(signed.valid_after),
        "validBefore": str(signed.valid_before),
        "nonce": nonce,
    }
    payload = {"authorization": authorization, "signature": signature}
    return replace(signed, payload=payload)


def _upto(told: Body, signature: str, asset: str) -> SignedPayment:
    """Parse an authorisation of a maximum, which only the account may carry out that the payer names."""
    signed = _permit2(told, signature, asset, UPTO_PROXY)
    facilitator = _party(_object(told, "witness"), "facilitator")
    authorization = dict(signed.payload["permit2Authorization"])
    authorization["witness"] = authorization["witness"] | {"facilitator": facilitator}
    payload = {"permit2Authorization": authorization, "signature": signature}
    return replace(signed, payload=payload, facilitator=facilitator)


def _permit2(told: Body, signature: str, asset: str, spender: str) -> SignedPayment:
    permitted, witness = _object(told, "permitted"), _object(told, "witness")
    # In test mode there is no later check.
    _expect(_party(told, "spender"), spender, "invalid_permit2_spender", _payer(told))
    _expect(_party(permitted, "token"), asset, "permit2_token_mismatch", _payer(told))
    nonce = _number(told, "nonce")
    signed = SignedPayment(
        payer=_payer(told),
        recipient=_party(witness, "to"),
        units=_number(permitted, "amount"),
        valid_after=_number(witness, "validAfter"),
        valid_before=_number(told, "deadline"),
        nonce=f"{PERMIT2_PREFIX}{nonce}",
        payload={},
    )
    authorization = {
        "from": signed.payer,
        "permitted": {"token": asset, "amount": str(signed.units)},
        "spender": spender,
        "nonce": str(nonce),
        "deadline": str(signed.valid_before),
        "witness": {"to": signed.recipient, "validAfter": str(signed.valid_after)},
    }
    payload = {"permit2Authorization": authorization, "signature": signature}
    return replace(signed, payload=payload)


def with_own_permit(extensions: Body, signed: SignedPayment, *, asset: str) -> SignedPayment:
    """Return a Permit2 payment with the token's own permit (EIP-2612). Raises RefusedPaymentError.

    Clients that sign none repeat the seller's description of the extension, which has no signature.
    """
    told = extensions.get(GAS_SPONSORING)
    info = told.get("info") if isinstance(told, dict) else None
    if not signed.is_permit2 or not isinstance(info, dict) or "signature" not in info:
        return signed
    try:
        owner, token, spender = (_party(info, name) for name in ("from", "asset", "spender"))
        units, deadline = _number(info, "amount"), _number(info, "deadline")
        signature = _text(info, "signature", _KEYS_SIGNATURE)
    except RefusedPaymentError:
        raise RefusedPaymentError(reasons.OWN_PERMIT_FORM, payer=signed.payer) from None
    _expect(owner, signed.payer, reasons.OWN_PERMIT_OWNER, signed.payer)
    _expect(token, asset, reasons.OWN_PERMIT_ASSET, signed.payer)
    _expect(spender, PERMIT2, reasons.OWN_PERMIT_SPENDER, signed.payer)
    # The proxy takes no other amount.
    _expect(str(units), str(signed.units), reasons.OWN_PERMIT_AMOUNT, signed.payer)
    # Else it could end while the transaction waits for its block, which then fails at our cost. Published clients take the payment's.
    if deadline < signed.valid_before:
        raise RefusedPaymentError(reasons.OWN_PERMIT_DEADLINE, payer=signed.payer)
    return replace(signed, own_permit=OwnPermit(deadline, bytes.fromhex(signature[2:])))


def _expect(found: str, wanted: str, reason: str, payer: str) -> None:
    if found != wanted:
        raise RefusedPaymentError(reason, payer=payer)


def _object(body: Body, name: str) -> Body:
    value = body.get(name)
    if not isinstance(value, dict):
        raise RefusedPaymentError(reasons.INVALID_PAYLOAD, f"{name} must be an object.")
    return value


def _text(body: Body, name: str, form: re.Pattern[str]) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not form.fullmatch(value):
        raise RefusedPaymentError(reasons.INVALID_PAYLOAD, f"{name} is malformed.")
    return value


def _number(body: Body, name: str) -> int:
    number = int(_text(body, name, _UINT256))
    if number > _MOST:
        raise RefusedPaymentError(reasons.INVALID_PAYLOAD, f"{name} is malformed.")
    return number


def _payer(body: Body) -> str:
    return _party(body, "from")


def _party(body: Body, name: str) -> str:
    value = body.get(name)
    try:
        return EVM_FAMILY.canonical_address(str(value))
    except AddressError:
        raise RefusedPaymentError(reasons.INVALID_PAYLOAD, f"{name} is no address.") from None
