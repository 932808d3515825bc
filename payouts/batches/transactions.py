"""Transactions that pay payouts, written here and signed by the paying wallet: one is out for a payout at a time.

A chain forgets each after some minutes. The next one is written only once the final blocks have passed that end, so that at most
one of them is ever in the chain. Where a wallet may change what it signs (Solana, TON), none is handed out a second time before.

On TON one request pays several payouts, each by a message of its own, and ends for all of them at one moment. The chain may carry out
some of the messages alone: each payout is paid by its own, and the others are written again after the end.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction

from accounts.states import Mode
from gateway.core import json
from gateway.core.api.errors import ConflictError, InvalidRequestError, UnavailableError
from payouts.batches.endings import have_ended, read_until
from payouts.batches.instructions import read_line
from payouts.batches.service import refuse_sourceless
from payouts.errors import SeemsPaidError
from payouts.models import Payout, PayoutBatch, PayoutRequest
from payouts.outflows.lost_outflows import following_what_fits, seem_paid
from payouts.outflows.matching import reference_of
from payouts.states import BatchStatus, Method, PayoutStatus
from wallets.browser_wallets import prepare_payments, send_payment
from wallets.chains.base import ChainError
from wallets.chains.evm.proofs import signer_of
from wallets.chains.family import ChainSpec, NotEnoughError, PaymentOrder, PreparedPayment, TransactionRefusedError
from wallets.networks import chain_spec

# Chains end them sooner.
_LONGEST: Final = timedelta(minutes=10)
_NOT_WAITING: Final = "This payout does not wait for a transaction of this batch."
# r, s and v.
_SIGNATURE: Final = re.compile(r"(?:0x)?([0-9a-fA-F]{130})", re.ASCII)


@dataclass(frozen=True, slots=True)
class HandedOut:
    """A transaction as the chain's wallets take it, and the public ids of the payouts that it pays."""

    transaction: Any
    payouts: list[str]


def prepare_transaction(batch: PayoutBatch, payout_ids: Sequence[str], *, now: datetime) -> HandedOut:
    """Return the transaction that pays payouts of a batch: the first of them, as many as the wallet's balance covers.

    The batch's wallet is loaded. Where our bytes are what is sent, the same one is returned until it has ended. Raises
    InvalidRequestError for more than one request of the chain's wallets may hold, ConflictError if a payout is not waiting
    (state_conflict), the payment that it returns is gone or in doubt (the same), what was handed out before has not ended, is not known
    to have, or seems to have paid it (not_ended), or the wallet holds too little (funds_insufficient), and UnavailableError if no node
    answers.
    """
    spec = chain_spec(batch.chain)
    most = spec.family.most_payments
    if not 0 < len(payout_ids) <= most:
        raise InvalidRequestError(f"A request on {spec.title} pays from 1 to {most} payouts.", param="payout")
    requests = _waiting(batch, payout_ids)
    payouts = [request.payout for request in requests]
    # A batch is signed over hours: the money may be gone since it was made, and our own bytes are not given out again either.
    refuse_sourceless(payouts)
    if not have_ended(requests, batch, read_until(now=now).get(batch.chain)):
        if len(requests) == 1 and (same := _ours(requests[0], now)) is not None:
            return HandedOut(same, list(payout_ids))
        raise ConflictError("What was handed out before may still be paid. Ask again in a minute.", code="not_ended")
    with following_what_fits(payouts, now=now):
        if seem_paid(payouts):
            # A watcher recorded what left the wallet, and no worker has followed it yet.
            raise SeemsPaidError(
                "Your wallet seems to have paid this already. Look again in a minute.", code="not_ended"
            )
    orders = [_order(batch, request) for request in requests]
    try:
        prepared = prepare_payments(spec, orders, now=now, until=now + _LONGEST)
    except NotEnoughError:
        raise ConflictError("The paying wallet holds too little.", code="funds_insufficient") from None
    except ChainError as error:
        raise _unavailable(spec) from error
    # The rest, which the balance does not cover, is not handed out.
    written = list(zip(requests, prepared, strict=False))
    _store(batch, written)
    joined = spec.family.joined([one.transaction for _, one in written])
    return HandedOut(joined, [request.payout.public_id for request, _ in written])


def _ours(request: PayoutRequest, now: datetime) -> Any | None:
    """Return the transaction that is out for a payout if our bytes are what is sent, and it has not ended; else None."""
    stored = json.loads(bytes(request.raw))
    has_time = request.valid_until is not None and request.valid_until > now
    return stored["transaction"] if has_time and stored["raw"] else None


def _order(batch: PayoutBatch, request: PayoutRequest) -> PaymentOrder:
    payout_id = request.payout.public_id
    line = read_line(payout_id, bytes(request.raw))
    return PaymentOrder(
        payer=batch.wallet.address,
        recipient=line.address,
        token=chain_spec(batch.chain).tokens[batch.token],
        units=line.units,
        reference=reference_of(payout_id),
        memo=payout_id,
    )


def send_transaction(batch: PayoutBatch, payout_id: str, signature: str, *, now: datetime) -> None:
    """Send our transaction with the paying wallet's signature; safe to repeat.

    Raises InvalidRequestError if the wallet did not sign it, ConflictError if the payout does not wait, the payment that it returns is
    gone or in doubt, nothing is handed out, its time is over, or the chain refuses it, and UnavailableError if it is not known whether it was sent.
    """
    [request], spec = _waiting(batch, [payout_id]), chain_spec(batch.chain)
    # It may have been signed before the money was gone.
    refuse_sourceless([request.payout])
    raw = bytes.fromhex(json.loads(bytes(request.raw)).get("raw", ""))
    if not raw or request.valid_until is None or request.valid_until <= now:
        raise ConflictError("Nothing waits for this signature.")
    found = _SIGNATURE.fullmatch(signature)
    signed = bytes.fromhex(found[1]) if found else b""
    if not signed or signer_of(hashlib.sha256(raw).digest(), signed) != spec.family.address_key(batch.wallet.address):
        raise InvalidRequestError("This is no signature of the paying wallet for this payout.", param="signature")
    # What was handed out meanwhile, by another window, is another transaction.
    if not PayoutRequest.objects.filter(pk=request.pk, raw=request.raw).update(signature=signed):
        raise ConflictError("Nothing waits for this signature.")
    try:
        send_payment(spec, raw, signed)
    except TransactionRefusedError as error:
        raise ConflictError(f"{spec.title} refuses the transaction: {error}") from None
    except ChainError as error:
        raise _unavailable(spec) from error


def _waiting(batch: PayoutBatch, payout_ids: Sequence[str]) -> list[PayoutRequest]:
    """Return the requests of payouts that wait for their outflows, in their order. Raises ConflictError."""
    rows = PayoutRequest.objects.select_related("payout", "batch")
    found = rows.filter(batch=batch.pk, payout__public_id__in=payout_ids, payout__batch=batch.pk)
    waiting = {one.payout.public_id: one for one in found if _waits(one.batch, one.payout)}
    # Also if one is named twice: it would get two messages.
    if len(waiting) != len(payout_ids):
        raise ConflictError(_NOT_WAITING)
    return [waiting[payout_id] for payout_id in payout_ids]


def _waits(batch: PayoutBatch, payout: Payout) -> bool:
    is_open = (batch.method, batch.mode, batch.status) == (Method.TRANSACTION, Mode.LIVE, BatchStatus.OPEN)
    is_sending = payout.status == PayoutStatus.SENDING and payout.movement_id is None
    return is_open and is_sending and payout.batch_id == batch.pk


@transaction.atomic
def _store(batch: PayoutBatch, written: Sequence[tuple[PayoutRequest, PreparedPayment]]) -> None:
    """Store what is handed out, all of it or nothing, before anybody has it. Raises ConflictError if something changed meanwhile.

    Of two who ask at once, the second finds another row than it read: it hands out nothing.
    """
    payouts = list(Payout.objects.filter(pk__in=[request.payout_id for request, _ in written]).locked())
    held = PayoutBatch.objects.select_for_update(no_key=True).get(pk=batch.pk)
    if not all(_waits(held, payout) for payout in payouts):
        raise ConflictError(_NOT_WAITING)
    for request, prepared in written:
        _store_one(request, prepared)


def _store_one(request: PayoutRequest, prepared: PreparedPayment) -> None:
    stored = json.loads(bytes(request.raw)) | {
        "transaction": prepared.transaction,
        "raw": prepared.raw.hex(),
        "last_height": prepared.last_height,
    }
    unchanged = PayoutRequest.objects.filter(pk=request.pk, raw=request.raw)
    handed = unchanged.update(
        raw=json.dumps(stored), signature=None, tx_hash=prepared.tx_hash, valid_until=prepared.valid_until
    )
    if not handed:
        raise ConflictError("It was handed out to another window a moment ago.", code="not_ended")


def _unavailable(spec: ChainSpec) -> UnavailableError:
    return UnavailableError(f"{spec.title} does not answer; try again in a moment.")
