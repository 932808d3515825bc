"""Bodies in the standard's words, as its published middlewares send them."""

from typing import Any, Protocol

from localnet.authorizations import DOMAIN

RESOURCE = "https://shop.example/report/7"


class Told(Protocol):
    """What a payer signed."""

    @property
    def to(self) -> str: ...

    @property
    def units(self) -> int: ...

    def payload(self) -> dict[str, Any]: ...


NAMES = {8453: "base", 137: "polygon", 1: "ethereum"}


def body_of(told: Told, asset: str, /, *, version: int = 2, chain_id: int = 8453, **changes: Any) -> dict[str, Any]:
    """The body of `/verify` and `/settle`; `changes` are of the requirements."""
    return (_first if version == 1 else _second)(told, asset, chain_id, changes)


def _first(told: Told, asset: str, chain_id: int, changes: dict[str, Any]) -> dict[str, Any]:
    requirements = {
        "scheme": "exact",
        "network": NAMES[chain_id],
        "maxAmountRequired": str(told.units),
        "resource": RESOURCE,
        "description": "",
        "payTo": told.to,
        "maxTimeoutSeconds": 60,
        "asset": asset,
        "extra": DOMAIN,
    } | changes
    payload = {"x402Version": 1, "scheme": "exact", "network": requirements["network"], "payload": told.payload()}
    return _body(1, payload, requirements)


def _second(told: Told, asset: str, chain_id: int, changes: dict[str, Any]) -> dict[str, Any]:
    resource = changes.pop("resource", RESOURCE)
    requirements = {
        "scheme": "exact",
        "network": f"eip155:{chain_id}",
        "amount": str(told.units),
        "payTo": told.to,
        "maxTimeoutSeconds": 60,
        "asset": asset,
        "extra": DOMAIN,
    } | changes
    payload = {"x402Version": 2, "accepted": requirements, "resource": {"url": resource}, "payload": told.payload()}
    return _body(2, payload, requirements)


def _body(version: int, payload: dict[str, Any], requirements: dict[str, Any]) -> dict[str, Any]:
    return {"x402Version": version, "paymentPayload": payload, "paymentRequirements": requirements}
