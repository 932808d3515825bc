"""Sends what others signed for by our gas account: judged, limited, stored in the ledger, then pushed; once for each reference.

The token accepts an authorisation once, so whoever else sends it takes nothing from anyone: it costs us a reverted transaction.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from django.db import connection, transaction

from gateway.core.times import Clock
from settlements.errors import NoGasError
from settlements.gas import claims
from settlements.gas.balances import expect_gas
from settlements.gas.fees import Prices, first_fees, gas_policy
from settlements.gas.keys import gas_keys
from settlements.gas.ledger import COSTS, GasCall, Signer, find, intend, open_accounts
from settlements.gas.node import GasNode, note_answer
from settlements.gas.shares import has_open, refuse_failing
from settlements.gas.strangers import Stranger, failed_payers, refuse_greedy
from settlements.gas.upkeep import send_first
from settlements.models import GasTransaction
from settlements.states import ON_THEIR_WAY, Outcome, Purpose
from wallets.chains.evm.authorizations import contracts
from wallets.chains.evm.authorizations.contracts import Call, RevertedError
from wallets.chains.evm.authorizations.terms import TransferAuthorization
from wallets.chains.evm.logs import funder_of
from wallets.chains.rpc.pool import RpcPool

# Where the call names the units: the third word behind the function's four bytes.
_UNITS: Final = slice(4 + 2 * 32, 4 + 3 * 32)

# What failed of accounts that a relayed transfer of before brought to the same merchant.
_KNOWN_FAILED: Final = f"""
    SELECT {COSTS}
    FROM settlements_gastransaction t JOIN settlements_gasaccount g ON g.id = t.account_id
    WHERE t.merchant_id = %s AND g.chain = %s AND t.created_at >= %s::timestamptz AND t.state <> 'dropped'
      AND t.purpose = 'relay' AND t.outcome = 'failed' AND EXISTS (
        SELECT 1 FROM settlements_gastransaction paid JOIN settlements_gasaccount own ON own.id = paid.account_id
        WHERE paid.purpose = 'relay' AND paid.outcome = 'done' AND paid.payer = t.payer
          AND paid.merchant_id = t.merchant_id AND own.chain = g.chain AND paid.created_at < t.created_at
    )
"""  # noqa: S608 - only our own text is put in

_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 402))"


class BusyPayerError(NoGasError):
    """Something else that this payer signed is on its way: its balance may not cover both."""


class _OneAnswer(GasNode):
    """Nodes that are asked for gas prices once."""

    def __init__(self, pool: RpcPool) -> None:
        super().__init__(pool)
        self._prices: Prices | None = None

    def prices(self) -> Prices:
        """Return the gas prices that were told first."""
        if self._prices is None:
            self._prices = super().prices()
        return self._prices


@dataclass(frozen=True, slots=True)
class Signers:
    """What we know about accounts that signed transfers to a merchant on an EVM chain: a `PayerRecord`."""

    merchant_id: int
    chain: str

    def failed_payers(self, *, since: datetime) -> Sequence[str]:
        """Return the payers of the merchant's transactions that failed, buyers and machines."""
        return failed_payers(self.merchant_id, self.chain, since=since)

    def has_paid(self, payer: str, *, before: datetime) -> bool:
        """Return whether a transfer that an account signed for this merchant was sent before, and succeeded."""
        paid = GasTransaction.objects.filter(purpose=Purpose.RELAY, outcome=Outcome.DONE, payer=payer)
        return paid.filter(merchant=self.merchant_id, account__chain=self.chain, created_at__lt=before).exists()

    def known_failed(self, *, since: datetime) -> int:
        """Return what failures cost of accounts that had paid so before, in wei."""
        with connection.cursor() as cursor:
            cursor.execute(_KNOWN_FAILED, [self.merchant_id, self.chain, since])
            return int(cursor.fetchone()[0])


@dataclass(frozen=True, slots=True)
class Relay:
    """What a transfer is sent for: the ledger's `reference`, and the merchant in whose part of the gas it counts.

    With `is_alone` nothing is sent while another one of the payer is on its way, nor just after several failed: for payers
    whom nobody knows. `keep` stores the transaction with the caller's row, and `withdrawn` that nothing was sent after all. Of
    the transactions with one `subject` one at a time may pay, on all chains (`settlements.gas.claims`); "" is none.
    """

    merchant_id: int
    reference: str
    keep: Callable[[GasTransaction], object] = lambda _: None
    withdrawn: Callable[[], object] = lambda: None
    is_alone: bool = False
    subject: str = ""


def relay(signed: TransferAuthorization, cause: Relay, *, pool: RpcPool, clock: Clock) -> GasTransaction:
    """Rehearse, store and send a signed transfer of one of our tokens; return its transaction. Idempotent by reference.

    Raises RevertedError if it would fail, NoGasError if our gas is not spent on it now (TakenSubjectError: another transaction may
    still pay the same), and ChainError. Then nothing was sent; if
    a node may have it all the same, it is stored, and `tend` resends it.
    """
    chain, node, now = signed.spec.name, _OneAnswer(pool), clock()
    made = find(Purpose.RELAY, cause.reference)
    if made is not None:
        cause.keep(made)
        return made
    call = signed.call()
    refuse_strange(signed, call)
    if cause.is_alone:
        refuse_failing(chain, signed.payer, now=now)
    gas = gas_for(pool, call)
    refuse_greedy(_stranger(signed, cause, pool), payment=most_cost(chain, gas, node=node), now=now)
    expect_gas(chain, gas, node=node, now=now)
    # The nodes may have been slow.
    now = clock()
    _refuse_late(signed, now=now)
    made, is_new = _store(signed, cause, GasCall(call.to, call.data, gas), node=node, now=now)
    cause.keep(made)
    if is_new:
        attempt = made.attempts.order_by("-number")[0]
        note_answer(attempt, send_first(attempt, node=node, withdrawn=cause.withdrawn, now=now), now=now)
    return made


def _refuse_late(signed: TransferAuthorization, *, now: datetime) -> None:
    """Raise NoGasError if a transfer ends before its transaction can be in a block: it would fail at our cost."""
    if signed.valid_before <= now.timestamp() + signed.spec.block_seconds:
        raise NoGasError("the signature ends before the next block")


def _stranger(signed: TransferAuthorization, cause: Relay, pool: RpcPool) -> Stranger:
    chain, pace = signed.spec.name, signed.spec.block_seconds
    return Stranger(
        cause.merchant_id,
        chain,
        signed.token,
        signed.payer,
        lambda payer: funder_of(pool, signed.token, payer, block_seconds=pace),
        Signers(cause.merchant_id, chain),
    )


def _store(
    signed: TransferAuthorization, cause: Relay, call: GasCall, *, node: GasNode, now: datetime
) -> tuple[GasTransaction, bool]:
    """Store the transaction; return whether it is new. Raises BusyPayerError, TakenSubjectError, NoGasError, ChainError."""
    chain = signed.spec.name
    # Here, so that the database transaction below waits for no node.
    open_accounts(chain, node=node)
    with transaction.atomic():
        if cause.is_alone:
            lock_payer(chain, signed.token, signed.payer)
            # Another request may have sent the same one meanwhile.
            if made := find(Purpose.RELAY, cause.reference):
                return made, False
            if has_open(chain, signed.payer):
                raise BusyPayerError(f"another payment of this payer is on its way on {chain}")
        claim = claims.take(cause.subject, now=now) if cause.subject else None
        made = intend(
            chain,
            call,
            purpose=Purpose.RELAY,
            reference=cause.reference,
            node=node,
            now=now,
            expires_at=datetime.fromtimestamp(signed.valid_before, UTC),
            signed_by=Signer(cause.merchant_id, signed.payer),
        )
        if claim is not None:
            claims.hold(claim, made)
    return made, True


def promised(chain: str, token: str, payer: str) -> list[int]:
    """Return the base units of each transfer of a payer's token that is on its way, and in no block as far as we know."""
    rows = GasTransaction.objects.filter(
        purpose=Purpose.RELAY, payer=payer, account__chain=chain, to=token, outcome=Outcome.OPEN, state__in=ON_THEIR_WAY
    )
    return [int.from_bytes(bytes(data)[_UNITS], "big") for data in rows.values_list("data", flat=True)]


def lock_payer(chain: str, token: str, payer: str) -> None:
    """Let one request at a time decide about a payer's money in a token, until the end of this database transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [f"{chain}:{token}:{payer}"])


def refuse_strange(signed: TransferAuthorization, call: Call) -> None:
    """Refuse calls of anything but our tokens: one to an address without code would succeed, and move nothing.

    Raises RevertedError.
    """
    if call.to not in {token.address for token in signed.spec.machine_tokens}:
        raise RevertedError("reverted: this contract is none of ours")


def gas_for(pool: RpcPool, call: Call) -> int:
    """Return a call's gas limit. Raises RevertedError if it fails or the maximum is not enough, ChainError."""
    return contracts.gas_for(pool, call, sender=call.sender or estimating_account(call.to))


def most_cost(chain: str, gas: int, *, node: GasNode) -> int:
    """Return what a transaction with so much gas costs at most, in wei; 0 if gas is too dear for any. Raises ChainError."""
    fees = first_fees(node.prices(), most=gas_policy(chain).max_fee)
    # The ledger refuses if gas is too expensive for any payment.
    return gas * fees.max_fee if fees else 0


def estimating_account(otherwise: str) -> str:
    """Return an account of ours in whose name nodes estimate a call; without any, this address."""
    return next(iter(gas_keys()), otherwise)
