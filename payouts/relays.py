"""Sends what paying wallets signed, by our gas accounts: once each, through the ledger, which resends and raises fees.

What cannot be sent waits in its row and says why (`Trouble`). Its signature pays once, whoever sends it and however often.
"""

from collections.abc import Iterable
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import structlog
from django.db.models import Sum
from django.db.models.functions import Coalesce

from accounts.states import Mode
from payouts.authorizations import authorization_of
from payouts.models import PayoutRequest
from payouts.states import BatchStatus, Method, PayoutStatus, Trouble
from settlements.errors import NoGasError
from settlements.gas.balances import expect_gas
from settlements.gas.fees import gas_policy
from settlements.gas.ledger import GasCall, find, intend
from settlements.gas.node import GasNode, note_answer
from settlements.gas.relay import gas_for
from settlements.gas.upkeep import send_first
from settlements.models import GasTransaction
from settlements.states import Purpose, TransactionState
from settlements.sweeps.plan import alone
from wallets.chains.base import ChainError
from wallets.chains.evm.authorizations.contracts import RevertedError
from wallets.chains.evm.authorizations.eip3009 import reason_of
from wallets.chains.evm.authorizations.terms import Refusal
from wallets.chains.registry import open_pool
from wallets.chains.rpc.pool import RpcPool
from wallets.networks import chain_spec

log = structlog.get_logger(__name__)

MERCHANTS_PART: Final = 4
"""Payouts of one merchant may cost this fraction of a day's gas on a chain: gas is there for all, and for checkouts."""

# What was reverted is tried once more: a wallet that spends first makes us pay for nothing.
_AGAIN: Final = "again"
_DAY: Final = timedelta(days=1)
_BATCH: Final = 200
_TROUBLES: Final = {Refusal.FUNDS: Trouble.FUNDS, Refusal.USED: Trouble.USED}


def send_signed(*, now: datetime) -> int:
    """Send what was signed and waits; return how many were sent. Safe to run at any time, and concurrently."""
    waiting = PayoutRequest.objects.filter(
        batch__method=Method.AUTHORIZATION,
        batch__mode=Mode.LIVE,
        batch__status=BatchStatus.OPEN,
        signature__isnull=False,
        valid_until__gt=now,
        payout__status=PayoutStatus.SENDING,
        payout__movement=None,
    )
    sent = 0
    for chain in waiting.order_by("batch__chain").values_list("batch__chain", flat=True).distinct():
        rows = waiting.filter(batch__chain=chain).select_related("batch__wallet", "gas_transaction").order_by("pk")
        with alone(f"relays:{chain}") as is_ours:
            if is_ours:
                sent += _send_on(chain, rows[:_BATCH], now=now)
    return sent


def _send_on(chain: str, rows: Iterable[PayoutRequest], *, now: datetime) -> int:
    with closing(open_pool(chain_spec(chain))) as pool:
        try:
            return sum(_send(row, pool, now=now) for row in rows)
        except ChainError as error:
            log.warning("nothing signed is sent", chain=chain, error=str(error))
            return 0


def _send(row: PayoutRequest, pool: RpcPool, *, now: datetime) -> bool:
    """Send one; return whether it was. Raises ChainError."""
    reference = _reference(row)
    if reference is None:
        return False
    try:
        return _relay(row, reference, pool, now=now)
    except RevertedError as error:
        trouble = _TROUBLES.get(reason_of(error), Trouble.REFUSED)
        log.info("a token refuses a payout", pk=row.pk, error=str(error))
    except NoGasError as error:
        trouble = Trouble.GAS
        log.warning("a payout waits for gas", pk=row.pk, error=str(error))
    PayoutRequest.objects.filter(pk=row.pk).exclude(trouble=trouble).update(trouble=trouble)
    return False


def _reference(row: PayoutRequest) -> str | None:
    """Return the ledger's name of the next transaction; None while one is on its way or succeeded, or enough were reverted."""
    made = row.gas_transaction
    if made is None or made.state == TransactionState.DROPPED:
        return str(row.pk)
    if made.state != TransactionState.MINED or (made.succeeded and made.purpose != Purpose.CANCEL):
        return None
    if made.purpose == Purpose.CANCEL:
        return str(row.pk)
    return None if made.reference.endswith(_AGAIN) else f"{row.pk}/{_AGAIN}"


def _relay(row: PayoutRequest, reference: str, pool: RpcPool, *, now: datetime) -> bool:
    """Rehearse, store and send one. Raises RevertedError, NoGasError, ChainError: then nothing was sent, or `tend` resends it."""
    chain, node = row.batch.chain, GasNode(pool)
    made = find(Purpose.RELAY, reference)
    is_new = made is None
    if made is None:
        call = authorization_of(row).call()
        gas = gas_for(pool, call)
        _refuse_greedy(row, now=now)
        expect_gas(chain, gas, node=node, now=now)
        made = intend(
            chain,
            GasCall(call.to, call.data, gas),
            purpose=Purpose.RELAY,
            reference=reference,
            node=node,
            now=now,
            expires_at=row.valid_until,
        )
    attempt = made.attempts.order_by("-number")[0]
    _note(row.pk, made, attempt.tx_hash, Trouble.NONE)
    if is_new:
        withdrawn = partial(_note, row.pk, None, "", Trouble.GAS)
        note_answer(attempt, send_first(attempt, node=node, withdrawn=withdrawn, now=now), now=now)
    return True


def _note(pk: int, made: GasTransaction | None, tx_hash: str, trouble: Trouble) -> None:
    PayoutRequest.objects.filter(pk=pk).update(gas_transaction=made, tx_hash=tx_hash, trouble=trouble)


def _refuse_greedy(row: PayoutRequest, *, now: datetime) -> None:
    """Raise NoGasError if a merchant's payouts of a day cost their part of the chain's gas."""
    batch = row.batch
    paid = PayoutRequest.objects.filter(
        batch__merchant=batch.merchant_id, batch__chain=batch.chain, gas_transaction__created_at__gt=now - _DAY
    )
    cost = Coalesce("gas_transaction__cost_wei", "gas_transaction__most_wei")
    spent = paid.aggregate(wei=Sum(cost))["wei"] or 0
    if spent * MERCHANTS_PART >= gas_policy(batch.chain).daily:
        raise NoGasError(f"this merchant's payouts had their part of the day's gas on {batch.chain}")
