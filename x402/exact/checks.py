"""What is asked of payments on all chains: whose money it may be, whether they still sell, whether there is time left."""

from datetime import datetime
from typing import Final

from accounts.merchants.closure import refuse_if_closed
from gateway.core.api.errors import ConflictError
from x402.exact import reasons
from x402.exact.errors import RefusedPaymentError
from x402.exact.inputs import StandardRequest
from x402.payments.addresses import is_paid_at
from x402.payments.claims import Caller

# What the standard asks for at least, in seconds. Source: PyPI x402 2.25.
_LEAST_TIME: Final = 6
# A transaction waits for its block, and at times for the one after it.
_BLOCKS: Final = 2


def refuse_others(caller: Caller, request: StandardRequest, *, now: datetime) -> None:
    """Raise RefusedPaymentError unless the payment is to the merchant's own address and of the amount asked for."""
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
    """Raise RefusedPaymentError where nothing may be sent for a payment of which nothing was sent yet.

    That is where the merchant account is closed, and where the authorisation might end before it is in a block.
    """
    try:
        refuse_if_closed(caller.merchant_id)
    except ConflictError as error:
        raise RefusedPaymentError(
            reasons.INVALID_REQUIREMENTS, str(error), payer=request.signed.payer
        ) from error
    refuse_late(request, now=now)


def refuse_late(request: StandardRequest, *, now: datetime) -> None:
    """Raise RefusedPaymentError where the authorisation might end before its transaction is in a block."""
    wait = max(_LEAST_TIME, _BLOCKS * request.spec.block_seconds)
    if request.signed.valid_before < now.timestamp() + wait:
        payer = request.signed.payer
        raise RefusedPaymentError(
            reasons.VALID_BEFORE, "There is too little time left.", payer=payer
        )
