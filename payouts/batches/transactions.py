"""Transactions that pay payouts, written here and signed by the paying wallet: one is out for a payout at a time.

A chain forgets each after some minutes. The next one is written only once the final blocks have passed that end, so that at most
one of them is ever in the chain. Where a wallet may change what it signs (Solana, TON), none is handed out a second time before.
"""

import hashlib
import re
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction

from accounts.states import Mode
from gateway.core import json
from gateway.core.api.errors import ConflictError, InvalidRequestError, UnavailableError
from payouts.batches.endings import have_ended, read_until
from payouts.batches.instructions import read_line
from payouts.errors import SeemsPaidError
from payouts.models import Payout, PayoutBatch, PayoutRequest
from payouts.outflows.lost_outflows import following_what_fits, seem_paid
from payouts.outflows.matching import reference_of
from payouts.states import BatchStatus, Method, PayoutStatus
from wallets.browser_wallets import prepare_payment, send_payment
from wallets.chains.base import ChainError
from wallets.chains.evm.proofs import signer_of
from wallets.chains.family import ChainSpec, NotEnoughError, PaymentOrder, PreparedPayment, TransactionRefusedError
from wallets.networks import chain_spec

# Chains end them sooner.
_LONGEST: Final = timedelta(minutes=10)
# r, s and v.
_SIGNATURE: Final = re.compile(r"(?:0x)?([0-9a-fA-F]{130})", re.ASCII)


def prepare_transaction(batch: PayoutBatch, payout_id: str, *, now: datetime) -> Any:
    """Return the transaction that pays a payout of a batch, as the chain's wallets take it; the batch's wallet is loaded.

    Where our bytes are what is sent, the same one is returned until it has ended. Raises ConflictError if the payout is not waiting
    (state_conflict), or what was handed out before has not ended, is not known to have, or seems to have paid it (not_ended), or the
    wallet holds too little (funds_insufficient), and UnavailableError if no node answers.
    """
    request, spec = _waiting(batch, payout_id), chain_spec(batch.chain)
    stored = json.loads(bytes(request.raw))
    known_until = read_until(now=now).get(batch.chain)
    if request.valid_until is not None and not have_ended([request], batch, known_until):
        if stored["raw"] and request.valid_until > now:
            return stored["transaction"]
        raise ConflictError("What was handed out before may still be paid. Ask again in a minute.", code="not_ended")
    with following_what_fits([request.payout], now=now):
        if seem_paid([request.payout]):
            # A watcher recorded what left the wallet, and no worker has followed it yet.
            raise SeemsPaidError(
                "Your wallet seems to have paid this already. Look again in a minute.", code="not_ended"
            )
    line = read_line(payout_id, bytes(request.raw))
    order = PaymentOrder(
        payer=batch.wallet.address,
        recipient=line.address,
        token=spec.tokens[batch.token],
        units=line.units,
        reference=reference_of(payout_id),
        memo=payout_id,
    )
    try:
        prepared = prepare_payment(spec, order, now=now, until=now + _LONGEST)
    except NotEnoughError:
        raise ConflictError("The paying wallet holds too little.", code="funds_insufficient") from None
    except ChainError as error:
        raise _unavailable(spec) from error
    _store(batch, request, prepared)
    return prepared.transaction


def send_transaction(batch: PayoutBatch, payout_id: str, signature: str, *, now: datetime) -> None:
    """Send our transaction with the paying wallet's signature; safe to repeat.

    Raises InvalidRequestError if the wallet did not sign it, ConflictError if the payout does not wait, nothing is handed out,
    its time is over, or the chain refuses it, and UnavailableError if it is not known whether it was sent.
    """
    request, spec = _waiting(batch, payout_id), chain_spec(batch.chain)
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


def _waiting(batch: PayoutBatch, payout_id: str) -> PayoutRequest:
    """Return the request of a payout that waits for its outflow. Raises ConflictError."""
    rows = PayoutRequest.objects.select_related("payout", "batch")
    request = rows.filter(batch=batch.pk, payout__public_id=payout_id, payout__batch=batch.pk).first()
    if request is None or not _waits(request.batch, request.payout):
        raise ConflictError("This payout does not wait for a transaction of this batch.")
    return request


def _waits(batch: PayoutBatch, payout: Payout) -> bool:
    is_open = (batch.method, batch.mode, batch.status) == (Method.TRANSACTION, Mode.LIVE, BatchStatus.OPEN)
    is_sending = payout.status == PayoutStatus.SENDING and payout.movement_id is None
    return is_open and is_sending and payout.batch_id == batch.pk


@transaction.atomic
def _store(batch: PayoutBatch, request: PayoutRequest, prepared: PreparedPayment) -> None:
    """Store what is handed out, before anybody has it. Raises ConflictError if something changed meanwhile.

    Of two who ask at once, the second finds another row than it read: it hands out nothing.
    """
    payout = Payout.objects.locked().get(pk=request.payout_id)
    held = PayoutBatch.objects.select_for_update(no_key=True).get(pk=batch.pk)
    if not _waits(held, payout):
        raise ConflictError("This payout does not wait for a transaction of this batch.")
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
