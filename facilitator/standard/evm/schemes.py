"""The library's facilitators, one for each version, over a signer of ours."""

from typing import Any

from facilitator.inputs import SCHEME
from facilitator.standard import reasons
from facilitator.standard.evm.permit2 import is_permit2
from facilitator.standard.evm.signer import LedgerSigner
from facilitator.standard.inputs import StandardRequest

_TIMEOUT = 60


def ask_verify(request: StandardRequest, signer: LedgerSigner) -> Any:
    """Return the library's VerifyResponse, Permit2's own answer in it."""
    if _is_from_later(request):
        from x402.schemas import VerifyResponse

        return VerifyResponse(is_valid=False, invalid_reason=reasons.INVALID_PAYLOAD)
    scheme, payload, requirements = _prepared(request, signer)
    told = scheme.verify(payload, requirements)
    if told.is_valid and is_permit2(request):
        told.invalid_reason = signer.rehearse(request)
        told.is_valid = not told.invalid_reason
    return told


def ask_settle(request: StandardRequest, signer: LedgerSigner) -> Any:
    """Return the library's SettleResponse, the signer having sent what it found good."""
    if _is_from_later(request):
        from x402.schemas import SettleResponse

        return SettleResponse(
            success=False,
            error_reason=reasons.INVALID_PAYLOAD,
            transaction="",
            network=request.network,
        )
    scheme, payload, requirements = _prepared(request, signer)
    return scheme.settle(payload, requirements)


def _is_from_later(request: StandardRequest) -> bool:
    """Whether it is one of Permit2's in the words of the first version, which has none: the library would misread it."""
    return request.version == 1 and is_permit2(request)


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
