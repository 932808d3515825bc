"""Reading the standard's bodies: shapes by the library's own schemas, every value of them by hand.

Python reads numbers such as "1_000" and " 1"; chains do not. Raises RefusedPaymentError.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from accounts.states import Mode
from facilitator.inputs import SCHEME
from facilitator.models import RESOURCE_LENGTH
from facilitator.standard import reasons
from facilitator.standard.errors import RefusedPaymentError
from facilitator.standard.inputs import Signed, StandardRequest
from facilitator.standard.networks import VERSIONS, chain_called
from gateway.core.fields import storable
from wallets.addresses import AddressError, canonical_address
from wallets.chains.registry import ChainSpec
from wallets.chains.specs import Family

_AMOUNT: Final = re.compile(r"[1-9][0-9]{0,24}", re.ASCII)
_UINT256: Final = re.compile(r"[0-9]{1,78}", re.ASCII)
_NONCE: Final = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
# Smart wallets' signatures may hold several, and what deploys them.
_SIGNATURE: Final = re.compile(r"0x(?:[0-9a-fA-F]{2}){65,4096}", re.ASCII)
_MOST: Final = 2**256 - 1

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What both versions say, under different names."""

    scheme: str
    network: str
    amount: str
    asset: str
    pay_to: str
    resource: str
    extra: Mapping[str, Any]
    payload: Body


def network_in(body: Body) -> str:
    """Return the network that a body names, however wrong the rest of it is; "" where it names none."""
    requirements = body.get("paymentRequirements")
    named = requirements.get("network") if isinstance(requirements, dict) else None
    return named[:64] if isinstance(named, str) and storable(named) else ""


def parse_standard(body: Body, mode: Mode) -> StandardRequest:
    """Read a body of `/verify` or `/settle`."""
    version = body["x402Version"]
    if type(version) is not int or version not in VERSIONS:
        raise RefusedPaymentError(reasons.INVALID_VERSION)
    asked = _asked(body, version)
    if asked.scheme != SCHEME:
        raise RefusedPaymentError(reasons.UNSUPPORTED_SCHEME)
    spec = chain_called(asked.network, version, mode)
    if spec is None:
        raise RefusedPaymentError(
            reasons.INVALID_NETWORK, "Payments on this network are not settled here."
        )
    if not _AMOUNT.fullmatch(asked.amount):
        raise _requirements("amount must be a whole number of base units.")
    asset = _address(asked.asset, "asset")
    return StandardRequest(
        version=version,
        network=asked.network,
        spec=spec,
        token=_symbol(asset, spec),
        asset=asset,
        pay_to=_address(asked.pay_to, "payTo"),
        units=int(asked.amount),
        resource=asked.resource,
        extra=_domain(asked.extra),
        signed=_signed(asked.payload),
    )


def _asked(body: Body, version: int) -> _Asked:
    from pydantic import ValidationError  # slow to import, and few processes read these

    try:
        return _first(body) if version == 1 else _second(body)
    except ValidationError as error:
        about = str(error.title)
        is_payload = about.startswith("PaymentPayload")
        raise RefusedPaymentError(
            reasons.INVALID_PAYLOAD if is_payload else reasons.INVALID_REQUIREMENTS
        ) from None


def _first(body: Body) -> _Asked:
    from x402.schemas.v1 import PaymentPayloadV1, PaymentRequirementsV1

    wanted = PaymentRequirementsV1.model_validate(body.get("paymentRequirements"))
    told = PaymentPayloadV1.model_validate(body.get("paymentPayload"))
    _refuse_other(told.scheme, wanted.scheme, told.network, wanted.network)
    return _Asked(
        scheme=wanted.scheme,
        network=wanted.network,
        amount=wanted.max_amount_required,
        asset=wanted.asset,
        pay_to=wanted.pay_to,
        resource=_resource(wanted.resource),
        extra=wanted.extra or {},
        payload=told.payload,
    )


def _second(body: Body) -> _Asked:
    from x402.schemas import PaymentPayload, PaymentRequirements

    wanted = PaymentRequirements.model_validate(body.get("paymentRequirements"))
    told = PaymentPayload.model_validate(body.get("paymentPayload"))
    accepted = told.accepted
    _refuse_other(accepted.scheme, wanted.scheme, accepted.network, wanted.network)
    return _Asked(
        scheme=wanted.scheme,
        network=wanted.network,
        amount=wanted.amount,
        asset=wanted.asset,
        pay_to=wanted.pay_to,
        resource=_resource(told.resource.url if told.resource else ""),
        extra=wanted.extra,
        payload=told.payload,
    )


def _refuse_other(scheme: str, wanted_scheme: str, network: str, wanted: str) -> None:
    if scheme != wanted_scheme:
        raise RefusedPaymentError(reasons.UNSUPPORTED_SCHEME)
    if network != wanted:
        raise RefusedPaymentError("network_mismatch")


def _resource(text: str) -> str:
    if len(text) > RESOURCE_LENGTH or not storable(text):
        raise _requirements(f"resource must be at most {RESOURCE_LENGTH} characters.")
    return text


def _domain(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keep what the payer's signature is about, and the way of transfer."""
    kept = {key: extra.get(key) for key in ("name", "version", "assetTransferMethod")}
    return {
        key: value
        for key, value in kept.items()
        if isinstance(value, str) and len(value) <= 64
    }


def _symbol(asset: str, spec: ChainSpec) -> str:
    for token in spec.accepted_tokens:
        if token.address == asset:
            return token.symbol
    raise _requirements("asset is no token that is accepted on this network.")


def _signed(payload: Body) -> Signed:
    signature = payload.get("signature")
    if not isinstance(signature, str) or not _SIGNATURE.fullmatch(signature):
        raise RefusedPaymentError("invalid_exact_evm_payload_signature")
    if "permit2Authorization" in payload:
        return _permit2(_object(payload, "permit2Authorization"), signature)
    return _eip3009(_object(payload, "authorization"), signature)


def _eip3009(told: Body, signature: str) -> Signed:
    nonce = _text(told, "nonce", _NONCE).lower()
    signed = Signed(
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


def _permit2(told: Body, signature: str) -> Signed:
    permitted, witness = _object(told, "permitted"), _object(told, "witness")
    nonce = _text(told, "nonce", _UINT256)
    signed = Signed(
        payer=_payer(told),
        recipient=_party(witness, "to"),
        units=_number(permitted, "amount"),
        valid_after=_number(witness, "validAfter"),
        valid_before=_number(told, "deadline"),
        nonce=f"permit2:{int(nonce)}",
        payload={},
    )
    authorization = {
        "from": signed.payer,
        "permitted": {"token": _party(permitted, "token"), "amount": str(signed.units)},
        "spender": _party(told, "spender"),
        "nonce": str(int(nonce)),
        "deadline": str(signed.valid_before),
        "witness": {"to": signed.recipient, "validAfter": str(signed.valid_after)},
    }
    payload = {"permit2Authorization": authorization, "signature": signature}
    return replace(signed, payload=payload)


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
        return canonical_address(str(value), family=Family.EVM)
    except AddressError:
        raise RefusedPaymentError(
            reasons.INVALID_PAYLOAD, f"{name} is no address."
        ) from None


def _address(text: str, name: str) -> str:
    try:
        return canonical_address(text, family=Family.EVM)
    except AddressError:
        raise _requirements(f"{name} is no address of this network.") from None


def _requirements(message: str) -> RefusedPaymentError:
    return RefusedPaymentError(reasons.INVALID_REQUIREMENTS, message)
