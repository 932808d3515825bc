"""Sends what paying wallets signed, by our gas accounts: once each, through the ledger, which resends and raises fees.

What cannot be sent waits in its row and says why (`Trouble`). Its signature pays once, whoever sends it and however often.
"""

from collections.abc import Iterable
from contextlib import closing
from datetime import datetime
from functools import partial
from typing import Final

import structlog

from accounts.states import Mode
from gateway.core.times import Clock, clock_from
from payouts.batches.authorizations import authorization_of
from payouts.lifecycle.sources import sourceless
from payouts.models import PayoutRequest
from payouts.states import BatchStatus, Method, PayoutStatus, Trouble
from settlements.errors import NoGasError
from settlements.gas.relay import Relay, relay
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

# What was reverted is tried once more: a wallet that spends first makes us pay for nothing.
_AGAIN: Final = "again"
_BATCH: Final = 200
_TROUBLES: Final = {Refusal.FUNDS: Trouble.FUNDS, Refusal.USED: Trouble.USED}


def send_signed(*, now: datetime) -> int:
    """Send what was signed and waits; return how many were sent. Safe to run at any time, and concurrently.

    A refund whose payment a reorg removed since waits for that, until the end of what was signed; one whose payment is in doubt, for a
    person's decision about the chain.
    """
    waiting = PayoutRequest.objects.filter(
        batch__method=Method.AUTHORIZATION,
        batch__mode=Mode.LIVE,
        batch__status=BatchStatus.OPEN,
        signature__isnull=False,
        valid_until__gt=now,
        payout__status=PayoutStatus.SENDING,
        payout__movement=None,
    )
    gone, in_doubt = sourceless(list(waiting.values_list("payout", flat=True)))
    waiting = waiting.exclude(payout__in=gone | in_doubt)
    sent, clock = 0, clock_from(now)
    for chain in waiting.order_by("batch__chain").values_list("batch__chain", flat=True).distinct():
        rows = waiting.filter(batch__chain=chain).select_related("batch__wallet", "gas_transaction").order_by("pk")
        with alone(f"relays:{chain}") as is_ours:
            if is_ours:
                sent += _send_on(chain, rows[:_BATCH], clock=clock)
    return sent


def _send_on(chain: str, rows: Iterable[PayoutRequest], *, clock: Clock) -> int:
    with closing(open_pool(chain_spec(chain))) as pool:
        try:
            return sum(_send(row, pool, clock=clock) for row in rows)
        except ChainError as error:
            log.warning("nothing signed is sent", chain=chain, error=str(error))
            return 0


def _send(row: PayoutRequest, pool: RpcPool, *, clock: Clock) -> bool:
    """Send one; return whether it was. Raises ChainError."""
    reference = _reference(row)
    if reference is None:
        return False
    try:
        _relay(row, reference, pool, clock=clock)
        return True
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


def _relay(row: PayoutRequest, reference: str, pool: RpcPool, *, clock: Clock) -> None:
    """Rehearse, store and send one. Raises as `relay`."""
    cause = Relay(
        row.batch.merchant_id,
        reference,
        keep=lambda made: _keep(row, made),
        withdrawn=partial(_note, row.pk, None, "", Trouble.GAS),
    )
    relay(authorization_of(row), cause, pool=pool, clock=clock)


def _keep(row: PayoutRequest, made: GasTransaction) -> None:
    attempt = made.attempts.order_by("-number")[0]
    _note(row.pk, made, attempt.tx_hash, Trouble.NONE)


def _note(pk: int, made: GasTransaction | None, tx_hash: str, trouble: Trouble) -> None:
    PayoutRequest.objects.filter(pk=pk).update(gas_transaction=made, tx_hash=tx_hash, trouble=trouble)
