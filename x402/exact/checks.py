"""Checks of payments on all chains: the merchant's own address, an open account, enough time left."""

from datetime import datetime
from typing import Final

from accounts.merchants.service import refuse_if_closed
from gateway.core.api.errors import ConflictError
from x402.exact import reasons
from x402.exact.errors import RefusedPaymentError
from x402.exact.inputs import StandardRequest
from x402.exact.senders import senders_of
from x402.payments.addresses import is_paid_at
from x402.payments.claims import Caller

# The standard's minimum in seconds. Source: PyPI x402 2.25.
_LEAST_TIME: Final = 6
# A transaction waits for its block, and sometimes for the next one.
_BLOCKS: Final = 2


def refuse_others(caller: Caller, request: StandardRequest, *, now: datetime, settling: bool = False) -> None:
    """Raise RefusedPaymentError unless the payment goes to the merchant's own address with the requested amount.

    Where the payer signed a maximum, the requested amount is that maximum, and with `settling` at most that.
    """
    signed = request.signed
    merchant, chain, to = caller.merchant_id, request.spec.name, request.pay_to
    is_ours = is_paid_at(merchant, caller.mode, chain, to, now=now)
    if not is_ours or signed.recipient != to:
        raise RefusedPaymentError(
            request.spoken(reasons.RECIPIENT_MISMATCH),
            "payTo is not where this merchant's machines pay: GET /x402/config says where.",
            payer=signed.payer,
        )
    if request.is_upto and settling:
        _refuse_excess(request)
    elif signed.units != request.units:
        mismatch = request.spoken(reasons.VALUE_MISMATCH)
        raise RefusedPaymentError(mismatch, payer=signed.payer)


def _refuse_excess(request: StandardRequest) -> None:
    if request.units > request.signed.units:
        told = f"At most {request.signed.units} base units were signed."
        raise RefusedPaymentError(reasons.UPTO_EXCEEDED, told, payer=request.signed.payer)


def refuse_new(caller: Caller, request: StandardRequest, *, now: datetime, settling: bool = False) -> None:
    """Raise RefusedPaymentError if nothing may be sent for a new payment.

    That is if the merchant account is closed, the authorisation might end before it is in a block, or in scheme `upto` if it
    names another sender than one of our accounts that are in use; with `settling` than one of our accounts.
    """
    try:
        refuse_if_closed(caller.merchant_id)
    except ConflictError as error:
        raise RefusedPaymentError(reasons.INVALID_REQUIREMENTS, str(error), payer=request.signed.payer) from error
    refuse_late(request, now=now)
    if request.is_upto:
        _refuse_maximum(caller, request, settling=settling)


def _refuse_maximum(caller: Caller, request: StandardRequest, *, settling: bool) -> None:
    signed = request.signed
    if not signed.units:
        raise RefusedPaymentError(reasons.UPTO_NOTHING, payer=signed.payer)
    if signed.facilitator not in senders_of(request.spec.name, caller.mode, settling=settling):
        told = "witness.facilitator is no account of this facilitator: GET /x402/supported says which one to sign for."
        raise RefusedPaymentError(reasons.UPTO_FACILITATOR, told, payer=signed.payer)


def refuse_late(request: StandardRequest, *, now: datetime) -> None:
    """Raise RefusedPaymentError if the authorisation might end before its transaction is in a block."""
    wait = max(_LEAST_TIME, _BLOCKS * request.spec.block_seconds)
    if request.signed.valid_before < now.timestamp() + wait:
        payer = request.signed.payer
        raise RefusedPaymentError(request.spoken(reasons.VALID_BEFORE), "There is too little time left.", payer=payer)
