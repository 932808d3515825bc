"""Records carried-out authorisations: the payment, its fee, and the transfer."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from accounts.fees.service import CompletedPayment, charge
from accounts.states import FeeKind, Mode
from gateway.core.currencies import usd_units_at
from gateway.core.money import from_units
from settlements.gas.node import note_outcome
from settlements.gas.relay import lock_payer
from settlements.states import Outcome
from wallets.models import Transfer, TransferClaim
from wallets.states import ClaimKind, TransferState
from x402.exact import answers
from x402.exact.authorizations import facts_of, is_same, refused_identifier
from x402.exact.errors import TakenElsewhereError
from x402.exact.inputs import Executed, StandardRequest
from x402.models import Authorization, X402Payment
from x402.payments.addresses import expect_machines
from x402.payments.claims import usd_rate
from x402.payments.transfers import bring_back
from x402.states import AuthorizationState, PaymentStatus, Protocol


@dataclass(frozen=True, slots=True)
class Payer:
    """The payer, the recipient and the purpose."""

    merchant_id: int
    mode: Mode
    request: StandardRequest


def settle_row(row: Authorization, request: StandardRequest, executed: Executed, *, now: datetime) -> dict[str, Any]:
    """End an authorisation that moved its money; return the success response, which one request may get.

    A payment by it that a reorg removed is restored at its new place.
    """
    with transaction.atomic():
        reversed_ = _lock_reversed(row)
        locked = Authorization.objects.select_for_update(no_key=True).get(pk=row.pk)
        answer = _settle_locked(locked, row, request, executed, reversed_, now=now)
    _note_outcome(locked)
    return answer


def _settle_locked(
    locked: Authorization,
    row: Authorization,
    request: StandardRequest,
    executed: Executed,
    reversed_: X402Payment | None,
    *,
    now: datetime,
) -> dict[str, Any]:
    if reversed_ is not None and locked.state != AuthorizationState.SETTLED:
        _return_payment(locked, reversed_, request, executed, now)
        return _answer_to(locked, row, request)
    # Settled by others, and possibly removed by a reorg meanwhile: then the next look finds that.
    if locked.payment_id is not None:
        return _answer_to(locked, row, request)
    # By now another request may have it, for another resource.
    bought = replace(request, resource=locked.resource)
    payer = Payer(locked.merchant_id, Mode.LIVE, bought)
    payment = record(payer, executed, now=now)
    if payment is None:
        # Its money was already used by transaction hash.
        return _end(locked, answers.used(request, tx_hash=executed.tx_hash))
    locked.payment = payment
    _settle(locked, request, executed)
    return _answer_to(locked, row, request)


def settle_nothing(row: Authorization, request: StandardRequest) -> dict[str, Any]:
    """End an authorisation of which nothing is charged: no transaction is sent, and it can never be settled again.

    Return the success response, which one request may get. Raises TakenElsewhereError where another request holds it.
    """
    answer = answers.settled(request, "", "")
    mine = Authorization.objects.filter(pk=row.pk, state=AuthorizationState.TAKEN, tx_hash="", units=0)
    same = mine.filter(resource=row.resource, pending=row.pending)
    if not same.update(state=AuthorizationState.SETTLED, taken_until=None, answer=answer):
        raise TakenElsewhereError
    return answer


def fail_row(row: Authorization, answer: dict[str, Any]) -> dict[str, Any]:
    """End an authorisation that can never be carried out; return the response.

    Raises TakenElsewhereError where another request settled it meanwhile, or sent a transaction that this one does not
    know.
    """
    with transaction.atomic():
        locked = Authorization.objects.select_for_update(no_key=True).get(pk=row.pk)
        is_settled = locked.state == AuthorizationState.SETTLED
        if is_settled or locked.tx_hash != row.tx_hash:
            raise TakenElsewhereError
        ended = _end(locked, answer)
    _note_outcome(locked)
    return ended


def _note_outcome(row: Authorization) -> None:
    """Tell the ledger what its transaction came to, after the row is written: it locks in another order."""
    if row.transaction_id is None:
        return
    if row.state == AuthorizationState.SETTLED:
        note_outcome(row.transaction_id, Outcome.DONE)
    elif row.state == AuthorizationState.FAILED:
        note_outcome(row.transaction_id, Outcome.FAILED)


def record(payer: Payer, executed: Executed, *, now: datetime) -> X402Payment | None:
    """Store a payment with its fee; None if the transfer is already used."""
    try:
        with transaction.atomic():
            payment = X402Payment.objects.create(**_values(payer, executed, now))
            if payer.mode == Mode.LIVE:
                _charge(payment, now)
                _claim_transfer(payment, now)
    except IntegrityError:
        return None
    return payment


@transaction.atomic
def record_simulated(payer: Payer, executed: Executed, *, now: datetime) -> str:
    """Store a test's settled authorisation; return the payment's id. Idempotent."""
    request, payment = payer.request, record(payer, executed, now=now)
    if payment is None:
        known = X402Payment.objects.filter(merchant=payer.merchant_id, mode=payer.mode, chain=request.spec.name)
        return known.get(tx_hash=executed.tx_hash).public_id
    _save(_simulated(payer, executed.tx_hash, payment, now), payer.request)
    return payment.public_id


@transaction.atomic
def record_simulated_nothing(payer: Payer, *, now: datetime) -> None:
    """Store a test's authorisation of which nothing was charged. Idempotent."""
    lock_payer(payer.request.spec.name, payer.request.token, payer.request.signed.payer)
    made = _simulated(payer, "", None, now)
    names = ("merchant_id", "mode", "chain", "token", "payer", "nonce")
    if not Authorization.objects.filter(**{name: getattr(made, name) for name in names}).exists():
        _save(made, payer.request)


def _save(made: Authorization, request: StandardRequest) -> None:
    """Write a test's authorisation. Raises RefusedPaymentError where its payer's id became another payment's meanwhile."""
    try:
        with transaction.atomic():
            made.save()
    except IntegrityError:
        raise refused_identifier(request) from None


def _simulated(payer: Payer, tx_hash: str, payment: X402Payment | None, now: datetime) -> Authorization:
    request = payer.request
    return Authorization(
        merchant_id=payer.merchant_id,
        mode=payer.mode,
        chain=request.spec.name,
        token=request.token,
        payer=request.signed.payer,
        nonce=request.signed.nonce,
        pay_to=request.pay_to,
        units=request.units,
        most_units=request.most_units,
        resource=request.resource,
        state=AuthorizationState.SETTLED,
        tx_hash=tx_hash,
        pending=facts_of(request),
        payment=payment,
        created_at=now,
        identifier=payer.request.identifier,
    )


def _lock_reversed(row: Authorization) -> X402Payment | None:
    """Lock an authorisation's reversed payment before the authorisation, in the same order as the follower of payments."""
    if row.payment_id is None:
        return None
    rows = X402Payment.objects.select_for_update(no_key=True)
    return rows.filter(pk=row.payment_id, status=PaymentStatus.REVERSED).first()


def _return_payment(
    locked: Authorization, payment: X402Payment, request: StandardRequest, executed: Executed, now: datetime
) -> None:
    if (payment.tx_hash, payment.position) == (executed.tx_hash, executed.position):
        # Keep the old block position until the watcher records the transaction again.
        return
    try:
        with transaction.atomic():
            _move(payment, executed, now)
    except IntegrityError:
        _end(locked, answers.used(request, tx_hash=executed.tx_hash))
        return
    _settle(locked, request, executed)
    bring_back(payment, now=now)


def _move(payment: X402Payment, executed: Executed, now: datetime) -> None:
    TransferClaim.objects.filter(transfer=payment.transfer_id).delete()
    payment.tx_hash, payment.position = executed.tx_hash, executed.position
    payment.block_height, payment.block_time = executed.height, now
    payment.transfer = None
    payment.save(update_fields=[*("tx_hash", "position", "block_height", "block_time"), "transfer"])
    _claim_transfer(payment, now)


def _settle(locked: Authorization, request: StandardRequest, executed: Executed) -> None:
    locked.tx_hash = executed.tx_hash
    locked.state, locked.taken_until = AuthorizationState.SETTLED, None
    payment_id = locked.payment.public_id if locked.payment else ""
    locked.answer = answers.settled(request, executed.tx_hash, payment_id)
    locked.save(update_fields=["payment", "tx_hash", "state", "taken_until", "answer"])


def _answer_to(ended: Authorization, row: Authorization, request: StandardRequest) -> dict[str, Any]:
    """Return the kept response to the request that owns the payment; another request may own it by now.

    `row` is the request's own copy.
    """
    if not is_same(ended, row.merchant_id, request):
        is_ours = ended.merchant_id == row.merchant_id
        return answers.used(request, tx_hash=ended.tx_hash if is_ours else "")
    return answers.in_words_of(request, ended.answer or {})


def _end(row: Authorization, answer: dict[str, Any]) -> dict[str, Any]:
    row.state, row.answer, row.taken_until = AuthorizationState.FAILED, answer, None
    row.save(update_fields=["state", "answer", "taken_until"])
    return answer


def _values(payer: Payer, executed: Executed, now: datetime) -> dict[str, Any]:
    request = payer.request
    return {
        "merchant_id": payer.merchant_id,
        "mode": payer.mode,
        "protocol": Protocol.UPTO if request.is_upto else Protocol.EXACT,
        "chain": request.spec.name,
        "tx_hash": executed.tx_hash,
        "position": executed.position,
        "token": request.token,
        "units": request.units,
        "required_units": request.units,
        "payer": request.signed.payer,
        "pay_to": request.pay_to,
        "is_signed": True,
        "resource": request.resource,
        "block_height": executed.height,
        "block_time": now,
        "verified_at": now,
    }


def _charge(payment: X402Payment, now: datetime) -> None:
    units = int(payment.units)
    rate = usd_rate(payment.chain, payment.token, units, now=now)
    if rate is None:
        return
    completed = CompletedPayment(
        merchant_id=payment.merchant_id,
        kind=FeeKind.X402,
        subject_id=payment.public_id,
        chain=payment.chain,
        token=payment.token,
        received=from_units(usd_units_at(units, rate)),
    )
    charge([completed], now=now)


def _claim_transfer(payment: X402Payment, now: datetime) -> None:
    """Claim the transfer if the watcher was faster; otherwise the follower of payments does."""
    found = Transfer.objects.filter(
        chain=payment.chain,
        tx_hash=payment.tx_hash,
        position=payment.position,
        merchant=payment.merchant_id,
        mode=Mode.LIVE,
        purpose=ClaimKind.X402,
    ).exclude(state=TransferState.ORPHANED)
    transfer_id = found.values_list("pk", flat=True).first()
    if transfer_id is None:
        expect_machines(payment.merchant_id, now=now)
        return
    TransferClaim.objects.create(transfer_id=transfer_id, kind=ClaimKind.X402, claimed_at=now)
    payment.transfer_id = transfer_id
    payment.save(update_fields=["transfer"])
