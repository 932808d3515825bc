"""How an authorisation is carried out on EVM chains: the library judges it, a gas account of ours sends it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from facilitator.models import Authorization
from facilitator.standard import answers, reasons
from facilitator.standard.authorizations import adopt, release
from facilitator.standard.errors import (
    OverdrawnError,
    ReceiptMissingError,
    TakenElsewhereError,
)
from facilitator.standard.evm.concluding import (
    conclude,
    conclude_elsewhere,
    conclude_return,
    was_paid,
)
from facilitator.standard.evm.nodes import gas_node_of, pool_of
from facilitator.standard.evm.payloads import read_domain, read_signed
from facilitator.standard.evm.schemes import ask_settle, ask_verify
from facilitator.standard.evm.signer import LedgerSigner, look, push, reference_of
from facilitator.standard.guarding import refuse_late
from facilitator.standard.inputs import Body, Clock, Signed, StandardRequest
from facilitator.standard.recording import fail_row
from settlements.models import GasTransaction
from settlements.services.broadcasting import find_receipt
from settlements.states import Purpose, TransactionState
from wallets.chains.base import ChainError

Answer = dict[str, Any]

# Perhaps used by somebody who handed the authorisation in before us: then the merchant has its money. Of a failed
# simulation version 1 knows no more where a chain has no Multicall3.
_PERHAPS_USED: Final = frozenset(
    {reasons.ALREADY_USED, reasons.PERMIT2_NONCE, reasons.SIMULATION_FAILED}
)


class EvmRail:
    """A Rail."""

    questions = 1

    def read_extra(self, extra: Body) -> Mapping[str, Any]:
        """Return the token's EIP-712 domain and the way of transfer."""
        return read_domain(extra)

    def read_signed(
        self, payload: Body, *, asset: str, pay_to: str, extra: Mapping[str, Any]
    ) -> Signed:
        """Return an EIP-3009 or Permit2 authorisation, which says by itself whom it pays."""
        return read_signed(payload, asset=asset)

    def verify(self, request: StandardRequest, *, clock: Clock) -> Answer:
        """Return what the library says of an authorisation."""
        pool, payer = pool_of(request.spec), request.signed.payer
        signer = LedgerSigner(request.spec, pool, claim=_nobody, clock=clock)
        told = ask_verify(request, signer)
        if told.is_valid:
            return answers.valid(request)
        if signer.trouble is not None:
            return answers.unverified(payer)
        reason = str(told.invalid_reason)
        try:
            is_paid = reason in _PERHAPS_USED and was_paid(pool, request)
        except ChainError:
            return answers.unverified(payer)
        if is_paid:
            return answers.valid(request)
        return answers.invalid(reason, payer=payer)

    def begin(
        self,
        request: StandardRequest,
        take: Callable[[], Authorization],
        *,
        clock: Clock,
    ) -> Answer:
        """Have the library judge it, and send it. Raises TakenElsewhereError."""
        pool = pool_of(request.spec)
        signer = LedgerSigner(request.spec, pool, claim=take, clock=clock)
        told = ask_settle(request, signer)
        if isinstance(signer.trouble, TakenElsewhereError):
            raise signer.trouble
        row = signer.row
        if row is None:
            return _unjudged(request, signer, told)
        if row.transaction is not None:
            return conclude(row, request, signer.receipt, pool=pool, clock=clock)
        if isinstance(signer.trouble, OverdrawnError):
            return fail_row(row, answers.overdrawn(request))
        if signer.trouble is not None:
            release(row)
            return answers.trouble(request)
        # The token itself refuses: perhaps because somebody else handed the authorisation in.
        reason = str(told.error_reason)
        return conclude_elsewhere(row, request, reason, pool=pool, clock=clock)

    def go_on(
        self, row: Authorization, request: StandardRequest, *, clock: Clock
    ) -> Answer:
        """Look for what the ledger has of it, and send it again where no node took it yet."""
        made = _transaction_of(row)
        if made is None:
            refuse_late(request, now=clock())
            return self.begin(request, lambda: row, clock=clock)
        if row.transaction_id != made.pk:
            adopt(row, made, now=clock())
        pool, node = pool_of(request.spec), gas_node_of(request.spec)
        if made.state == TransactionState.INTENDED:
            push(made, node=node, now=clock())
        try:
            receipt = look(row, made, node=node)
        except ReceiptMissingError:
            return conclude(row, request, None, pool=pool, clock=clock)
        return conclude(row, request, receipt, pool=pool, clock=clock)

    def finish(
        self, row: Authorization, request: StandardRequest, *, clock: Clock
    ) -> None:
        """End it by its transaction's receipt, or by what became of it without one."""
        made, pool = row.transaction, pool_of(request.spec)
        if made is None:
            conclude_return(row, request, pool=pool, clock=clock)
            return
        if _came_to_nothing(made):
            failed = reasons.TRANSACTION_FAILED
            conclude_elsewhere(row, request, failed, pool=pool, clock=clock)
            return
        receipt = find_receipt(made, node=gas_node_of(request.spec))
        conclude(row, request, receipt, pool=pool, clock=clock)


def _unjudged(request: StandardRequest, signer: LedgerSigner, told: Any) -> Answer:
    if signer.trouble is not None:
        return answers.trouble(request)
    return answers.failed(request, str(told.error_reason))


def _nobody() -> Authorization:
    """Nothing is sent for a verification."""
    raise TakenElsewhereError


def _transaction_of(row: Authorization) -> GasTransaction | None:
    """Return what the ledger has for an authorisation, even where its process died before it could say so."""
    rows = GasTransaction.objects.select_related("account").filter(
        purpose=Purpose.X402, reference=reference_of(row)
    )
    return rows.exclude(state=TransactionState.DROPPED).first()


def _came_to_nothing(made: GasTransaction) -> bool:
    """Whether the ledger gave a transaction up, and its number is used for good: nothing of it can get into a block."""
    if made.purpose == Purpose.CANCEL:
        return made.state == TransactionState.MINED
    return made.state == TransactionState.DROPPED
