"""Responses in the standard's form. All have HTTP 200, because clients read nothing else."""

from typing import Any

from x402.exact import reasons
from x402.exact.errors import RefusedPaymentError
from x402.exact.inputs import StandardRequest


def valid(request: StandardRequest) -> dict[str, Any]:
    """Return the response that a payment would settle."""
    return {"isValid": True, "payer": request.signed.payer}


def invalid(reason: str, message: str = "", *, payer: str = "") -> dict[str, Any]:
    """Return the response that it would not."""
    told = {"invalidMessage": message, "payer": payer}
    return {"isValid": False, "invalidReason": reason} | _present(told)


def unusable(request: StandardRequest, reason: str) -> dict[str, Any]:
    """Return the response that it would not, for one of our own reasons."""
    spoken = request.spoken(reason)
    return invalid(spoken, payer=request.signed.payer)


def settled(request: StandardRequest, tx_hash: str, payment_id: str) -> dict[str, Any]:
    """Return the response that a payment settled; `GET /x402/payments` lists it under its id.

    If nothing was charged, it has neither a transaction nor an id.
    """
    answer: dict[str, Any] = {
        "success": True,
        "transaction": tx_hash,
        "network": request.network,
        "payer": request.signed.payer,
    }
    if request.units:
        answer["extra"] = {"paymentId": payment_id}
    return answer if request.version == 1 else answer | {"amount": str(request.units)}


def failed(request: StandardRequest, reason: str, message: str = "", *, tx_hash: str = "") -> dict[str, Any]:
    """Return the response that it did not, or not yet: then with the transaction in progress."""
    spoken = request.spoken(reason)
    payer = request.signed.payer
    return unsettled(spoken, message, network=request.network, payer=payer) | {"transaction": tx_hash}


def used(request: StandardRequest, *, tx_hash: str = "") -> dict[str, Any]:
    """Return the response to an authorisation that already paid, with the transaction that used it."""
    return failed(request, used_reason(request), tx_hash=tx_hash)


def used_reason(request: StandardRequest) -> str:
    """Return the standard's reason for an authorisation that was used, by its kind."""
    return reasons.PERMIT2_NONCE if request.signed.is_permit2 else reasons.ALREADY_USED


def overdrawn(request: StandardRequest) -> dict[str, Any]:
    """Return the response if the payer's balance does not cover the payment beside others in progress."""
    balance = reasons.INSUFFICIENT_BALANCE
    reason = reasons.PERMIT2_BALANCE if request.signed.is_permit2 else balance
    return failed(
        request, reason, "Other payments of this payer are on their way, and the balance does not cover this one too."
    )


def in_words_of(request: StandardRequest, kept: dict[str, Any]) -> dict[str, Any]:
    """Return a kept response in the request's version of the standard."""
    if kept["success"]:
        # Responses kept by an older release have no id.
        payment_id = kept.get("extra", {}).get("paymentId", "")
        return settled(request, kept["transaction"], payment_id)
    return kept | {"network": request.network}


def unsettled(reason: str, message: str = "", *, network: str, payer: str = "") -> dict[str, Any]:
    """Return the response to an invalid payment."""
    told = {"errorMessage": message, "payer": payer}
    answer = {"success": False, "errorReason": reason, "transaction": ""}
    return answer | {"network": network} | _present(told)


def refused_verify(error: RefusedPaymentError) -> dict[str, Any]:
    """Return the response to a refused verification."""
    return invalid(error.reason, error.message, payer=error.payer)


def refused_settle(error: RefusedPaymentError, network: str) -> dict[str, Any]:
    """Return the response to a refused settlement."""
    return unsettled(error.reason, error.message, network=network, payer=error.payer)


def pending(request: StandardRequest, tx_hash: str) -> dict[str, Any]:
    """Return the response that a transaction was sent and is not in a block yet; a repeated request continues."""
    message = "The transaction was sent and is in no block yet; settle again to learn of it."
    return failed(request, reasons.PENDING, message, tx_hash=tx_hash)


def is_pending(answer: dict[str, Any]) -> bool:
    """Whether a response of `/settle` says that the payment is in progress."""
    return answer.get("errorReason") == reasons.PENDING


def trouble(request: StandardRequest) -> dict[str, Any]:
    """Return the response if a node or our gas account is not ready, which says nothing about the payment."""
    message = "The chain or our gas account is not ready. Settle again."
    return failed(request, reasons.UNEXPECTED_SETTLE, message)


def unverified(payer: str) -> dict[str, Any]:
    """Return the response if no node can say whether a payment would settle."""
    message = "The chain cannot be asked just now: the payment is not refused, ask again."
    return invalid(reasons.UNEXPECTED_VERIFY, message, payer=payer)


def unready(payer: str) -> dict[str, Any]:
    """Return the response if a good payment cannot be sent now, because our gas account may not or cannot pay for it."""
    message = "Payments on this network cannot be sent just now: the payment is not refused, ask again."
    return invalid(reasons.UNEXPECTED_VERIFY, message, payer=payer)


def _present(values: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}
