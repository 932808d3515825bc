"""Whether a signed authorisation would settle. Nothing is used up by asking."""

from typing import Any

from accounts.states import Mode
from facilitator.models import Authorization
from facilitator.services.using import Caller
from facilitator.standard import answers, reasons
from facilitator.standard.authorizations import find, is_in_use
from facilitator.standard.errors import RefusedPaymentError, TakenElsewhereError
from facilitator.standard.forms import Body, parse_standard
from facilitator.standard.guarding import refuse_late, refuse_others
from facilitator.standard.inputs import Clock, StandardRequest
from facilitator.standard.nodes import pool_of
from facilitator.standard.schemes import ask_verify
from facilitator.standard.sharing import refuse_failing
from facilitator.standard.signer import LedgerSigner
from facilitator.standard.simulating import verify_simulated


def verify_standard(caller: Caller, body: Body, *, clock: Clock) -> dict[str, Any]:
    """Return the answer to a body of `/verify` in the standard's form."""
    try:
        request = parse_standard(body, caller.mode)
        refuse_others(caller, request, now=clock())
        refuse_late(request, now=clock())
        if caller.mode == Mode.LIVE:
            refuse_failing(request, now=clock())
    except RefusedPaymentError as error:
        return answers.refused_verify(error)
    if caller.mode == Mode.TEST:
        return verify_simulated(request)
    return _verify(request, clock)


def _verify(request: StandardRequest, clock: Clock) -> dict[str, Any]:
    payer = request.signed.payer
    row = find(request)
    if row is not None and is_in_use(row, now=clock()):
        return answers.invalid(reasons.ALREADY_USED, payer=payer)
    pool = pool_of(request.spec)
    signer = LedgerSigner(request.spec, pool, claim=_nobody, clock=clock)
    told = ask_verify(request, signer)
    if told.is_valid:
        return answers.valid(request)
    if signer.trouble is not None:
        message = (
            "The chain cannot be asked just now: the payment is not refused, ask again."
        )
        return answers.invalid(reasons.UNEXPECTED_VERIFY, message, payer=payer)
    return answers.invalid(str(told.invalid_reason), payer=payer)


def _nobody() -> Authorization:
    """Nothing is sent for a verification."""
    raise TakenElsewhereError
