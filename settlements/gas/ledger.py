"""The ledger of gas accounts' nonces: each transaction gets a nonce, is signed and stored before it is sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import floor
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import Count, F, Max, Q, QuerySet, Sum

from settlements.errors import NoCoinError, NoGasError
from settlements.gas.fees import Fees, GasPolicy, Prices, first_fees, gas_policy
from settlements.gas.keys import Draft, GasKey, gas_keys
from settlements.gas.node import GasNode
from settlements.gas.nonces import first_nonce
from settlements.models import GasAccount, GasAttempt, GasSpan, GasTransaction, SponsoredTransaction
from settlements.states import ON_THEIR_WAY, Outcome, Purpose, TransactionState
from wallets.networks import chain_spec

_DAY: Final = timedelta(days=1)

COSTS: Final = "COALESCE(sum(COALESCE(t.cost_wei, t.most_wei)), 0)::text"
"""SQL for the cost of transactions `t` in wei; pending ones count with their maximum."""

# As in the trigger that inserts these rows.
_SPAN_SECONDS: Final = 600

RAW_KEPT: Final = timedelta(days=90)
"""How long signed bytes of used nonces are kept: longer than any reorg."""

SPANS_KEPT: Final = timedelta(days=7)
"""How long sums of gas are kept; the limits need one day."""

_BATCH: Final = 1_000
_USED: Final = (TransactionState.MINED, TransactionState.DROPPED)


@dataclass(frozen=True, slots=True)
class GasCall:
    """A contract call: to `to` (EIP-55) with `data`, for at most `gas_limit` gas.

    `sender` is the only gas account that may send it, retired or not; "" for any that is in use.
    """

    to: str
    data: bytes
    gas_limit: int
    sender: str = ""


@dataclass(frozen=True, slots=True)
class Signer:
    """Who authorised a call (EIP-55), and the merchant whose business it is."""

    merchant_id: int
    payer: str


def intend(
    chain: str,
    call: GasCall,
    *,
    purpose: Purpose,
    reference: str,
    node: GasNode,
    now: datetime,
    expires_at: datetime | None = None,
    signed_by: Signer | None = None,
) -> GasTransaction:
    """Assign a nonce to a call, sign it and store it; nothing is sent. From `expires_at` on the call would revert.

    `signed_by` is who authorised the call, and for which merchant: its cost counts as theirs.

    Idempotent by purpose and `reference`, until the transaction is dropped. Raises NoGasError, and ChainError if no node
    reports gas prices, for a known reference too.
    """
    keys = gas_keys()
    if not keys:
        raise NoGasError("there is no gas key")
    policy = gas_policy(chain)
    fees = _fees(chain, node.prices(), policy)
    open_accounts(chain, node=node)
    with transaction.atomic():
        accounts = _locked(chain, keys, call.sender)
        if known := find(purpose, reference):
            return known
        if call.sender:
            accounts = [one for one in accounts if one.address == call.sender]
        if not accounts:
            raise NoGasError(
                f"{call.sender or 'every gas account'} on {chain} is {'unusable' if call.sender else 'retired'}"
            )
        cost = call.gas_limit * fees.max_fee
        _refuse_overspending(chain, cost, policy, now)
        account = _payer(accounts, cost)
        made = _Made(purpose, reference, expires_at, signed_by)
        return _write(account, call, fees, made, now)


def write_attempt(gas_transaction: GasTransaction, fees: Fees, *, number: int, now: datetime) -> GasAttempt:
    """Sign and store another attempt of a transaction. The caller holds its lock, or created it. Raises NoGasError."""
    account = gas_transaction.account
    key = gas_keys().get(account.address)
    if key is None:
        raise NoGasError(f"the key of {account.address} is not here any more")
    signed = key.sign(
        Draft(
            chain_id=_chain_id(account.chain),
            nonce=gas_transaction.nonce,
            to=gas_transaction.to,
            data=bytes(gas_transaction.data),
            gas_limit=gas_transaction.gas_limit,
            fees=fees,
        )
    )
    most_wei = gas_transaction.gas_limit * fees.max_fee
    if gas_transaction.most_wei != most_wei:
        gas_transaction.most_wei = Decimal(most_wei)
        gas_transaction.save(update_fields=["most_wei"])
    return GasAttempt.objects.create(
        transaction=gas_transaction,
        number=number,
        tx_hash=signed.tx_hash,
        raw=signed.raw,
        max_fee=fees.max_fee,
        priority_fee=fees.priority_fee,
        signed_at=now,
    )


# Whole spans as stored, and the rows of the first one, of which a part counts.
_SPENT: Final = """
    SELECT sum(part.wei)::text FROM (
        SELECT COALESCE(sum(s.wei), 0) AS wei
        FROM settlements_gasspan s JOIN settlements_gasaccount g ON g.id = s.account_id
        WHERE g.chain = %(chain)s AND s.begins_at >= %(whole)s::timestamptz
        UNION ALL
        SELECT COALESCE(sum(COALESCE(t.cost_wei, t.most_wei)), 0)
        FROM settlements_gastransaction t JOIN settlements_gasaccount g ON g.id = t.account_id
        WHERE g.chain = %(chain)s AND t.state <> 'dropped'
          AND t.created_at >= %(since)s::timestamptz AND t.created_at < %(whole)s::timestamptz
    ) AS part
"""


def spent_since(chain: str, moment: datetime) -> int:
    """Return the cost of a chain's transactions since then, in wei; pending ones count with their maximum."""
    parameters: dict[str, Any] = {"chain": chain, "since": moment, "whole": _first_whole_span(moment)}
    with connection.cursor() as cursor:
        cursor.execute(_SPENT, parameters)
        return int(cursor.fetchone()[0])


def _first_whole_span(moment: datetime) -> datetime:
    before = floor(moment.timestamp()) // _SPAN_SECONDS * _SPAN_SECONDS
    return datetime.fromtimestamp(before + _SPAN_SECONDS, UTC)


def affordable_gas(chain: str, prices: Prices, *, now: datetime) -> int:
    """Return how much gas a transaction may use within the rest of the daily limit; negative if none."""
    policy = gas_policy(chain)
    fees = first_fees(prices, most=policy.max_fee)
    most = policy.max_fee if fees is None else fees.max_fee
    return (policy.daily - spent_since(chain, now - _DAY)) // max(most, 1)


def most_fee(made: GasTransaction, gas_limit: int, *, now: datetime) -> int:
    """Return the highest fee that another attempt of a pending transaction may pay for so much gas, in wei.

    It is within GAS_MAX_GWEI, and within what the day has left beside what this transaction may cost already (GAS_DAILY_COINS).
    """
    chain, since = made.account.chain, now - _DAY
    policy = gas_policy(chain)
    counted = made.most_wei if made.cost_wei is None else made.cost_wei
    left = policy.daily - spent_since(chain, since) + (int(counted) if made.created_at >= since else 0)
    return min(policy.max_fee, max(left, 0) // gas_limit)


def lock_day(chain: str) -> None:
    """Let one at a time add to a chain's day of gas, until the end of this database transaction. Its transactions are locked later."""
    accounts = GasAccount.objects.select_for_update(no_key=True).filter(chain=chain).order_by("pk")
    list(accounts.values_list("pk", flat=True))


def find(purpose: Purpose, reference: str) -> GasTransaction | None:
    """Return the transaction with a reference; None if there is none, or it was dropped."""
    rows = GasTransaction.objects.select_related("account")
    return rows.filter(purpose=purpose, reference=reference).exclude(state=TransactionState.DROPPED).first()


def addresses_in_use(chain: str) -> list[str]:
    """Return the addresses of GAS_KEYS that are not retired on a chain, in the order of their keys."""
    retired = GasAccount.objects.filter(chain=chain).exclude(retired_at=None)
    left_out = set(retired.values_list("address", flat=True))
    return [address for address in gas_keys() if address not in left_out]


def open_accounts(chain: str, *, node: GasNode) -> None:
    """Create the accounts of new keys, with their next nonce from the chain.

    After a restore each nonce is read again (`forget_nonces`), and is above those of our own transactions. Raises
    NoGasError if nodes disagree, and ChainError.
    """
    keys = gas_keys()
    present = GasAccount.objects.filter(chain=chain, address__in=keys)
    ready = set(present.exclude(next_nonce=None).values_list("address", flat=True))
    for address in sorted(set(keys) - ready):
        account, _ = GasAccount.objects.get_or_create(chain=chain, address=address)
        mined = first_nonce(address, node=node)
        last = account.transactions.aggregate(last=Max("nonce"))["last"]
        GasAccount.objects.filter(pk=account.pk, next_nonce=None).update(
            next_nonce=mined if last is None else max(mined, last + 1)
        )


def forget_nonces() -> int:
    """Block all accounts until their chain's nodes agree on the next nonce; return how many there are."""
    return GasAccount.objects.update(next_nonce=None)


def _locked(chain: str, keys: Mapping[str, GasKey], sender: str) -> Sequence[GasAccount]:
    """Lock the accounts in use, and `sender`: what its payers signed before it was retired is carried out by no other."""
    rows = GasAccount.objects.select_for_update(no_key=True).order_by("pk")
    ready = rows.filter(Q(retired_at=None) | Q(address=sender), next_nonce__isnull=False)
    return list(ready.filter(chain=chain, address__in=keys))


def _payer(accounts: Sequence[GasAccount], cost: int) -> GasAccount:
    """Return the account with the fewest pending transactions that can pay: a stuck one delays only its own.

    Raises NoGasError if none has enough coin.
    """
    pending = {
        account: (number, wei)
        for account, number, wei in GasTransaction.objects.filter(account__in=accounts, state__in=ON_THEIR_WAY)
        .values_list("account")
        .annotate(Count("pk"), Sum("most_wei"))
    }
    none = (0, Decimal(0))
    able = [
        one for one in accounts if one.balance_wei is None or one.balance_wei >= pending.get(one.pk, none)[1] + cost
    ]
    if not able:
        one = accounts[0]
        raise NoCoinError(f"{one.address} has too little coin on {one.chain}")
    return min(able, key=lambda one: (pending.get(one.pk, none)[0], one.pk))


def refuse_unpayable(accounts: Sequence[GasAccount], gas: int, prices: Prices, *, now: datetime) -> None:
    """Raise NoGasError if none of a chain's accounts may pay for a transaction with so much gas, as far as is known."""
    if not accounts:
        raise NoGasError("there is no gas account in use")
    chain = accounts[0].chain
    policy = gas_policy(chain)
    cost = gas * _fees(chain, prices, policy).max_fee
    _refuse_overspending(chain, cost, policy, now)
    _payer(accounts, cost)


def _fees(chain: str, prices: Prices, policy: GasPolicy) -> Fees:
    fees = first_fees(prices, most=policy.max_fee)
    if fees is None:
        raise NoGasError(f"gas on {chain} costs more than GAS_MAX_GWEI allows")
    return fees


def _refuse_overspending(chain: str, cost: int, policy: GasPolicy, now: datetime) -> None:
    if spent_since(chain, now - _DAY) + cost > policy.daily:
        raise NoGasError(f"the day's gas on {chain} is spent (GAS_DAILY_COINS)")


@dataclass(frozen=True, slots=True)
class _Made:
    """What a new transaction is for."""

    purpose: Purpose
    reference: str
    expires_at: datetime | None
    signed_by: Signer | None


def _write(account: GasAccount, call: GasCall, fees: Fees, what: _Made, now: datetime) -> GasTransaction:
    nonce = account.next_nonce
    if nonce is None:
        raise NoGasError(f"the nonce of {account.address} is not known")
    made = GasTransaction.objects.create(
        account=account,
        nonce=nonce,
        purpose=what.purpose,
        reference=what.reference,
        expires_at=what.expires_at,
        merchant_id=what.signed_by.merchant_id if what.signed_by else None,
        payer=what.signed_by.payer if what.signed_by else "",
        to=call.to,
        data=call.data,
        gas_limit=call.gas_limit,
        most_wei=call.gas_limit * fees.max_fee,
        created_at=now,
    )
    write_attempt(made, fees, number=1, now=now)
    GasAccount.objects.filter(pk=account.pk).update(next_nonce=F("next_nonce") + 1)
    return made


def _chain_id(chain: str) -> int:
    chain_id = chain_spec(chain).chain_id
    if chain_id is None:
        raise NoGasError(f"{chain} has no gas accounts")
    return chain_id


def open_transactions(chain: str) -> QuerySet[GasTransaction]:
    """Return a chain's pending transactions, lowest nonce first."""
    found = GasTransaction.objects.filter(Q(account__chain=chain, state__in=ON_THEIR_WAY))
    return found.select_related("account").order_by("account", "nonce")


def prune_raw(*, now: datetime) -> int:
    """Clear the signed bytes of attempts older than 90 days with used nonces; return how many.

    What was called, its hash and what it cost stay.
    """
    old = GasAttempt.objects.filter(signed_at__lt=now - RAW_KEPT, transaction__state__in=_USED).exclude(raw=b"")
    pruned = 0
    while keys := list(old.order_by("signed_at").values_list("pk", flat=True)[:_BATCH]):
        pruned += GasAttempt.objects.filter(pk__in=keys).update(raw=b"")
    return pruned


def prune_sponsored(*, now: datetime) -> int:
    """Clear the signed bytes of payers' transactions that ended 90 days ago; return how many. Hash and cost stay."""
    old = SponsoredTransaction.objects.filter(created_at__lt=now - RAW_KEPT).exclude(outcome=Outcome.OPEN)
    return old.exclude(signed=b"").update(signed=b"")


def prune_spans(*, now: datetime) -> int:
    """Delete sums older than a week; return how many."""
    pruned, _ = GasSpan.objects.filter(begins_at__lt=now - SPANS_KEPT).delete()
    return pruned
