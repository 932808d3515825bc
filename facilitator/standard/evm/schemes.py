"""The library's facilitators, one for each version, over a signer of ours."""

from typing import Any

from facilitator.inputs import SCHEME
from facilitator.standard.evm.signer import LedgerSigner
from facilitator.standard.inputs import StandardRequest

_TIMEOUT = 60


def ask_verify(request: StandardRequest, signer: LedgerSigner) -> Any:
    """Return the library's VerifyResponse."""
    scheme, payload, requirements = _prepared(request, signer)
    return scheme.verify(payload, requirements)


def ask_settle(request: StandardRequest, signer: LedgerSigner) -> Any:
    """Return the library's SettleResponse, the signer having sent what it found good."""
    scheme, payload, requirements = _prepared(request, signer)
    return scheme.settle(payload, requirements)


def _prepared(request: StandardRequest, signer: LedgerSigner) -> tuple[Any, Any, Any]:
    return _first(request, signer) if request.version == 1 else _second(request, signer)


def _first(request: StandardRequest, signer: LedgerSigner) -> tuple[Any, Any, Any]:
    from x402.mechanisms.evm.exact.v1.facilitator import ExactEvmSchemeV1
    from x402.schemas.v1 import PaymentPayloadV1, PaymentRequirementsV1

    requirements = PaymentRequirementsV1(
        scheme=SCHEME,
        network=request.network,
        max_amount_required=str(request.units),
        resource=request.resource,
        pay_to=request.pay_to,
        max_timeout_seconds=_TIMEOUT,
        asset=request.asset,
        extra=dict(request.extra),
    )
    payload = PaymentPayloadV1(
        scheme=SCHEME, network=request.network, payload=dict(request.signed.payload)
    )
    return ExactEvmSchemeV1(signer), payload, requirements


def _second(request: StandardRequest, signer: LedgerSigner) -> tuple[Any, Any, Any]:
    from x402.mechanisms.evm.exact.facilitator import ExactEvmScheme
    from x402.schemas import PaymentPayload, PaymentRequirements

    requirements = PaymentRequirements(
        scheme=SCHEME,
        network=request.network,
        asset=request.asset,
        amount=str(request.units),
        pay_to=request.pay_to,
        max_timeout_seconds=_TIMEOUT,
        extra=dict(request.extra),
    )
    # Without the payload's extensions: their approvals would be sent, and paid for, by our gas account.
    payload = PaymentPayload(
        payload=dict(request.signed.payload), accepted=requirements
    )
    return ExactEvmScheme(signer), payload, requirements
