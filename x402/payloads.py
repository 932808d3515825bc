"""Responses of the facilitator in the specification's form."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from django.db.models import QuerySet

from accounts.states import Mode
from gateway.core.api.pagination import chunks_by_key
from gateway.core.money import format_units, from_units
from gateway.core.times import iso, iso_or_none
from wallets.networks import chain_spec
from x402.inputs import SCHEME
from x402.models import X402Payment
from x402.rules import ProofVerdict

CSV_HEADER: Final = """
    id verified_at status protocol network token amount required_amount resource payer pay_to signed tx_hash
    settled_at reversed_at
""".split()


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


def payment_payload(payment: X402Payment) -> dict[str, Any]:
    """Return a line of `GET /x402/payments`."""
    return {
        "id": payment.public_id,
        "livemode": payment.mode == Mode.LIVE,
        "protocol": payment.protocol,
        "chain": payment.chain,
        "token": payment.token,
        "amount": format_units(payment.units),
        "required_amount": format_units(payment.required_units),
        "txHash": payment.tx_hash,
        "position": payment.position,
        "payerAddress": payment.payer,
        "payTo": payment.pay_to,
        "signed": payment.is_signed,
        "resource": payment.resource,
        "status": payment.status,
        "verified_at": iso(payment.verified_at),
        "final_at": iso_or_none(payment.final_at),
        "settled_at": iso_or_none(payment.settled_at),
        "reversed_at": iso_or_none(payment.reversed_at),
    }


def config_payload(pay_to: dict[str, str], missing: dict[str, str], *, requires_signature: bool) -> dict[str, Any]:
    """Return `GET /x402/config`.

    `pay_to` has the address of each network that machines can pay on; `missing` has the page that adds a wallet for each
    other one. `requires_signature` says whether a proof by hash needs the payer's signature.
    """
    assets = {name: [token.symbol for token in chain_spec(name).accepted_tokens] for name in pay_to}
    settlement = {name: "batch" if chain_spec(name).family.has_forwarders else "direct" for name in pay_to}
    return {
        "payTo": pay_to,
        "networks": list(pay_to),
        "assets": assets,
        "scheme": SCHEME,
        "settlement": settlement,
        "missing": [{"chain": chain, "page": page} for chain, page in missing.items()],
        "requiresSignature": requires_signature,
    }


def csv_rows(payments: QuerySet[X402Payment]) -> Iterator[list[object]]:
    """Yield the cells of a file, newest first, read in chunks."""
    for chunk in chunks_by_key(payments):
        yield from map(_cells, chunk)


def _cells(payment: X402Payment) -> list[object]:
    return [
        payment.public_id,
        iso(payment.verified_at),
        payment.status,
        payment.protocol,
        payment.chain,
        payment.token,
        from_units(int(payment.units)),
        from_units(int(payment.required_units)),
        payment.resource,
        payment.payer,
        payment.pay_to,
        "yes" if payment.is_signed else "no",
        payment.tx_hash,
        iso_or_none(payment.settled_at),
        iso_or_none(payment.reversed_at),
    ]
