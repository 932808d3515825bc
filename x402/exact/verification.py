"""Verifies signed authorisations: whether they would settle. Nothing is used up."""

from typing import Any

from accounts.states import Mode
from x402.exact import answers
from x402.exact.authorizations import find_for, is_same, is_unanswered
from x402.exact.checks import refuse_new, refuse_others
from x402.exact.errors import RefusedPaymentError
from x402.exact.forms import parse_standard
from x402.exact.inputs import Body, Clock, StandardRequest
from x402.exact.quotas import VERIFYING, may_ask, refuse_failing
from x402.exact.rails import rail_of
from x402.exact.testmode import verify_simulated
from x402.exact.waiting import asking, has_place
from x402.payments.claims import Caller
from x402.payments.large import is_sold_out

Answer = dict[str, Any]


def verify_standard(caller: Caller, body: Body, *, clock: Clock) -> Answer:
    """Return the response to a body of `/verify` in the standard's form."""
    try:
        request = parse_standard(body, caller.mode)
        refuse_others(caller, request, now=clock())
        if (known := _known(caller, request)) is not None:
            return known
        refuse_new(caller, request, now=clock())
        if caller.mode == Mode.TEST:
            return verify_simulated(request)
        refuse_failing(request, now=clock())
    except RefusedPaymentError as error:
        return answers.refused_verify(error)
    return _verify(caller, request, clock)


def _known(caller: Caller, request: StandardRequest) -> Answer | None:
    """Return the response for an authorisation that was sent already; None if the chain must be asked."""
    row = find_for(caller, request)
    if row is None or not (row.served_at is not None or is_unanswered(row)):
        return None
    # Until a request was served for it, its payer must not have to pay twice.
    if is_unanswered(row) and is_same(row, caller.merchant_id, request):
        return answers.valid(request)
    return answers.unusable(request, answers.used_reason(request))


def _verify(caller: Caller, request: StandardRequest, clock: Clock) -> Answer:
    if not has_place(request.spec.name):
        # Without a free place to wait nothing may be sent, so refuse before the resource server does its work.
        return answers.unverified(request.signed.payer)
    if is_sold_out(caller.merchant_id, request.spec, now=clock()):
        return answers.unready(request.signed.payer)
    if may_ask(VERIFYING, caller.merchant_id, request.spec, now=clock()):
        with asking(request.spec.name) as is_asked:
            if is_asked:
                rail = rail_of(request.spec.family)
                return rail.verify(request, merchant_id=caller.merchant_id, clock=clock)
    return answers.unverified(request.signed.payer)
