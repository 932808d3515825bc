"""Writing down that an authorisation was carried out: the payment, its fee, and whose transfer it is."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from accounts.services.fees import CompletedPayment, charge
from accounts.states import FeeKind, Mode
from facilitator.models import Authorization, X402Payment
from facilitator.services.addresses import expect_machines
from facilitator.standard import answers, reasons
from facilitator.standard.inputs import Executed, StandardRequest
from facilitator.states import AuthorizationState, Protocol
from gateway.core.money import from_units
from wallets.models import Transfer, TransferClaim
from wallets.states import ClaimKind, TransferState


@dataclass(frozen=True, slots=True)
class Payer:
    """Who paid whom for what."""

    merchant_id: int
    mode: Mode
    request: StandardRequest


def settle_row(
    row: Authorization, request: StandardRequest, executed: Executed, *, now: datetime
) -> dict[str, Any]:
    """End an authorisation that moved its money; return the answer that is repeated from now on."""
    with transaction.atomic():
        locked = Authorization.objects.select_for_update(no_key=True).get(pk=row.pk)
        if locked.state == AuthorizationState.SETTLED:
            kept: dict[str, Any] = locked.answer or {}
            return kept
        payer = Payer(locked.merchant_id, Mode.LIVE, request)
        payment = record(payer, executed, now=now)
        if payment is None:
            # Its money bought something by its transaction's hash before.
            return _end(locked, answers.failed(request, reasons.ALREADY_USED))
        answer = answers.settled(request, executed.tx_hash)
        Authorization.objects.filter(pk=locked.pk).update(
            payment=payment,
            tx_hash=executed.tx_hash,
            state=AuthorizationState.SETTLED,
            taken_until=None,
            answer=answer,
        )
        return answer


def fail_row(row: Authorization, answer: dict[str, Any]) -> dict[str, Any]:
    """End an authorisation that can never be carried out; return the answer."""
    with transaction.atomic():
        locked = Authorization.objects.select_for_update(no_key=True).get(pk=row.pk)
        if locked.state == AuthorizationState.SETTLED:
            kept: dict[str, Any] = locked.answer or {}
            return kept
        return _end(locked, answer)


def record(payer: Payer, executed: Executed, *, now: datetime) -> X402Payment | None:
    """Write a payment down, with its fee; None where the transfer was used for something already."""
    try:
        with transaction.atomic():
            payment = X402Payment.objects.create(**_values(payer, executed, now))
            if payer.mode == Mode.LIVE:
                _charge(payment, now)
                _claim_transfer(payment, now)
    except IntegrityError:
        return None
    return payment


def _end(row: Authorization, answer: dict[str, Any]) -> dict[str, Any]:
    row.state, row.answer, row.taken_until = AuthorizationState.FAILED, answer, None
    row.save(update_fields=["state", "answer", "taken_until"])
    return answer


def _values(payer: Payer, executed: Executed, now: datetime) -> dict[str, Any]:
    request = payer.request
    return {
        "merchant_id": payer.merchant_id,
        "mode": payer.mode,
        "protocol": Protocol.EXACT,
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
    received = from_units(int(payment.units))
    completed = CompletedPayment(
        merchant_id=payment.merchant_id,
        kind=FeeKind.X402,
        subject_id=payment.public_id,
        chain=payment.chain,
        token=payment.token,
        received=received,
    )
    charge([completed], now=now)


def _claim_transfer(payment: X402Payment, now: datetime) -> None:
    """Claim the transfer where a watcher was faster than we were; else whoever follows payments does."""
    found = Transfer.objects.filter(
        chain=payment.chain,
        tx_hash=payment.tx_hash,
        position=payment.position,
        merchant=payment.merchant_id,
        mode=Mode.LIVE,
        purpose=ClaimKind.X402,
    ).exclude(state=TransferState.ORPHANED)
    transfer = found.first()
    if transfer is None:
        expect_machines(payment.merchant_id, now=now)
        return
    TransferClaim.objects.create(transfer=transfer, kind=ClaimKind.X402, claimed_at=now)
    X402Payment.objects.filter(pk=payment.pk).update(transfer=transfer)
