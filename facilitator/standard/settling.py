"""Carrying signed authorisations out, each once, whoever asks how often and whatever crashes meanwhile.

The first request to come has the authorisation in hand; the others wait for its answer. A process that dies leaves its
lease to end and, if it came so far, a transaction in the ledger, which whoever comes next goes on with.
"""

import time
from collections.abc import Callable
from typing import Any, Final

from accounts.states import Mode
from facilitator.models import Authorization
from facilitator.services.using import Caller
from facilitator.standard import answers, reasons
from facilitator.standard.authorizations import (
    REPEATED,
    adopt,
    claim,
    find,
    is_same,
    release,
    take_over,
)
from facilitator.standard.concluding import conclude, conclude_elsewhere, trouble
from facilitator.standard.errors import (
    ReceiptMissingError,
    RefusedPaymentError,
    TakenElsewhereError,
)
from facilitator.standard.forms import Body, network_in, parse_standard
from facilitator.standard.guarding import refuse_late, refuse_others
from facilitator.standard.inputs import Clock, StandardRequest
from facilitator.standard.nodes import gas_node_of, pool_of
from facilitator.standard.schemes import ask_settle
from facilitator.standard.sharing import refuse_failing
from facilitator.standard.signer import LedgerSigner, push, reference_of, wait
from facilitator.standard.simulating import settle_simulated
from facilitator.states import AuthorizationState
from settlements.gas.node import Receipt
from settlements.models import GasTransaction
from settlements.services.broadcasting import RECEIPT_SECONDS
from settlements.states import Purpose, TransactionState

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
        self._pool = pool_of(request.spec)

    def answer(self) -> Answer:
        """Return what the authorisation came to, or that it is on its way. Raises RefusedPaymentError."""
        row = find(self._request)
        if row is None or _may_be_tried_again(row):
            refuse_late(self._request, now=self._clock())
            refuse_failing(self._request, now=self._clock())
            try:
                return self._begin(self._claim)
            except TakenElsewhereError:
                row = find(self._request)
        return self._follow(row)

    def _claim(self) -> Authorization:
        return claim(self._caller.merchant_id, self._request, now=self._clock())

    def _begin(self, take: Callable[[], Authorization]) -> Answer:
        """Have the library judge it, and send it. Raises TakenElsewhereError."""
        signer = LedgerSigner(
            self._request.spec, self._pool, claim=take, clock=self._clock
        )
        told = ask_settle(self._request, signer)
        if isinstance(signer.trouble, TakenElsewhereError):
            raise signer.trouble
        if signer.row is None:
            return self._unjudged(signer, told)
        if signer.row.transaction is None:
            return self._unsent(signer.row, signer, told)
        return self._concluded(signer.row, signer.receipt)

    def _unjudged(self, signer: LedgerSigner, told: Any) -> Answer:
        if signer.trouble is not None:
            return trouble(self._request)
        return answers.failed(self._request, str(told.error_reason))

    def _unsent(self, row: Authorization, signer: LedgerSigner, told: Any) -> Answer:
        """Answer where the token itself refuses: perhaps because somebody else handed the authorisation in."""
        if signer.trouble is not None:
            release(row)
            return trouble(self._request)
        return conclude_elsewhere(
            row,
            self._request,
            str(told.error_reason),
            pool=self._pool,
            clock=self._clock,
        )

    def _concluded(self, row: Authorization, receipt: Receipt | None) -> Answer:
        return conclude(row, self._request, receipt, pool=self._pool, clock=self._clock)

    def _follow(self, row: Authorization | None) -> Answer:
        """Wait for whoever has it in hand, and go on where that one stopped."""
        until, pause = time.monotonic() + RECEIPT_SECONDS, _FIRST_PAUSE
        while row is not None:
            if not is_same(row, self._caller.merchant_id, self._request):
                return answers.failed(self._request, reasons.ALREADY_USED)
            if row.answer is not None:
                return self._repeated(row)
            if take_over(row, now=self._clock()):
                return self._go_on(row)
            if time.monotonic() > until:
                return answers.pending(self._request, row.tx_hash)
            time.sleep(pause)
            pause = min(1.5 * pause, _LONGEST_PAUSE)
            row = find(self._request)
        return trouble(self._request)

    def _repeated(self, row: Authorization) -> Answer:
        answer: Answer = row.answer or {}
        paid = row.payment
        if paid is not None and self._clock() - paid.verified_at > REPEATED:
            return answers.failed(self._request, reasons.ALREADY_USED)
        return answer

    def _go_on(self, row: Authorization) -> Answer:
        """Finish what a process left that died, or gave up waiting."""
        made = _transaction_of(row)
        if made is None:
            refuse_late(self._request, now=self._clock())
            return self._begin(lambda: row)
        if row.transaction_id != made.pk:
            adopt(row, made, now=self._clock())
        node = gas_node_of(self._request.spec)
        push(made, node=node, now=self._clock())
        try:
            receipt = wait(row, made, node=node, clock=self._clock)
        except ReceiptMissingError:
            return self._concluded(row, None)
        return self._concluded(row, receipt)


def _may_be_tried_again(row: Authorization) -> bool:
    return row.state == AuthorizationState.FAILED and row.transaction_id is None


def _transaction_of(row: Authorization) -> GasTransaction | None:
    """Return what the ledger has for an authorisation, even where its process died before it could say so."""
    rows = GasTransaction.objects.select_related("account").filter(
        purpose=Purpose.X402, reference=reference_of(row)
    )
    return rows.exclude(state=TransactionState.DROPPED).first()
