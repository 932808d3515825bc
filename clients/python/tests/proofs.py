"""Proofs of payment, as payers send them."""

import itertools
from typing import Any

from florin_x402.wire import encode
from standin import PAY_TO, PAYER, USDC

_numbers = itertools.count(1)


def payment(**changes: Any) -> dict[str, Any]:
    """A proof by hash, of another transaction each time."""
    return {
        "txHash": f"0x{next(_numbers):064x}",
        "chain": "base",
        "token": "USDC",
        "amount": "0.01",
        "payerAddress": PAYER,
        "payTo": PAY_TO,
    } | changes


def by_hash(**changes: Any) -> dict[str, str]:
    """The header of the specification's protocol."""
    return {"X_PAYMENT": encode(payment(**changes))}


def first_version(**changes: Any) -> dict[str, str]:
    """The header of the standard's first version."""
    told = {"x402Version": 1, "scheme": "exact", "network": "base"}
    return {"X_PAYMENT": encode(told | {"payload": authorization()} | changes)}


def second_version(units: str = "10000", **changes: Any) -> dict[str, str]:
    """The header of the standard's second version."""
    accepted = {
        "scheme": "exact",
        "network": "eip155:8453",
        "amount": units,
        "asset": USDC.lower(),
        "payTo": PAY_TO,
        "maxTimeoutSeconds": 60,
        "extra": {},
    }
    told = {"x402Version": 2, "accepted": accepted, "payload": authorization()}
    return {"PAYMENT_SIGNATURE": encode(told | changes)}


def identified(payment_id: object, units: str = "10000", **changes: Any) -> dict[str, str]:
    """The same with a payment identifier, as published clients echo the extension."""
    extension = {"info": {"required": False, "id": payment_id}, "schema": {}}
    return second_version(units, extensions={"payment-identifier": extension}, **changes)


def authorization() -> dict[str, str]:
    """What the stand-in takes for a signed authorisation."""
    return {"nonce": f"0x{next(_numbers):064x}"}
