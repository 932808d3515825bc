"""The state of gas accounts, forwarders and books, for operators."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from settlements.gas.fees import COIN, LAMPORTS, gas_policy
from settlements.models import BookCheck, GasAccount, GasTransaction, SponsoredTransaction, TroubledForwarder
from settlements.states import ON_THEIR_WAY, Outcome, Purpose, TransactionState
from wallets.disruptions import Disruption, DisruptionKind

_MOST_LISTED: Final = 100
_COST: Final = Coalesce("cost_wei", "most_wei")


@dataclass(frozen=True, slots=True)
class GasHealth:
    """One gas account. `coins` is None until read; `waiting_since` is when its oldest open transaction was stored.

    `is_doubtful` says that nodes reported an implausible nonce within about a day.
    """

    chain: str
    address: str
    coins: Decimal | None
    is_low: bool
    is_doubtful: bool
    open: int
    waiting_since: datetime | None


def gas_health() -> list[GasHealth]:
    """Return every gas account ever used, by chain and address."""
    # Of the open ones there is an index; all that an account ever sent are many.
    waiting = GasTransaction.objects.filter(account=OuterRef("pk"), state__in=ON_THEIR_WAY)
    counted = waiting.values("account").annotate(count=Count("pk"))
    rows = GasAccount.objects.annotate(
        open=Coalesce(Subquery(counted.values("count")), 0),
        waiting_since=Subquery(waiting.order_by("created_at").values("created_at")[:1]),
    )
    return [
        GasHealth(
            chain=row.chain,
            address=row.address,
            coins=None if row.balance_wei is None else row.balance_wei / COIN,
            is_low=row.balance_wei is not None
            and row.retired_at is None
            and row.balance_wei < gas_policy(row.chain).low,
            is_doubtful=row.doubt_told_at is not None,
            open=row.open,
            waiting_since=row.waiting_since,
        )
        for row in rows.order_by("chain", "address")
    ]


def low_gas(*, chains: Iterable[str] | None = None) -> list[Disruption]:
    """Return the chains on which the coins of a gas account in use are nearly used up: of all accounts, if `chains` are named.

    Several accounts share the work. While one of them can pay, nothing waits on its chain, so that only operators need to know.
    """
    rows = GasAccount.objects.filter(balance_wei__isnull=False, retired_at=None).order_by("chain", "balance_at")
    if chains is not None:
        rows = rows.filter(chain__in=list(chains))
    low: dict[str, Disruption] = {}
    able: set[str] = set()
    for row in rows:
        if row.balance_wei is not None and row.balance_wei < gas_policy(row.chain).low:
            known = low.get(row.chain)
            since = known.since if known else row.low_told_at
            count = known.affected + 1 if known else 1
            low[row.chain] = Disruption(DisruptionKind.GAS_LOW, row.chain, since, affected=count)
        else:
            able.add(row.chain)
    return [one for chain, one in low.items() if chains is None or chain not in able]


@dataclass(frozen=True, slots=True)
class GasSpent:
    """What transactions of one purpose cost on a chain, for one merchant; "" for several, or none."""

    chain: str
    purpose: Purpose
    merchant: str
    count: int
    failed: int
    coins: Decimal


def gas_spent(*, since: datetime) -> list[GasSpent]:
    """Return what was spent since then by chain, purpose and merchant, the most first; pending ones count with their maximum."""
    failed = Q(succeeded=False) | Q(outcome=Outcome.FAILED)
    rows = (
        _sent(since)
        .values("account__chain", "purpose", "merchant__name")
        .annotate(count=Count("pk"), failed=Count("pk", filter=failed), wei=Sum(_COST))
        .order_by("account__chain", "-wei")
    )
    return [
        GasSpent(
            chain=row["account__chain"],
            purpose=Purpose(row["purpose"]),
            merchant=row["merchant__name"] or "",
            count=row["count"],
            failed=row["failed"],
            coins=row["wei"] / COIN,
        )
        for row in rows[:_MOST_LISTED]
    ] + _spent_on_solana(since)


def _spent_on_solana(since: datetime) -> list[GasSpent]:
    failed = Count("pk", filter=Q(outcome=Outcome.FAILED, fee__gt=0))
    rows = (
        _sponsored(since)
        .values("chain", "merchant__name")
        .annotate(count=Count("pk"), failed=failed, lamports=Sum("fee"))
    )
    return [
        GasSpent(
            chain=row["chain"],
            purpose=Purpose.RELAY,
            merchant=row["merchant__name"],
            count=row["count"],
            failed=row["failed"],
            coins=Decimal(row["lamports"]) / LAMPORTS,
        )
        for row in rows.order_by("chain", "-lamports")[:_MOST_LISTED]
    ]


def gas_costs(*, since: datetime) -> list[tuple[str, str, Decimal]]:
    """Return what was spent since then by chain and purpose, in the chains' coins."""
    rows = _sent(since).values_list("account__chain", "purpose").annotate(wei=Sum(_COST))
    costs = [(chain, purpose, wei / COIN) for chain, purpose, wei in rows.order_by("account__chain", "purpose")]
    sponsored = _sponsored(since).values_list("chain").annotate(lamports=Sum("fee")).order_by("chain")
    return costs + [(chain, Purpose.RELAY.value, Decimal(lamports) / LAMPORTS) for chain, lamports in sponsored]


def _sponsored(since: datetime) -> QuerySet[SponsoredTransaction]:
    return SponsoredTransaction.objects.filter(created_at__gte=since)


def _sent(since: datetime) -> QuerySet[GasTransaction]:
    return GasTransaction.objects.filter(created_at__gte=since).exclude(state=TransactionState.DROPPED)


def relays(*, since: datetime) -> list[tuple[str, str, int]]:
    """Return how many signed transfers were sent since then, by chain and outcome."""
    rows = GasTransaction.objects.filter(purpose=Purpose.RELAY, created_at__gte=since)
    counted = rows.values_list("account__chain", "outcome").annotate(Count("pk"))
    sponsored = _sponsored(since).values_list("chain", "outcome").annotate(Count("pk")).order_by("chain", "outcome")
    return [*counted.order_by("account__chain", "outcome"), *sponsored]


def troubled_forwarders() -> dict[str, int]:
    """Return, by chain, how many forwarders failed so often that a person must look."""
    rows = TroubledForwarder.objects.filter(failures__gte=TroubledForwarder.MOST_FAILURES)
    counted = rows.values_list("chain").annotate(Count("pk")).order_by("chain")
    return dict(counted)


def book_checks() -> list[BookCheck]:
    """Return the result of each chain's last comparison."""
    return list(BookCheck.objects.order_by("chain"))
