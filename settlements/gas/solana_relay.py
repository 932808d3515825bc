"""Signs payers' transactions as their fee payer, within limits, and sends them until a block has them or none can: Solana.

Our account appears in no instruction: its signature pays the fee and moves nothing else.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Sum

from settlements.errors import NoGasError
from settlements.gas import claims
from settlements.gas.fees import LAMPORTS, daily_coins
from settlements.gas.keys import solana_gas_keys
from settlements.gas.relay import BusyPayerError, Relay, lock_payer
from settlements.gas.shares import DAY, HOUR, MOST_COUNTED, WINDOW, FailedCosts, PayerFailedError, minutes_to_wait
from settlements.gas.strangers import MOST_READ, FundedBy, Stranger, refuse_failed
from settlements.models import SponsoredTransaction
from settlements.states import Outcome
from wallets.chains.base import ChainError
from wallets.chains.family import ChainSpec, SignedOtherwiseError, TransactionRefusedError
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana import endings, sending

log = structlog.get_logger(__name__)

PART: Final = 2
"""Payments of buyers may cost this fraction of a day's SOL, and machines' payments the rest, where the operator pays both."""

_TAKE_TURN: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 405))"


@dataclass(frozen=True, slots=True)
class Sponsored:
    """A transaction that we wrote for a payer: unsigned in the wire format, its fee in lamports, and the last height that takes it."""

    spec: ChainSpec
    raw: bytes
    payer: str
    fee: int
    last_height: int


def fee_payer_of(merchant_id: int) -> str:
    """Return the account that pays the network for a merchant's payers. Raises NoGasError without one."""
    keys: Sequence[str] = list(solana_gas_keys())
    if not keys:
        raise NoGasError("there is no account that pays fees")
    return keys[merchant_id % len(keys)]


def machines_part(chain: str) -> Decimal:
    """Return how many lamports machines' payments may cost in a day on a chain: all, unless buyers' fees are paid too."""
    daily = daily_coins(chain) * LAMPORTS
    return daily / PART if chain in settings.GAS_FREE else daily


def take_turn(chain: str) -> None:
    """Let one request at a time add a fee to a chain's day, until the end of this database transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKE_TURN, [chain])


def find_sponsored(reference: str) -> SponsoredTransaction | None:
    """Return the transaction with a reference; None if there is none, or no block took it."""
    return SponsoredTransaction.objects.filter(reference=reference).first()


@dataclass(frozen=True, slots=True)
class _SponsoredPayers:
    """What we know about payers of a merchant of which we paid the network's fee: a `PayerRecord`."""

    merchant_id: int
    chain: str

    def failed_payers(self, *, since: datetime) -> Sequence[str]:
        """Return the payers of transactions that failed at our cost."""
        rows = self._rows(Outcome.FAILED).filter(fee__gt=0, created_at__gt=since).order_by("-created_at")
        return list(rows.values_list("payer", flat=True)[:MOST_READ])

    def has_paid(self, payer: str, *, before: datetime) -> bool:
        """Return whether an account paid the merchant so before."""
        return self._rows(Outcome.DONE).filter(payer=payer, created_at__lt=before).exists()

    def known_failed(self, *, since: datetime) -> int:
        """Return what failures cost of accounts that had paid so before, in lamports."""
        paid = self._rows(Outcome.DONE).filter(payer=OuterRef("payer"), created_at__lt=OuterRef("created_at"))
        failed = self._rows(Outcome.FAILED).filter(Exists(paid), created_at__gt=since)
        return int(failed.aggregate(sum=Sum("fee", default=0))["sum"])

    def _rows(self, outcome: Outcome) -> QuerySet[SponsoredTransaction]:
        return SponsoredTransaction.objects.filter(merchant=self.merchant_id, chain=self.chain, outcome=outcome)


def sponsored_payer(merchant_id: int, chain: str, token: str, payer: str, *, funded_by: FundedBy) -> Stranger:
    """Return a merchant's payer for `refuse_sponsoring`: we may pay its fee. `token` is the mint."""
    return Stranger(merchant_id, chain, token, payer, funded_by, _SponsoredPayers(merchant_id, chain))


def refuse_sponsoring(stranger: Stranger, fee: int, *, now: datetime) -> None:
    """Raise NoGasError as `refuse_spent`, and if payments of payers who may be related failed. May ask nodes."""
    costs, share = refuse_spent(stranger.merchant_id, stranger.chain, stranger.payer, fee, now=now)
    refuse_failed(stranger, costs, share, now=now)


def refuse_spent(merchant_id: int, chain: str, payer: str, fee: int, *, now: datetime) -> tuple[FailedCosts, Decimal]:
    """Raise NoGasError if no fee is paid for this payer now: the day's or the merchant's part is spent, or its own payments failed.

    Return what the merchant's payments cost, and its share of the day, in lamports. Asks no node.
    """
    rows = SponsoredTransaction.objects.filter(chain=chain, created_at__gt=now - DAY)
    own = Q(merchant=merchant_id)
    failed = own & Q(outcome=Outcome.FAILED)
    spent = rows.aggregate(
        all=Sum("fee", default=0),
        good=Sum("fee", default=0, filter=own & ~Q(outcome=Outcome.FAILED)),
        failed=Sum("fee", default=0, filter=failed),
        lately=Sum("fee", default=0, filter=failed & Q(created_at__gt=now - WINDOW)),
        open=Sum("fee", default=0, filter=own & Q(outcome=Outcome.OPEN)),
    )
    daily = daily_coins(chain) * LAMPORTS / PART
    _refuse_beyond(daily, spent["all"] + fee, chain)
    share = daily * Decimal(settings.GAS_MERCHANT_SHARE)
    if spent["good"] + fee > share:
        raise NoGasError(f"the merchant's share of the day's gas on {chain} is spent")
    _refuse_failing(chain, payer, now)
    return FailedCosts(spent["failed"], spent["lately"], spent["open"], fee), share


def _refuse_beyond(daily: Decimal, fees: int, chain: str) -> None:
    if fees > daily:
        raise NoGasError(f"the day's fees of buyers on {chain} are spent (GAS_DAILY_COINS)")


def _refuse_failing(chain: str, payer: str, now: datetime) -> None:
    rows = SponsoredTransaction.objects.filter(
        chain=chain, payer=payer, outcome=Outcome.FAILED, fee__gt=0, created_at__gt=now - HOUR
    )
    times = list(rows.order_by("-created_at").values_list("created_at", flat=True)[:MOST_COUNTED])
    if minutes := minutes_to_wait(times, now=now):
        raise PayerFailedError(minutes)


def has_open_sponsored(chain: str, payer: str) -> bool:
    """Whether a transaction of this payer is on its way."""
    return SponsoredTransaction.objects.filter(chain=chain, payer=payer, outcome=Outcome.OPEN).exists()


def relay_sponsored(
    what: Sponsored, signature: bytes, cause: Relay, *, stranger: Stranger, pool: RpcPool, now: datetime
) -> SponsoredTransaction:
    """Sign a transaction that its payer signed, store and send it; idempotent by reference.

    `signature` is the payer's, 64 bytes; `stranger` is the same payer. Raises SignedOtherwiseError if it is not, and
    TransactionRefusedError if the transaction would fail; NoGasError if no fee is paid now (TakenSubjectError: another transaction may
    still pay the same); and ChainError. Then nothing was signed.
    """
    if known := find_sponsored(cause.reference):
        return known
    signed = _signed(what, signature)
    chain = what.spec.name
    refuse_sponsoring(stranger, what.fee, now=now)
    simulated = sending.simulate(pool, signed.raw)
    if simulated.is_ours:
        log.error("our account cannot pay", account=signed.fee_payer)
        raise NoGasError(f"{signed.fee_payer} has too little coin on {chain}")
    if simulated.error:
        raise TransactionRefusedError(simulated.error)
    made = _store(what, signed, cause, now)
    with suppress(ChainError):
        sending.send(pool, bytes(made.signed))
    return made


@dataclass(frozen=True, slots=True)
class _Signed:
    raw: bytes
    tx_hash: str
    fee_payer: str


def _signed(what: Sponsored, signature: bytes) -> _Signed:
    """Add both signatures. Raises SignedOtherwiseError, NoGasError if the fee payer's key is gone."""
    from solders.signature import Signature
    from solders.transaction import Transaction

    message = Transaction.from_bytes(what.raw).message
    fee_payer, payer = message.account_keys[0], message.account_keys[1]
    key = solana_gas_keys().get(str(fee_payer))
    if key is None:
        raise NoGasError(f"the key of {fee_payer} is not here any more")
    theirs = Signature.from_bytes(signature)
    if message.header.num_required_signatures != 2 or not theirs.verify(payer, bytes(message)):
        raise SignedOtherwiseError("the payer signed something else")
    ours = Signature.from_bytes(key.sign(bytes(message)))
    return _Signed(bytes(Transaction.populate(message, [ours, theirs])), str(ours), key.address)


def _store(what: Sponsored, signed: _Signed, cause: Relay, now: datetime) -> SponsoredTransaction:
    """Store a transaction before it is sent; idempotent by reference.

    Raises BusyPayerError if another one of the payer is on its way, TakenSubjectError if another one may pay the same, NoGasError if
    others spent the rest of the day's part since.
    """
    chain = what.spec.name
    with transaction.atomic():
        lock_payer(chain, "", what.payer)
        # The same request, sent twice, is no second fee.
        if known := find_sponsored(cause.reference):
            return known
        if has_open_sponsored(chain, what.payer):
            raise BusyPayerError(f"another payment of this payer is on its way on {chain}")
        claim = claims.take(cause.subject, now=now) if cause.subject else None
        made = _stored(what, signed, cause, now)
        if claim is not None:
            claims.hold(claim, made)
    return made


def _stored(what: Sponsored, signed: _Signed, cause: Relay, now: datetime) -> SponsoredTransaction:
    """Add a transaction to the day's fees. Raises NoGasError."""
    chain = what.spec.name
    take_turn(chain)
    day = SponsoredTransaction.objects.filter(chain=chain, created_at__gt=now - DAY)
    spent = day.aggregate(all=Sum("fee", default=0))["all"]
    _refuse_beyond(daily_coins(chain) * LAMPORTS / PART, spent + what.fee, chain)
    return SponsoredTransaction.objects.create(
        chain=chain,
        reference=cause.reference,
        merchant_id=cause.merchant_id,
        fee_payer=signed.fee_payer,
        payer=what.payer,
        signed=signed.raw,
        tx_hash=signed.tx_hash,
        fee=what.fee,
        last_height=what.last_height,
        created_at=now,
    )


def tend_sponsored(spec: ChainSpec, *, pool: RpcPool) -> int:
    """Send what is on its way again, and record what came of it; return how many are left. Raises ChainError.

    Once the final blocks have passed a transaction's last height, what they say is for good. That no block has it is believed if every
    node says so: its claim is free then, and another transaction may pay the same.
    """
    rows = list(SponsoredTransaction.objects.filter(chain=spec.name, outcome=Outcome.OPEN).order_by("pk"))
    if not rows:
        return 0
    final = endings.final_height(pool)
    for row in rows:
        if final > row.last_height:
            _conclude(row, pool)
        elif (so_far := sending.result_so_far(pool, row.tx_hash)) is None:
            sending.send(pool, bytes(row.signed))
        elif so_far:
            _end(row, succeeded=True)
    return SponsoredTransaction.objects.filter(chain=spec.name, outcome=Outcome.OPEN).count()


def _conclude(row: SponsoredTransaction, pool: RpcPool) -> None:
    """End what no later block takes; it stays open while nodes know too little."""
    try:
        succeeded = endings.last_result(pool, row.tx_hash, last_height=row.last_height)
        is_known = succeeded is not None or endings.is_lost(pool, row.tx_hash, endings.above(row.last_height))
    except ChainError as error:
        # All nodes are asked: one that does not answer must not stop other payers' transactions.
        log.warning("a sponsored transaction may be lost", pk=row.pk, error=str(error))
        return
    if is_known:
        _end(row, succeeded)


def _end(row: SponsoredTransaction, succeeded: bool | None) -> None:
    if succeeded:
        changed: dict[str, object] = {"outcome": Outcome.DONE}
    elif succeeded is None:
        # No block has it, and none can: it cost nothing, and may be asked for again.
        changed = {"outcome": Outcome.FAILED, "fee": 0, "reference": f"{row.reference}/{row.pk}"}
    else:
        changed = {"outcome": Outcome.FAILED}
    SponsoredTransaction.objects.filter(pk=row.pk, outcome=Outcome.OPEN).update(**changed)
