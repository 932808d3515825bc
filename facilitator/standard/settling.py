"""Carrying signed authorisations out, each once, whoever asks how often and whatever crashes meanwhile.

The first request to come has the authorisation in hand; the others wait for its end. A process that dies leaves its
lease to end and, if it came so far, a transaction that was sent, which whoever comes next goes on with. One of all these
requests is answered `success`: published middlewares serve whoever is, and send no key that would tell a retry from a copy.
"""

import time
from typing import Any, Final

from accounts.states import Mode
from facilitator.models import Authorization
from facilitator.services.using import Caller
from facilitator.standard import answers
from facilitator.standard.authorizations import (
    claim,
    claim_success,
    find,
    has_ended,
    is_same,
    may_begin_anew,
    release,
    take_over,
)
from facilitator.standard.errors import RefusedPaymentError, TakenElsewhereError
from facilitator.standard.forms import network_in, parse_standard
from facilitator.standard.guarding import refuse_late, refuse_others
from facilitator.standard.inputs import Body, Clock, StandardRequest
from facilitator.standard.rails import rail_of
from facilitator.standard.sharing import SETTLING, may_ask, refuse_failing
from facilitator.standard.simulating import settle_simulated
from facilitator.standard.waiting import asking, waiting_place
from settlements.services.broadcasting import RECEIPT_SECONDS

Answer = dict[str, Any]

_FIRST_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.25


def settle_standard(caller: Caller, body: Body, *, clock: Clock) -> Answer:
    """Return the answer to a body of `/settle` in the standard's form."""
    try:
        request = parse_standard(body, caller.mode)
        refuse_others(caller, request, now=clock())
        told = _settle(caller, request, clock)
    except RefusedPaymentError as error:
        return answers.refused_settle(error, network_in(body))
    if not told["success"] or claim_success(caller, request, now=clock()):
        return told
    return answers.used(request, tx_hash=told["transaction"])


def _settle(caller: Caller, request: StandardRequest, clock: Clock) -> Answer:
    if caller.mode == Mode.LIVE:
        return _Settling(caller, request, clock).answer()
    refuse_late(request, now=clock())
    return settle_simulated(caller, request, now=clock())


class _Settling:
    """One request's part in carrying an authorisation out."""

    def __init__(self, caller: Caller, request: StandardRequest, clock: Clock) -> None:
        self._caller = caller
        self._request = request
        self._clock = clock
        self._rail = rail_of(request.spec.family)
        self._has_claimed = False

    def answer(self) -> Answer:
        """Return what the authorisation came to, or that it is on its way. Raises RefusedPaymentError."""
        row = find(self._request)
        if row is None or may_begin_anew(row, now=self._clock()):
            refuse_late(self._request, now=self._clock())
            refuse_failing(self._request, now=self._clock())
            told = self._begin()
            row = self._begun_elsewhere(told)
            if told is not None and row is None:
                return told
        return self._follow(row)

    def _begun_elsewhere(self, told: Answer | None) -> Authorization | None:
        """Return what another request has of it, where ours was refused for what that one did meanwhile."""
        if told is not None and (told["success"] or self._has_claimed):
            return None
        row = find(self._request)
        if told is None or row is None or not may_begin_anew(row, now=self._clock()):
            return row
        return None

    def _begin(self) -> Answer | None:
        """Return what became of it; None where another request has it in hand."""
        try:
            return self._carry_out()
        except TakenElsewhereError:
            return None

    def _carry_out(self) -> Answer:
        merchant_id, spec = self._caller.merchant_id, self._request.spec
        if may_ask(SETTLING, merchant_id, spec, now=self._clock()):
            with asking(spec.name) as is_asked:
                if is_asked:
                    return self._rail.begin(
                        self._request, self._claim, clock=self._clock
                    )
        return answers.trouble(self._request)

    def _claim(self) -> Authorization:
        row = claim(self._caller.merchant_id, self._request, now=self._clock())
        self._has_claimed = True
        return row

    def _follow(self, row: Authorization | None) -> Answer:
        """Wait for whoever has it in hand, and go on where that one stopped."""
        with waiting_place(self._request.spec.name) as has_place:
            seconds = RECEIPT_SECONDS if has_place else 0.0
            found = self._await_turn(row, until=time.monotonic() + seconds)
        if not isinstance(found, Authorization):
            return found
        try:
            return self._go_on(found)
        except TakenElsewhereError:
            # We were held up for longer than we had it, and another request did something with it.
            return self._follow(find(self._request))

    def _go_on(self, row: Authorization) -> Answer:
        with asking(self._request.spec.name) as is_asked:
            if is_asked:
                return self._rail.go_on(row, self._request, clock=self._clock)
        release(row)
        return answers.pending(self._request, row.tx_hash)

    def _await_turn(
        self, row: Authorization | None, *, until: float
    ) -> Authorization | Answer:
        """Return what it came to, or, once it is in nobody's hand, the row that is now in ours."""
        pause = _FIRST_PAUSE
        while row is not None:
            if not is_same(row, self._caller.merchant_id, self._request):
                is_ours = row.merchant_id == self._caller.merchant_id
                tx_hash = row.tx_hash if is_ours else ""
                return answers.used(self._request, tx_hash=tx_hash)
            if has_ended(row):
                return answers.in_words_of(self._request, row.answer or {})
            if take_over(row, now=self._clock()):
                if is_same(row, self._caller.merchant_id, self._request):
                    return row
                release(row)
            if time.monotonic() > until:
                return answers.pending(self._request, row.tx_hash)
            time.sleep(pause)
            pause = min(1.5 * pause, _LONGEST_PAUSE)
            row = find(self._request)
        return answers.trouble(self._request)
