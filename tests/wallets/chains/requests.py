"""Payments that links into wallets ask for."""

from typing import Any

from wallets.chains.family import PaymentRequest
from wallets.chains.registry import load_chains

REFERENCE = bytes(range(100, 132))


def request_on(chain: str, address: str, **overrides: Any) -> PaymentRequest:
    """A payment of 49.000137 in the chain's first accepted token, on its main network."""
    spec = load_chains("mainnet", {})[chain]
    values: dict[str, Any] = {
        "token": spec.accepted_tokens[0].symbol,
        "address": address,
        "units": 49_000_137,
        "reference": REFERENCE,
        "memo": "0123456789abcdef",
    }
    return PaymentRequest(spec, **(values | overrides))
