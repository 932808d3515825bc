"""Carries out signed authorisations, each once, despite repeated requests and crashes.

The first request holds the authorisation; the others wait for its end. A process that dies leaves an expiring lease and
perhaps a sent transaction, which the next request continues. Only one of these requests gets `success`: published
middlewares serve each that does, and send no key that tells a retry from a copy.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from accounts.states import Mode
from x402.exact import answers
from x402.exact.authorizations import (
    claim,
    claim_success,
    find,
    give_back_success,
    has_ended,
    is_same,
    may_begin_anew,
    release,
    take_over,
)
from x402.exact.checks import refuse_new, refuse_others
from x402.exact.errors import RefusedPaymentError, TakenElsewhereError
from x402.exact.forms import network_in, parse_standard
from x402.exact.inputs import Body, Clock, StandardRequest
from x402.exact.rails import rail_of
from x402.exact.shares import SETTLING, may_ask, refuse_failing
from x402.exact.testmode import settle_simulated
from x402.exact.waiters import CalledAgainError, Waiting, asking
from x402.models import Authorization
from x402.payments.claims import Caller
from x402.payments.large import is_sold_out

Answer = dict[str, Any]


def settle_standard(
    caller: Caller,
    body: Body,
    *,
    clock: Clock,
    waiting: Waiting | None = None,
    is_gone: Callable[[], bool] = lambda: False,
) -> Answer:
    """Return the answer to a body of `/settle` in the standard's form. `is_gone` says whether nobody will read it.

    Raises CalledAgainError if `waiting` does not wait in a thread.
    """
    waiting = waiting or Waiting()
    try:
        told = _settle(caller, body, clock, waiting, is_gone)
    except CalledAgainError:
        raise
    except BaseException:
        waiting.leave()
        raise
    waiting.leave()
    return told


def _settle(caller: Caller, body: Body, clock: Clock, waiting: Waiting, is_gone: Callable[[], bool]) -> Answer:
    try:
        request = parse_standard(body, caller.mode)
        refuse_others(caller, request, now=clock())
        told = _carried_out(caller, request, clock, waiting)
    except RefusedPaymentError as error:
        return answers.refused_settle(error, network_in(body))
    if not told["success"]:
        return told
    if is_gone():
        # Its seller must get the one success when it settles again.
        return answers.pending(request, told["transaction"])
    now = clock()
    if not claim_success(caller, request, now=now):
        return answers.used(request, tx_hash=told["transaction"])
    if is_gone():
        give_back_success(caller, request, now=now)
    return told


def _carried_out(caller: Caller, request: StandardRequest, clock: Clock, waiting: Waiting) -> Answer:
    if caller.mode == Mode.LIVE:
        return _Settling(caller, request, clock, waiting).answer()
    refuse_new(caller, request, now=clock())
    return settle_simulated(caller, request, now=clock())


class _Settling:
    """One request's part in carrying out an authorisation."""

    def __init__(self, caller: Caller, request: StandardRequest, clock: Clock, waiting: Waiting) -> None:
        self._caller = caller
        self._request = request
        self._clock = clock
        self._waiting = waiting
        self._is_in_hand = False
        self._rail = rail_of(request.spec.family)
        self._has_claimed = False

    def answer(self) -> Answer:
        """Return the authorisation's result, or that it is in progress. Raises RefusedPaymentError, CalledAgainError."""
        row, told = find(self._request), None
        if row is None or may_begin_anew(row, now=self._clock()):
            refuse_new(self._caller, self._request, now=self._clock())
            refuse_failing(self._request, now=self._clock())
            if is_sold_out(self._caller.merchant_id, self._request.spec, now=self._clock()):
                return answers.trouble(self._request)
            if not self._waiting.enter(self._request.spec.name):
                # A sent payment must be waited for: published middlewares treat a pending payment as failed.
                return answers.trouble(self._request)
            told = self._begin()
            row = self._begun_elsewhere(told)
            if told is not None and row is None and not answers.is_pending(told):
                return told
        return self._follow(row, told)

    def _begun_elsewhere(self, told: Answer | None) -> Authorization | None:
        """Return another request's result, if ours was refused because of that request."""
        if told is not None and (told["success"] or self._has_claimed):
            return None
        row = find(self._request)
        if told is None or row is None or not may_begin_anew(row, now=self._clock()):
            return row
        return None

    def _begin(self) -> Answer | None:
        """Return the result; None if another request holds it."""
        try:
            return self._carry_out()
        except TakenElsewhereError:
            return None

    def _carry_out(self) -> Answer:
        merchant_id, spec = self._caller.merchant_id, self._request.spec
        if may_ask(SETTLING, merchant_id, spec, now=self._clock()):
            with asking(spec.name) as is_asked:
                if is_asked:
                    return self._rail.begin(self._request, self._claim, clock=self._clock)
        return answers.trouble(self._request)

    def _claim(self) -> Authorization:
        row = claim(self._caller.merchant_id, self._request, now=self._clock())
        self._has_claimed = True
        return row

    def _follow(self, row: Authorization | None, told: Answer | None) -> Answer:
        """Wait until it ends, and continue if its holder stopped."""
        may_wait = self._waiting.enter(self._request.spec.name)
        if told is None or row is not None:
            told = self._look(row)
        while answers.is_pending(told) and may_wait and not self._waiting.is_over:
            if self._is_in_hand:
                self._waiting.for_turn(self._request.spec)
            else:
                self._waiting.for_block(self._request.spec, questions=self._rail.questions)
            told = self._look(find(self._request))
        return told

    def _go_on(self, row: Authorization) -> Answer:
        with asking(self._request.spec.name) as is_asked:
            if is_asked:
                return self._rail.go_on(row, self._request, clock=self._clock)
        release(row)
        return answers.pending(self._request, row.tx_hash)

    def _look(self, row: Authorization | None) -> Answer:
        """Return the current result; if no process holds it, check the chain here."""
        self._is_in_hand = False
        if row is None:
            return answers.trouble(self._request)
        if not is_same(row, self._caller.merchant_id, self._request):
            is_ours = row.merchant_id == self._caller.merchant_id
            tx_hash = row.tx_hash if is_ours else ""
            return answers.used(self._request, tx_hash=tx_hash)
        if has_ended(row):
            return answers.in_words_of(self._request, row.answer or {})
        if take_over(row, now=self._clock()):
            if is_same(row, self._caller.merchant_id, self._request):
                # If we were held up beyond our lease, another request may have changed it.
                with suppress(TakenElsewhereError):
                    return self._go_on(row)
            else:
                release(row)
        self._is_in_hand = True
        return answers.pending(self._request, row.tx_hash)
