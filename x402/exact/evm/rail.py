"""Carries out authorisations on EVM chains: their kind checks them, our gas account sends them, the chain tells the result."""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol

import structlog

from accounts.states import Mode
from gateway.core.times import Clock
from settlements.errors import NoGasError
from settlements.gas.keys import gas_keys
from settlements.gas.node import GasReceipt, find_receipt
from settlements.models import GasTransaction
from settlements.states import Purpose, TransactionState
from wallets.chains.base import ChainError, MalformedAnswerError
from wallets.chains.evm.authorizations import contracts
from wallets.chains.evm.authorizations.contracts import Call, RevertedError
from wallets.chains.evm.family import EVM_FAMILY
from wallets.chains.evm.proofs import typed_digest
from wallets.chains.family import ChainFamily, ChainSpec
from wallets.chains.rpc.pool import RpcPool
from x402.exact import answers, reasons
from x402.exact.authorizations import adopt, release
from x402.exact.checks import refuse_late
from x402.exact.errors import OverdrawnError, ReceiptMissingError, RefusedPaymentError
from x402.exact.evm import eip3009, permit2
from x402.exact.evm.broadcast import (
    expect_allowed,
    expect_gas_for,
    gas_node_of,
    look,
    look_at_once,
    pool_of,
    push,
    reference_of,
    send,
)
from x402.exact.evm.evidence import Evidence, find_used, transfer_in
from x402.exact.evm.payloads import GAS_SPONSORING, read_domain, read_signed, with_own_permit
from x402.exact.inputs import Body, Executed, SignedPayment, StandardRequest
from x402.exact.records import fail_row, settle_nothing, settle_row
from x402.exact.senders import sender_extra
from x402.inputs import SCHEME, UPTO
from x402.models import Authorization, X402Payment

log = structlog.get_logger(__name__)

Answer = dict[str, Any]

_LOOKS: Final = 3
_PAUSE: Final = 0.5
_USED = (
    "The authorisation is already used or expired, and we found no unused payment by it."
    " If there is one, prove it by its transaction's hash."
)

# A third party may have used the authorisation before us: then the merchant has the money. Without Multicall3 on the chain,
# a failed simulation is all that version 1 learns.
_PERHAPS_USED: Final = frozenset({reasons.ALREADY_USED, reasons.PERMIT2_NONCE, reasons.SIMULATION_FAILED})

_FAILING: Final = "0xfa11"


def conclude(
    row: Authorization, request: StandardRequest, receipt: GasReceipt | None, *, pool: RpcPool, clock: Clock
) -> Answer:
    """Return the response for a transaction that was sent; without its receipt it is still in progress."""
    if receipt is None:
        release(row)
        return answers.pending(request, row.tx_hash)
    if not receipt.succeeded:
        failed = reasons.TRANSACTION_FAILED
        height = receipt.height
        return conclude_elsewhere(row, request, failed, pool=pool, clock=clock, at_least=height)
    try:
        executed = transfer_in(receipt, request)
    except MalformedAnswerError:
        return conclude(row, request, None, pool=pool, clock=clock)
    if executed is None:
        mismatch = answers.failed(request, reasons.TRANSFER_MISMATCH, tx_hash=receipt.tx_hash)
        return fail_row(row, mismatch)
    return _settled(row, request, executed, clock)


def conclude_elsewhere(
    row: Authorization, request: StandardRequest, reason: str, *, pool: RpcPool, clock: Clock, at_least: int = 0
) -> Answer:
    """Return the response if ours moved nothing: a third party's transaction may have, else `reason` says why not."""
    try:
        evidence = _find_used(pool, request, at_least=at_least)
    except ChainError:
        release(row)
        return answers.trouble(request)
    if evidence.executed is not None:
        return _settled(row, request, evidence.executed, clock)
    if not evidence.is_used:
        return fail_row(row, answers.failed(request, reason, tx_hash=row.tx_hash))
    used = answers.used_reason(request)
    return fail_row(row, answers.failed(request, used, _USED, tx_hash=row.tx_hash))


def _find_used(pool: RpcPool, request: StandardRequest, *, at_least: int) -> Evidence:
    """Search a second and a third time for the use of an authorisation: nodes show a block's effects before its logs."""
    for _ in range(_LOOKS - 1):
        evidence = find_used(pool, request, at_least=at_least)
        if evidence.executed is not None or not evidence.is_used:
            return evidence
        time.sleep(_PAUSE)
    return find_used(pool, request, at_least=at_least)


def conclude_return(row: Authorization, request: StandardRequest, *, pool: RpcPool, clock: Clock) -> None:
    """Conclude a payment that a third party submitted and a reorg removed, if a third party did so again. Raises ChainError."""
    evidence = find_used(pool, request)
    if evidence.executed is not None:
        _settled(row, request, evidence.executed, clock)
    release(row)


def was_paid(pool: RpcPool, request: StandardRequest) -> bool:
    """Whether a third party carried out an authorisation, and the transfer has no use yet. Raises ChainError."""
    executed = find_used(pool, request).executed
    if executed is None:
        return False
    used = X402Payment.objects.filter(mode=Mode.LIVE, chain=request.spec.name)
    return not used.filter(tx_hash=executed.tx_hash, position=executed.position).exists()


def _settled(row: Authorization, request: StandardRequest, executed: Executed, clock: Clock) -> Answer:
    return settle_row(row, request, executed, now=clock())


class EvmRail:
    """The rail of EVM chains (see `x402.exact.rails.Rail`)."""

    family: ChainFamily = EVM_FAMILY
    questions = 1
    schemes: Sequence[str] = (SCHEME, UPTO)
    signers_pattern = "eip155:*"
    is_always_told = True
    extensions: Sequence[str] = (GAS_SPONSORING,)

    def signers(self) -> Sequence[str]:
        """Return the accounts of GAS_KEYS."""
        return list(gas_keys())

    def prepare(self) -> None:
        """Encode a call and check a signature: web3, eth-account and eth-keys take a second to import."""
        address = next(iter(self.signers()))
        contracts.BALANCE_OF.call(address)
        digest = typed_digest({"Text": {"text": "string"}}, {"name": ""}, {"text": ""})
        contracts.is_of_key(address, digest, bytes(64) + b"\x1b")

    def reasons_of(self, scheme: str) -> Mapping[str, str]:
        """Return the codes of scheme `upto`; those of `exact` are the usual ones."""
        return reasons.UPTO if scheme == UPTO else {}

    def kind_extra(self, spec: ChainSpec, scheme: str, mode: Mode, *, merchant_id: int) -> Mapping[str, Any] | None:
        """Return nothing for `exact`, which anyone may submit; for `upto` the account of ours that payers must name."""
        if scheme != UPTO:
            return {}
        if mode == Mode.LIVE and not permit2.has_upto(pool_of(spec), spec):
            return None
        return sender_extra(merchant_id, spec.name, mode)

    def simulated_hash(self, told: str) -> str:
        """Return 0x and 64 digits."""
        return "0x" + hashlib.sha256(told.encode()).hexdigest()

    def simulates_failure(self, request: StandardRequest) -> bool:
        """Whether the nonce begins with 0xfa11."""
        return request.signed.nonce.startswith(_FAILING)

    def read_extra(self, extra: Body) -> Mapping[str, Any]:
        """Return the token's EIP-712 domain and the way of transfer."""
        return read_domain(extra)

    def read_signed(
        self, payload: Body, *, asset: str, pay_to: str, extra: Mapping[str, Any], scheme: str
    ) -> SignedPayment:
        """Return an EIP-3009 or Permit2 authorisation, which names its recipient."""
        return read_signed(payload, asset=asset, scheme=scheme)

    def read_extensions(self, extensions: Body, signed: SignedPayment, *, asset: str) -> SignedPayment:
        """Return a Permit2 payment with the token's own permit, if it has one."""
        return with_own_permit(extensions, signed, asset=asset)

    def verify(self, request: StandardRequest, *, merchant_id: int, clock: Clock) -> Answer:
        """Return the response whether an authorisation would settle now."""
        pool, payer, kind = pool_of(request.spec), request.signed.payer, _kind(request)
        call: Call | None = None
        try:
            reason = kind.refusal(pool, request, now=clock())
            if not reason:
                call = kind.call_of(pool, request)
                reason, gas = kind.rehearsal(pool, request, call)
                if not reason:
                    expect_gas_for(merchant_id, request, gas, now=clock())
                    expect_allowed(request, call, now=clock())
                    return answers.valid(request)
            if reason in _PERHAPS_USED and kind.is_proven(pool, request, call) and was_paid(pool, request):
                return answers.valid(request)
        except OverdrawnError:
            return answers.unusable(request, reasons.INSUFFICIENT_BALANCE)
        except (ChainError, RevertedError):
            return answers.unverified(payer)
        except NoGasError as error:
            log.warning("not verified", chain=request.spec.name, error=str(error))
            return answers.unready(payer)
        return answers.unusable(request, reason)

    def begin(self, request: StandardRequest, take: Callable[[], Authorization], *, clock: Clock) -> Answer:
        """Check it, and send it. Raises TakenElsewhereError."""
        pool, kind = pool_of(request.spec), _kind(request)
        try:
            reason = kind.refusal(pool, request, now=clock())
            if reason == reasons.PERMIT2_NONCE:
                return conclude_elsewhere(take(), request, reason, pool=pool, clock=clock)
            if reason:
                return answers.failed(request, reason)
            call = kind.call_of(pool, request)
            permit2.expect_ours(pool, request.spec, call)
        except RevertedError as error:
            return answers.failed(request, kind.reason_of(error))
        except ChainError:
            return answers.trouble(request)
        row = take()
        if not request.units:
            return settle_nothing(row, request)
        try:
            send(row, request, call, clock=clock)
        except RevertedError as error:
            return self._refused(row, request, call, kind.reason_of(error), clock=clock)
        except RefusedPaymentError as error:
            return fail_row(row, answers.failed(request, error.reason))
        except OverdrawnError:
            return fail_row(row, answers.overdrawn(request))
        except (ChainError, NoGasError):
            release(row)
            return answers.trouble(request)
        receipt = look_at_once(row, node=gas_node_of(request.spec))
        return conclude(row, request, receipt, pool=pool, clock=clock)

    def _refused(
        self, row: Authorization, request: StandardRequest, call: Call, reason: str, *, clock: Clock
    ) -> Answer:
        """Return the response to a token's refusal: a third party may have submitted the authorisation."""
        pool = pool_of(request.spec)
        try:
            is_proven = _kind(request).is_proven(pool, request, call)
        except ChainError:
            release(row)
            return answers.trouble(request)
        if not is_proven:
            # Where a wallet is deployed first, either step may have failed, and no contract was asked about the signature.
            unproven = reasons.SIMULATION_FAILED if eip3009.deploys(call) else reasons.SIGNATURE
            return fail_row(row, answers.failed(request, unproven))
        return conclude_elsewhere(row, request, reason, pool=pool, clock=clock)

    def go_on(self, row: Authorization, request: StandardRequest, *, clock: Clock) -> Answer:
        """Continue with the ledger's transaction, and send it again if no node accepted it."""
        made = _transaction_of(row)
        if made is None:
            refuse_late(request, now=clock())
            return self.begin(request, lambda: row, clock=clock)
        if row.transaction_id != made.pk:
            adopt(row, made, now=clock())
        pool, node = pool_of(request.spec), gas_node_of(request.spec)
        if made.state == TransactionState.INTENDED:
            push(made, request, node=node, now=clock())
        try:
            receipt = look(row, made, node=node)
        except ReceiptMissingError:
            return conclude(row, request, None, pool=pool, clock=clock)
        return conclude(row, request, receipt, pool=pool, clock=clock)

    def finish(self, row: Authorization, request: StandardRequest, *, clock: Clock) -> None:
        """End it by its transaction's receipt, or by the ledger's result without one."""
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


class _Kind(Protocol):
    """The functions that EIP-3009 and Permit2 each implement."""

    def refusal(self, pool: RpcPool, request: StandardRequest, *, now: datetime) -> str: ...
    def rehearsal(self, pool: RpcPool, request: StandardRequest, call: Call) -> tuple[str, int]: ...
    def is_proven(self, pool: RpcPool, request: StandardRequest, call: Call | None) -> bool: ...
    def call_of(self, pool: RpcPool, request: StandardRequest) -> Call: ...
    def reason_of(self, error: RevertedError) -> str: ...


def _kind(request: StandardRequest) -> _Kind:
    return permit2 if request.signed.is_permit2 else eip3009


def _transaction_of(row: Authorization) -> GasTransaction | None:
    """Return the ledger's transaction of an authorisation, even if its process died before storing it."""
    rows = GasTransaction.objects.select_related("account").filter(purpose=Purpose.X402, reference=reference_of(row))
    return rows.exclude(state=TransactionState.DROPPED).first()


def _came_to_nothing(made: GasTransaction) -> bool:
    """Whether the ledger abandoned a transaction and its nonce is used for good: it can no longer be mined."""
    if made.purpose == Purpose.CANCEL:
        return made.state == TransactionState.MINED
    return made.state == TransactionState.DROPPED
