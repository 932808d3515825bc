"""Checks of payments on all chains: the merchant's own address, an open account, enough time left."""

from datetime import datetime
from typing import Final

from accounts.merchants.service import refuse_if_closed
from gateway.core.api.errors import ConflictError
from x402.exact import reasons
from x402.exact.errors import RefusedPaymentError
from x402.exact.inputs import StandardRequest
from x402.payments.addresses import is_paid_at
from x402.payments.claims import Caller

# The standard's minimum in seconds. Source: PyPI x402 2.25.
_LEAST_TIME: Final = 6
# A transaction waits for its block, and sometimes for the next one.
_BLOCKS: Final = 2


def refuse_others(caller: Caller, request: StandardRequest, *, now: datetime) -> None:
    """Raise RefusedPaymentError unless the payment goes to the merchant's own address with the requested amount."""
    signed = request.signed
    merchant, chain, to = caller.merchant_id, request.spec.name, request.pay_to
    is_ours = is_paid_at(merchant, caller.mode, chain, to, now=now)
    if not is_ours or signed.recipient != to:
        raise RefusedPaymentError(
            request.spoken(reasons.RECIPIENT_MISMATCH),
            "payTo is not where this merchant's machines pay: GET /x402/config says where.",
            payer=signed.payer,
        )
    if signed.units != request.units:
        mismatch = request.spoken(reasons.VALUE_MISMATCH)
        raise RefusedPaymentError(mismatch, payer=signed.payer)


def refuse_new(caller: Caller, request: StandardRequest, *, now: datetime) -> None:
    """Raise RefusedPaymentError if nothing may be sent for a new payment.

    That is if the merchant account is closed, or the authorisation might end before it is in a block.
    """
    try:
        refuse_if_closed(caller.merchant_id)
    except ConflictError as error:
        raise RefusedPaymentError(reasons.INVALID_REQUIREMENTS, str(error), payer=request.signed.payer) from error
    refuse_late(request, now=now)


def refuse_late(request: StandardRequest, *, now: datetime) -> None:
    """Raise RefusedPaymentError if the authorisation might end before its transaction is in a block."""
    wait = max(_LEAST_TIME, _BLOCKS * request.spec.block_seconds)
    if request.signed.valid_before < now.timestamp() + wait:
        payer = request.signed.payer
        raise RefusedPaymentError(reasons.VALID_BEFORE, "There is too little time left.", payer=payer)
