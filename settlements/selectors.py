"""The state of gas accounts, forwarders and books, for operators."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce

from settlements.gas.fees import COIN, gas_policy
from settlements.models import BookCheck, GasAccount, GasTransaction, TroubledForwarder
from settlements.states import ON_THEIR_WAY


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


def troubled_forwarders() -> dict[str, int]:
    """Return, by chain, how many forwarders failed so often that a person must look."""
    rows = TroubledForwarder.objects.filter(failures__gte=TroubledForwarder.MOST_FAILURES)
    counted = rows.values_list("chain").annotate(Count("pk")).order_by("chain")
    return dict(counted)


def book_checks() -> list[BookCheck]:
    """Return the result of each chain's last comparison."""
    return list(BookCheck.objects.order_by("chain"))
