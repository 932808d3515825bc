"""Responses of the facilitator in the specification's form."""

from datetime import datetime
from typing import Any

from gateway.core.times import iso
from wallets.chains.family import TokenSpec
from wallets.networks import chain_spec
from x402.inputs import SCHEME
from x402.rules import ProofVerdict


def valid_payload(tx_hash: str, payment_id: str, *, now: datetime) -> dict[str, Any]:
    """Return the response for a payment that this request used up, without `confirmations`, which the caller adds.

    `tx_hash` is in its chain's own spelling, however the request spelled it.
    """
    return {"valid": True, "txHash": tx_hash, "verifiedAt": iso(now), "paymentId": payment_id}


def invalid_payload(tx_hash: str, verdict: ProofVerdict) -> dict[str, Any]:
    """Return the response for a payment that does not pay, or not yet."""
    return {
        "valid": False,
        "txHash": tx_hash,
        "reason": str(verdict.reason),
        "message": verdict.message,
        "retryAfter": verdict.retry_after,
    }


def config_payload(pay_to: dict[str, str], missing: dict[str, str], *, requires_signature: bool) -> dict[str, Any]:
    """Return `GET /x402/config`.

    `pay_to` has the address of each network that machines can pay on; `missing` has the page that adds a wallet for each
    other one. `requires_signature` says whether a proof by hash needs the payer's signature.
    """
    assets = {name: [token.symbol for token in chain_spec(name).accepted_tokens] for name in pay_to}
    others = {name: found for name in pay_to if (found := _other_assets(name))}
    settlement = {name: "batch" if chain_spec(name).family.has_forwarders else "direct" for name in pay_to}
    return {
        "payTo": pay_to,
        "networks": list(pay_to),
        "assets": assets,
        **({"otherAssets": others} if others else {}),
        "scheme": SCHEME,
        "settlement": settlement,
        "missing": [{"chain": chain, "page": page} for chain, page in missing.items()],
        "requiresSignature": requires_signature,
    }


def _other_assets(chain: str) -> list[dict[str, Any]]:
    """Return the tokens of other currencies than USD that machines can pay with.

    They are beside `assets`, because a server that takes its price in any of those would take as many euros as dollars.
    """
    return [_other_asset(token) for token in chain_spec(chain).machine_tokens if not token.accepted]


def _other_asset(token: TokenSpec) -> dict[str, Any]:
    told = {"token": token.symbol, "currency": token.peg, "address": token.address, "decimals": token.decimals}
    named = {} if token.domain is None else {"name": token.domain.name, "version": token.domain.version}
    return told | {"extra": named}
