"""Carrying signed authorisations out, each once, whoever asks how often and whatever crashes meanwhile.

The first request to come has the authorisation in hand; the others wait for its answer. A process that dies leaves its
lease to end and, if it came so far, a transaction that was sent, which whoever comes next goes on with.
"""

import time
from typing import Any, Final

from accounts.states import Mode
from facilitator.models import Authorization
from facilitator.services.using import Caller
from facilitator.standard import answers, reasons
from facilitator.standard.authorizations import (
    REPEATED,
    claim,
    find,
    is_same,
    take_over,
)
from facilitator.standard.errors import RefusedPaymentError, TakenElsewhereError
from facilitator.standard.forms import network_in, parse_standard
from facilitator.standard.guarding import refuse_late, refuse_others
from facilitator.standard.inputs import Body, Clock, StandardRequest
from facilitator.standard.rails import rail_of
from facilitator.standard.sharing import refuse_failing
from facilitator.standard.simulating import settle_simulated
from facilitator.states import AuthorizationState
from settlements.services.broadcasting import RECEIPT_SECONDS

Answer = dict[str, Any]

_FIRST_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.25


def settle_standard(caller: Caller, body: Body, *, clock: Clock) -> Answer:
    """Return the answer to a body of `/settle` in the standard's form."""
    try:
        request = parse_standard(body, caller.mode)
        refuse_others(caller, request, now=clock())
        if caller.mode == Mode.TEST:
            refuse_late(request, now=clock())
            return settle_simulated(caller, request, now=clock())
        return _Settling(caller, request, clock).answer()
    except RefusedPaymentError as error:
        return answers.refused_settle(error, network_in(body))


class _Settling:
    """One request's part in carrying an authorisation out."""

    def __init__(self, caller: Caller, request: StandardRequest, clock: Clock) -> None:
        self._caller = caller
        self._request = request
        self._clock = clock
        self._rail = rail_of(request.spec.family)

    def answer(self) -> Answer:
        """Return what the authorisation came to, or that it is on its way. Raises RefusedPaymentError."""
        row = find(self._request)
        if row is None or _may_be_tried_again(row):
            refuse_late(self._request, now=self._clock())
            refuse_failing(self._request, now=self._clock())
            try:
                return self._rail.begin(self._request, self._claim, clock=self._clock)
            except TakenElsewhereError:
                row = find(self._request)
        return self._follow(row)

    def _claim(self) -> Authorization:
        return claim(self._caller.merchant_id, self._request, now=self._clock())

    def _follow(self, row: Authorization | None) -> Answer:
        """Wait for whoever has it in hand, and go on where that one stopped."""
        until, pause = time.monotonic() + RECEIPT_SECONDS, _FIRST_PAUSE
        while row is not None:
            if not is_same(row, self._caller.merchant_id, self._request):
                return answers.failed(self._request, reasons.ALREADY_USED)
            if row.answer is not None:
                return self._repeated(row)
            if take_over(row, now=self._clock()):
                return self._rail.go_on(row, self._request, clock=self._clock)
            if time.monotonic() > until:
                return answers.pending(self._request, row.tx_hash)
            time.sleep(pause)
            pause = min(1.5 * pause, _LONGEST_PAUSE)
            row = find(self._request)
        return answers.trouble(self._request)

    def _repeated(self, row: Authorization) -> Answer:
        answer: Answer = row.answer or {}
        paid = row.payment
        if paid is not None and self._clock() - paid.verified_at > REPEATED:
            return answers.failed(self._request, reasons.ALREADY_USED)
        return answer


def _may_be_tried_again(row: Authorization) -> bool:
    return row.state == AuthorizationState.FAILED and row.transaction_id is None
