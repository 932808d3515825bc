"""Parses the standard's bodies by hand, every value.

Python reads numbers such as "1_000" and " 1"; chains do not. Raises RefusedPaymentError for whatever is wrong: published
middlewares refuse a payment that gets the standard's answer, and fail over any other one.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from accounts.states import Mode
from gateway.core.api.fields import storable
from wallets.chains.base import AddressError
from wallets.chains.family import ChainSpec
from x402.exact import reasons
from x402.exact.errors import RefusedPaymentError
from x402.exact.inputs import Body, Offer, StandardRequest
from x402.exact.kinds import SCHEMES, VERSIONS, chain_called
from x402.exact.rails import rail_of
from x402.inputs import UPTO
from x402.models import RESOURCE_LENGTH

_IDENTIFIER: Final = re.compile(r"[a-zA-Z0-9_-]{16,128}", re.ASCII)
_AMOUNT: Final = re.compile(r"[1-9][0-9]{0,24}", re.ASCII)
# What is charged of a maximum may be nothing.
_CHARGED: Final = re.compile(r"0|[1-9][0-9]{0,24}", re.ASCII)
_AMOUNTS: Final = MappingProxyType({1: "maxAmountRequired", 2: "amount"})
_WANTED: Final = reasons.INVALID_REQUIREMENTS
_OFFERED: Final = ("scheme", "network", "asset", "payTo", "amount")


@dataclass(frozen=True, slots=True)
class _Asked:
    """The fields that both versions have, under different names."""

    scheme: str
    network: str
    amount: str
    asset: str
    pay_to: str
    resource: str
    extra: Mapping[str, Any]
    payload: Body
    extensions: Body


def network_in(body: Body) -> str:
    """Return the network that a body names, even if the rest is invalid; "" if it names none."""
    requirements = body.get("paymentRequirements")
    named = requirements.get("network") if isinstance(requirements, dict) else None
    return named[:64] if isinstance(named, str) and storable(named) else ""


def parse_standard(body: Body, mode: Mode) -> StandardRequest:
    """Parse a body of `/verify` or `/settle`."""
    version = body.get("x402Version")
    if type(version) is not int or version not in VERSIONS:
        raise RefusedPaymentError(reasons.INVALID_VERSION)
    asked = _asked(body, version)
    if asked.scheme not in SCHEMES[version]:
        raise RefusedPaymentError(reasons.UNSUPPORTED_SCHEME)
    spec = chain_called(asked.network, version, mode)
    if spec is None:
        raise RefusedPaymentError(reasons.INVALID_NETWORK, "Payments on this network are not settled here.")
    rail = rail_of(spec.family)
    if asked.scheme not in rail.schemes:
        raise RefusedPaymentError(reasons.UNSUPPORTED_SCHEME)
    if not (_CHARGED if asked.scheme == UPTO else _AMOUNT).fullmatch(asked.amount):
        name = _AMOUNTS[version]
        raise _requirements(f"{name} must be a whole number of base units.")
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
        signed=rail.read_extensions(
            asked.extensions,
            rail.read_signed(asked.payload, asset=asset, pay_to=pay_to, extra=extra, scheme=asked.scheme),
            asset=asset,
        ),
        reasons=rail.reasons_of(asked.scheme),
        scheme=asked.scheme,
        identifier=_identifier(asked.extensions),
    )


def parse_offer(told: object, mode: Mode) -> Offer:
    """Parse requirements of version 2 that no payer has signed for yet. Raises RefusedPaymentError."""
    wanted = _object({"accepts": told}, "accepts", _WANTED, *_OFFERED)
    spec = chain_called(wanted["network"], 2, mode)
    if spec is None:
        raise _requirements("Payments on this network are not settled here.")
    if wanted["scheme"] not in rail_of(spec.family).schemes:
        raise _requirements("Payments of this scheme are not settled on this network.")
    if not _AMOUNT.fullmatch(wanted["amount"]):
        raise _requirements("amount must be a whole number of base units.")
    _symbol(_address(wanted["asset"], "asset", spec), spec)
    return Offer(spec, _address(wanted["payTo"], "payTo", spec), {name: wanted[name] for name in _OFFERED})


def _asked(body: Body, version: int) -> _Asked:
    names = ("scheme", "network", "asset", "payTo", _AMOUNTS[version])
    more = ("resource",) if version == 1 else ()
    wanted = _object(body, "paymentRequirements", _WANTED, *names, *more)
    _expect_seconds(wanted, _WANTED)
    if version == 1:
        told = _object(body, "paymentPayload", reasons.INVALID_PAYLOAD, *names[:2])
        return _first(wanted, told)
    told = _object(body, "paymentPayload", reasons.INVALID_PAYLOAD)
    accepted = _object(told, "accepted", reasons.INVALID_PAYLOAD, *names)
    _expect_seconds(accepted, reasons.INVALID_PAYLOAD)
    resource = told.get("resource")
    if resource is not None:
        resource = _object(told, "resource", reasons.INVALID_PAYLOAD, "url")["url"]
    return _same(wanted, accepted, told, wanted["amount"], resource or "")


def _first(wanted: Body, told: Body) -> _Asked:
    if told.get("x402Version", 1) != 1:
        raise RefusedPaymentError(reasons.INVALID_PAYLOAD)
    amount = wanted["maxAmountRequired"]
    return _same(wanted, told, told, amount, wanted["resource"])


def _same(wanted: Body, accepted: Body, told: Body, amount: str, resource: str) -> _Asked:
    """Return the requirements, if the payer's payload names the same scheme and network."""
    payload = _object(told, "payload", reasons.INVALID_PAYLOAD)
    if accepted["scheme"] != wanted["scheme"]:
        raise RefusedPaymentError(reasons.UNSUPPORTED_SCHEME)
    if accepted["network"] != wanted["network"]:
        raise RefusedPaymentError(reasons.NETWORK_MISMATCH)
    has_extra = wanted.get("extra") is not None
    extensions = told.get("extensions")
    return _Asked(
        scheme=wanted["scheme"],
        network=wanted["network"],
        amount=amount,
        asset=wanted["asset"],
        pay_to=wanted["payTo"],
        resource=_resource(resource),
        extra=_object(wanted, "extra", _WANTED) if has_extra else {},
        payload=payload,
        extensions=extensions if isinstance(extensions, dict) else {},
    )


def _identifier(extensions: Body) -> bytes | None:
    """Return a digest of the payer's id (extension `payment-identifier`); None without one that is of its form.

    The id itself is not kept: with it, others could ask a seller for the answer.
    Source: npm @x402/extensions 2.27.
    """
    found: Any = extensions
    for name in ("payment-identifier", "info"):
        found = found.get(name)
        if not isinstance(found, dict):
            return None
    told = found.get("id")
    return hashlib.sha256(told.encode()).digest() if isinstance(told, str) and _IDENTIFIER.fullmatch(told) else None


def _object(body: Body, name: str, reason: str, *texts: str) -> Body:
    """Return an object in a body with the given texts; a missing or mistyped one is refused with `reason`."""
    value = body.get(name)
    if not isinstance(value, dict):
        raise RefusedPaymentError(reason, f"{name} must be an object.")
    for text in texts:
        if not isinstance(value.get(text), str):
            raise RefusedPaymentError(reason, f"{text} must be a string.")
    return value


def _expect_seconds(part: Body, reason: str) -> None:
    if type(part.get("maxTimeoutSeconds")) is not int:
        raise RefusedPaymentError(reason, "maxTimeoutSeconds must be a whole number.")


def _resource(text: str) -> str:
    if len(text) > RESOURCE_LENGTH or not storable(text):
        raise _requirements(f"resource must be at most {RESOURCE_LENGTH} characters.")
    return text


def _symbol(asset: str, spec: ChainSpec) -> str:
    for token in spec.machine_tokens:
        # What is signed names the contract's units, of which the last ones would be cut.
        if token.address == asset and not token.cut_decimals:
            return token.symbol
    raise _requirements("asset is no token that is accepted on this network.")


def _address(text: str, name: str, spec: ChainSpec) -> str:
    try:
        return spec.family.canonical_address(text)
    except AddressError:
        raise _requirements(f"{name} is no address of this network.") from None


def _requirements(message: str) -> RefusedPaymentError:
    return RefusedPaymentError(reasons.INVALID_REQUIREMENTS, message)
