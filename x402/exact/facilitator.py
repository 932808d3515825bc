"""The facilitator's two requests: verify a signed authorisation (nothing is used up), and settle it, each once.

An authorisation is settled once despite repeated requests and crashes, and a signed maximum for one amount. A sweep ends
abandoned ones. Requests with test keys touch no chain: a nonce that begins with 0xfa11 fails, on Solana a memo that begins
with fail.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import structlog

from accounts.states import Mode
from gateway.core.times import Clock
from wallets.chains.base import ChainError
from wallets.networks import chain_spec
from x402.exact import answers, reasons
from x402.exact.authorizations import (
    claim,
    claim_success,
    find,
    find_for,
    give_back_success,
    has_ended,
    has_others_identifier,
    is_same,
    is_unanswered,
    left_open,
    may_begin_anew,
    mined_after_all,
    refused_identifier,
    release,
    step_back,
    take_over,
)
from x402.exact.checks import refuse_new, refuse_others
from x402.exact.errors import RefusedPaymentError, TakenElsewhereError
from x402.exact.forms import network_in, parse_standard
from x402.exact.inputs import Body, Executed, SignedPayment, StandardRequest
from x402.exact.kinds import network_of
from x402.exact.quotas import SETTLING, VERIFYING, may_ask, refuse_failing
from x402.exact.rails import rail_of
from x402.exact.records import Payer, fail_row, record_simulated, record_simulated_nothing
from x402.exact.statements import resource_in, with_receipt
from x402.exact.waiting import CalledAgainError, Waiting, asking, has_place
from x402.inputs import SCHEME, UPTO
from x402.models import Authorization
from x402.payments.claims import Caller
from x402.payments.large import is_sold_out
from x402.rules import IN_HAND

Answer = dict[str, Any]

log = structlog.get_logger(__name__)

_AT_ONCE: Final = 100


def verify_standard(caller: Caller, body: Body, *, clock: Clock) -> Answer:
    """Return the response to a body of `/verify` in the standard's form."""
    try:
        request = parse_standard(body, caller.mode)
        refuse_others(caller, request, now=clock())
        _refuse_identifier(caller, request, now=clock())
        if (known := _known_answer(caller, request)) is not None:
            return known
        refuse_new(caller, request, now=clock())
        if caller.mode == Mode.TEST:
            return verify_simulated(request)
        refuse_failing(request, now=clock())
    except RefusedPaymentError as error:
        return answers.refused_verify(error)
    return _verify(caller, request, clock)


def _refuse_identifier(caller: Caller, request: StandardRequest, *, now: datetime) -> None:
    """Raise RefusedPaymentError if the payer's id is another payment's: it would pay a second time."""
    if has_others_identifier(caller, request, now=now):
        raise refused_identifier(request)


def _known_answer(caller: Caller, request: StandardRequest) -> Answer | None:
    """Return the response for an authorisation that was sent already; None if the chain must be asked."""
    row = find_for(caller, request)
    if row is None or not (row.served_at is not None or is_unanswered(row)):
        return None
    # Until a request was served for it, its payer must not have to pay twice.
    if is_unanswered(row) and is_same(row, caller.merchant_id, _as_begun(row, request)):
        return answers.valid(request)
    return answers.unusable(request, answers.used_reason(request))


def _as_begun(row: Authorization, request: StandardRequest) -> StandardRequest:
    """Return a request as the settlement that began and served nobody yet: for the part of the maximum that it charges.

    A verification names the maximum, and a seller that serves the payer again may have used up another part of it.
    """
    if request.is_upto and row.units and is_unanswered(row):
        return replace(request, units=int(row.units))
    return request


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
        refuse_others(caller, request, now=clock(), settling=True)
        _refuse_identifier(caller, request, now=clock())
        resource = resource_in(body)
        told = _carried_out(caller, request, clock, waiting)
    except RefusedPaymentError as error:
        return answers.refused_settle(error, network_in(body))
    if not told["success"]:
        return told
    if is_gone():
        # Its seller must get the one success when it settles again.
        return answers.pending(request, told["transaction"])
    now = clock()
    claimed = claim_success(caller, request, receipt_for=resource, now=now)
    if claimed is None:
        return answers.used(request, tx_hash=told["transaction"])
    if is_gone():
        give_back_success(caller, request, now=now)
    return with_receipt(told, request, resource, caller.mode, claimed)


def _carried_out(caller: Caller, request: StandardRequest, clock: Clock, waiting: Waiting) -> Answer:
    if caller.mode == Mode.LIVE:
        return _Settling(caller, request, clock, waiting).answer()
    refuse_new(caller, request, now=clock(), settling=True)
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
            refuse_new(self._caller, self._request, now=self._clock(), settling=True)
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

    def _go_on(self, row: Authorization, request: StandardRequest) -> Answer:
        with asking(request.spec.name) as is_asked:
            if is_asked:
                return self._rail.go_on(row, request, clock=self._clock)
        release(row)
        return answers.pending(request, row.tx_hash)

    def _look(self, row: Authorization | None) -> Answer:
        """Return the current result; if no process holds it, check the chain here."""
        self._is_in_hand = False
        if row is None:
            return answers.trouble(self._request)
        request = _as_begun(row, self._request)
        if not is_same(row, self._caller.merchant_id, request):
            is_ours = row.merchant_id == self._caller.merchant_id
            tx_hash = row.tx_hash if is_ours else ""
            return answers.used(request, tx_hash=tx_hash)
        if has_ended(row):
            return answers.in_words_of(request, row.answer or {})
        if take_over(row, now=self._clock()):
            request = _as_begun(row, self._request)
            if is_same(row, self._caller.merchant_id, request):
                # If we were held up beyond our lease, another request may have changed it.
                with suppress(TakenElsewhereError):
                    return self._go_on(row, request)
            else:
                release(row)
        self._is_in_hand = True
        return answers.pending(self._request, row.tx_hash)


def finish_open(*, clock: Callable[[], datetime]) -> int:
    """End the authorisations whose transactions are in a block; return how many were checked."""
    rows = list(left_open(now=clock())[:_AT_ONCE])
    for row in rows:
        if take_over(row, now=clock()):
            _finish(row, clock)
            step_back(row, now=clock())
    for row in mined_after_all(now=clock())[:_AT_ONCE]:
        _finish(row, clock)
    return len(rows)


def _finish(row: Authorization, clock: Callable[[], datetime]) -> None:
    request = request_of(row)
    try:
        if _is_given_up(row, now=clock()):
            failed = reasons.TRANSACTION_FAILED
            fail_row(row, answers.failed(request, failed, tx_hash=row.tx_hash))
            return
        rail_of(request.spec.family).finish(row, request, clock=clock)
    except TakenElsewhereError:
        return
    except ChainError as error:
        log.warning("not finished", chain=row.chain, error=str(error))


def _is_given_up(row: Authorization, *, now: datetime) -> bool:
    """Whether a payment that a reorg removed is no longer waited for.

    The ledger decides about our own transactions, or on Solana the nodes.
    """
    reversed_at = row.payment.reversed_at if row.payment is not None else None
    is_old = reversed_at is not None and now - reversed_at > IN_HAND
    return is_old and row.transaction_id is None and row.signed is None


def verify_simulated(request: StandardRequest) -> dict[str, Any]:
    """Return the response to a test's verification."""
    if _fails(request):
        return answers.unusable(request, reasons.INSUFFICIENT_BALANCE)
    return answers.valid(request)


def settle_simulated(caller: Caller, request: StandardRequest, *, now: datetime) -> dict[str, Any]:
    """Return the response to a test's settlement, with a hash that exists on no chain."""
    if _fails(request):
        return answers.failed(request, reasons.INSUFFICIENT_BALANCE)
    row = find_for(caller, request)
    if row is not None and not is_same(row, caller.merchant_id, request):
        return answers.used(request, tx_hash=row.tx_hash)
    if not request.units:
        record_simulated_nothing(Payer(caller.merchant_id, Mode.TEST, request), now=now)
        return answers.settled(request, "", "")
    # The token is in it: each token's contract accepts a nonce once.
    signed = request.signed
    told = f"{caller.merchant_id}:{request.spec.name}:{request.token}:{signed.payer}:{signed.nonce}"
    tx_hash = row.tx_hash if row is not None else rail_of(request.spec.family).simulated_hash(told)
    executed = Executed(tx_hash, position=0, height=0)
    payer = Payer(caller.merchant_id, Mode.TEST, request)
    payment_id = record_simulated(payer, executed, now=now)
    return answers.settled(request, tx_hash, payment_id)


def _fails(request: StandardRequest) -> bool:
    return rail_of(request.spec.family).simulates_failure(request)


def request_of(row: Authorization) -> StandardRequest:
    """Return the request as far as its end needs it."""
    spec = chain_spec(row.chain)
    version = int((row.pending or {}).get("version", 2))
    scheme = SCHEME if row.most_units is None else UPTO
    return StandardRequest(
        version=version,
        network=network_of(spec, version) or "",
        spec=spec,
        token=row.token,
        asset=spec.tokens[row.token].address,
        pay_to=row.pay_to,
        units=int(row.units),
        resource=row.resource,
        extra={},
        signed=SignedPayment(
            payer=row.payer,
            recipient=row.pay_to,
            units=int(row.units if row.most_units is None else row.most_units),
            valid_after=0,
            valid_before=0,
            nonce=row.nonce,
            payload={},
        ),
        reasons=rail_of(spec.family).reasons_of(scheme),
        scheme=scheme,
    )
