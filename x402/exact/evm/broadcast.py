"""Sends calls from our gas account through the ledger, once for each authorisation."""

import time
from contextlib import suppress
from datetime import UTC, datetime
from threading import Lock
from typing import Final

from cachetools import TTLCache, cachedmethod
from django.db import transaction

from gateway.core.times import Clock
from settlements.gas import relay
from settlements.gas.balances import expect_gas
from settlements.gas.fees import Prices
from settlements.gas.ledger import GasCall, Signer, intend
from settlements.gas.node import UNPAYABLE, GasNode, GasReceipt, broadcast, find_receipt
from settlements.gas.strangers import Stranger, refuse_greedy
from settlements.gas.upkeep import empty, has_expired, note_refusal, refuse_stuck, send_first
from settlements.models import GasAttempt, GasTransaction
from settlements.states import Purpose
from wallets.chains.base import ChainError
from wallets.chains.evm.authorizations import contracts
from wallets.chains.evm.authorizations.contracts import Call
from wallets.chains.evm.logs import funder_of
from wallets.chains.family import ChainSpec
from wallets.chains.registry import KeptPerThread, open_pool
from wallets.chains.rpc.pool import RpcPool
from x402.exact.authorizations import adopt, disown
from x402.exact.checks import refuse_late
from x402.exact.errors import BalanceUnknownError, ReceiptMissingError
from x402.exact.evm import permit2
from x402.exact.inputs import StandardRequest
from x402.exact.quotas import (
    Machines,
    PayerBalance,
    expect_covered,
    has_sent_others,
    must_ask_balance,
    refuse_overdrawn,
)
from x402.models import Authorization

# Attempts are signed for twice the base fee, which grows by an eighth a block at most.
_PRICES_SECONDS: Final = 2.0
# Keyed by node, shared by all threads.
_prices: Final[TTLCache[tuple[str, ...], Prices]] = TTLCache(1_000, _PRICES_SECONDS)
_lock: Final = Lock()

_FIRST_PAUSES: Final = (0.0, 0.005, 0.013)


class _SteadyNode(GasNode):
    """A node whose gas prices are cached for a block's time."""

    def __init__(self, spec: ChainSpec) -> None:
        self.pool = open_pool(spec)
        super().__init__(self.pool)
        self._urls = spec.rpc_urls

    def prices(self) -> Prices:
        """Return gas prices, at most a block old."""
        return self._cached_prices()

    @cachedmethod(lambda _: _prices, key=lambda self: self._urls, lock=lambda _: _lock)
    def _cached_prices(self) -> Prices:
        return super().prices()


_kept: Final = KeptPerThread(_SteadyNode, close=lambda node: node.pool.close())


def pool_of(spec: ChainSpec) -> RpcPool:
    """Return this thread's pool of a chain's nodes."""
    return _kept.of(spec).pool


def gas_node_of(spec: ChainSpec) -> GasNode:
    """Return this thread's nodes of a chain, for gas transactions."""
    return _kept.of(spec)


def send(row: Authorization, request: StandardRequest, call: Call, *, clock: Clock) -> None:
    """Store the transaction that carries an authorisation out, and send it to a node.

    Raises RevertedError if the call would revert, RefusedPaymentError if the authorisation has expired, OverdrawnError,
    NoGasError, ChainError, also while payments on their way may use up what Permit2 may move: then nothing was sent. NoGasError
    too if the nodes refuse it for want of coin or fee, or if it would wait behind a late transaction: its payer would be charged
    when nobody waits for it any more.
    """
    spec, begun = request.spec, clock()
    gas = relay.gas_for(pool_of(spec), call)
    node, sent = gas_node_of(spec), GasCall(call.to, call.data, gas, call.sender)
    # Asked for here, so that the ledger's transaction below waits for no node.
    most_wei = relay.most_cost(spec.name, gas, node=node)
    refuse_stuck(spec.name, node=node, now=begun, sender=call.sender)
    stranger = _stranger(row.merchant_id, request)
    refuse_greedy(stranger, payment=most_wei, now=clock())
    balance = _balance_of(request, call) if must_ask_balance(row, now=clock()) else None
    # The nodes may have been slow, so the deadline is checked again.
    refuse_late(request, now=clock())
    try:
        attempt = _write(row, request, sent, balance, clock=clock)
    except BalanceUnknownError:
        # Another payment of this payer was sent meanwhile.
        asked = _balance_of(request, call)
        refuse_late(request, now=clock())
        attempt = _write(row, request, sent, asked, clock=clock)
    made = attempt.transaction
    # A node's acceptance is recorded once it is in a block, or pending for long.
    with suppress(ChainError):
        send_first(attempt, node=node, withdrawn=lambda: disown(row, made), now=clock())


def expect_gas_for(merchant_id: int, request: StandardRequest, gas: int, *, now: datetime) -> None:
    """Raise NoGasError if `send` would refuse a payment of this merchant that takes so much gas. Raises ChainError."""
    spec, node = request.spec, gas_node_of(request.spec)
    expect_gas(spec.name, gas, node=node, now=now, sender=request.signed.facilitator)
    refuse_stuck(spec.name, node=node, now=now, sender=request.signed.facilitator)
    most_wei = relay.most_cost(spec.name, gas, node=node)
    refuse_greedy(_stranger(merchant_id, request), payment=most_wei, now=now)


def expect_allowed(request: StandardRequest, call: Call, *, now: datetime) -> None:
    """Raise what `send` would raise if other payments of the payer may use up its balance, or what Permit2 may move.

    Those are OverdrawnError, ChainError. What other payments took already is in the balance that the token was tried with.
    """
    payer = request.signed.payer
    asked = Authorization(chain=request.spec.name, token=request.token, payer=payer, units=request.units)
    must_ask = must_ask_balance if request.signed.is_permit2 else has_sent_others
    if must_ask(asked, now=now):
        expect_covered(asked, _balance_of(request, call), now=now)


def _stranger(merchant_id: int, request: StandardRequest) -> Stranger:
    pool, spec = pool_of(request.spec), request.spec
    return Stranger(
        merchant_id,
        spec.name,
        request.asset,
        request.signed.payer,
        lambda payer: funder_of(pool, request.asset, payer, block_seconds=spec.block_seconds),
        Machines(merchant_id, spec.name),
    )


def _write(
    row: Authorization, request: StandardRequest, call: GasCall, balance: PayerBalance | None, *, clock: Clock
) -> GasAttempt:
    """Store the transaction, together with the check of the payer's open payments."""
    now = clock()
    with transaction.atomic():
        refuse_overdrawn(row, balance, now=now)
        made = intend(
            row.chain,
            call,
            purpose=Purpose.X402,
            reference=reference_of(row),
            node=gas_node_of(request.spec),
            now=now,
            expires_at=_end_of(request),
            signed_by=Signer(row.merchant_id, row.payer),
        )
        return adopt(row, made, now=now)


def _balance_of(request: StandardRequest, call: Call) -> PayerBalance:
    """Return a payer's balance, and what Permit2 may move of it, at one block. Raises RevertedError, ChainError."""
    pool, height = pool_of(request.spec), gas_node_of(request.spec).height()
    block = hex(height)
    units = contracts.read(pool, request.asset, contracts.BALANCE_OF, request.signed.payer, block=block)
    return PayerBalance(int(units), height, permit2.allowed_by(pool, request, call, block=block))


def reference_of(row: Authorization) -> str:
    """Return the ledger's reference of an authorisation's transaction."""
    return str(row.pk)


def _end_of(request: StandardRequest) -> datetime | None:
    """Return when an authorisation expires; None if that is beyond any calendar."""
    try:
        return datetime.fromtimestamp(request.signed.valid_before, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def push(made: GasTransaction, request: StandardRequest, *, node: GasNode, now: datetime) -> None:
    """Send a stored transaction again, unless it has expired: then the ledger empties it.

    If all nodes refuse it for want of coin or fee, it is emptied, because nobody may wait for it when they take it.
    """
    if has_expired(made, request.spec, now=now):
        return
    with suppress(ChainError):
        answer = broadcast(made, node=node, now=now)
        newest = made.attempts.order_by("-number")[0]
        # One node does not know what another one took.
        if answer in UNPAYABLE and node.is_unpayable_everywhere(bytes(newest.raw)):
            empty(newest, prices=None, now=now)
            note_refusal(made, answer, node=node, now=now)


def look(row: Authorization, made: GasTransaction, *, node: GasNode) -> GasReceipt:
    """Return a transaction's receipt. Raises ReceiptMissingError if it is not in a block yet."""
    with suppress(ChainError):
        # It may have been resent with a higher fee.
        if (receipt := find_receipt(made, node=node)) is not None:
            return receipt
    raise ReceiptMissingError(row.tx_hash)


def look_at_once(row: Authorization, *, node: GasNode) -> GasReceipt | None:
    """Look for a transaction that was just sent: some chains, such as local ones, mine it at once.

    Returns None after some milliseconds.
    """
    for pause in _FIRST_PAUSES:
        time.sleep(pause)
        with suppress(ChainError):
            if (receipt := node.receipt(row.tx_hash)) is not None:
                return receipt
    return None
