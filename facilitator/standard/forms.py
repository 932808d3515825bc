"""Reading the standard's bodies: shapes by the library's own schemas, every value of them by hand.

Python reads numbers such as "1_000" and " 1"; chains do not. Raises RefusedPaymentError.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from accounts.states import Mode
from facilitator.inputs import SCHEME
from facilitator.models import RESOURCE_LENGTH
from facilitator.standard import reasons
from facilitator.standard.errors import RefusedPaymentError
from facilitator.standard.inputs import Body, StandardRequest
from facilitator.standard.networks import VERSIONS, chain_called
from facilitator.standard.rails import rail_of
from gateway.core.errors import InvalidRequestError
from gateway.core.fields import storable
from wallets.addresses import AddressError, canonical_address
from wallets.chains.registry import ChainSpec

_AMOUNT: Final = re.compile(r"[1-9][0-9]{0,24}", re.ASCII)


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
        name = "amount" if version == 2 else "maxAmountRequired"
        raise InvalidRequestError(
            f"{name} must be a whole number of base units.",
            code="amount_invalid",
            param=f"paymentRequirements.{name}",
        )
    rail = rail_of(spec.family)
    asset = _address(asked.asset, "asset", spec)
    pay_to = _address(asked.pay_to, "payTo", spec)
    extra = rail.read_extra(asked.extra)
    return StandardRequest(
        version=version,
        network=asked.network,
        spec=spec,
        token=_symbol(asset, spec),
        asset=asset,
        pay_to=pay_to,
        units=int(asked.amount),
        resource=asked.resource,
        extra=extra,
        signed=rail.read_signed(asked.payload, asset=asset, pay_to=pay_to, extra=extra),
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


def _symbol(asset: str, spec: ChainSpec) -> str:
    for token in spec.accepted_tokens:
        if token.address == asset:
            return token.symbol
    raise _requirements("asset is no token that is accepted on this network.")


def _address(text: str, name: str, spec: ChainSpec) -> str:
    try:
        return canonical_address(text, family=spec.family)
    except AddressError:
        raise _requirements(f"{name} is no address of this network.") from None


def _requirements(message: str) -> RefusedPaymentError:
    return RefusedPaymentError(reasons.INVALID_REQUIREMENTS, message)
