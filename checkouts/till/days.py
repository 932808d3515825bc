"""A terminal's day: its sales and sums, in the merchant's time zone. A sale belongs to the day on which it was made."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Any, Final

from django.db.models import Count, F, Q, Sum
from django.db.models.functions import Coalesce

from checkouts.models import Checkout, Payment, Terminal, TerminalSale
from checkouts.states import CheckoutException, CheckoutStatus
from gateway.core.money import CENT, readable_units
from gateway.core.times import midnight
from gateway.core.web.badges import Badge
from wallets.networks import chain_spec
from wallets.states import TransferState

MOST_ROWS: Final = 500
"""How many sales a sheet lists; its sums are of all."""

_PAID: Final = Q(checkout__status=CheckoutStatus.COMPLETED) & ~Q(checkout__exception=CheckoutException.REVERSED)
_WORDS: Final = {
    CheckoutStatus.PENDING: Badge("Waiting", ""),
    CheckoutStatus.PROCESSING: Badge("Confirming", ""),
    CheckoutStatus.UNDERPAID: Badge("Part paid", "warn"),
    CheckoutStatus.COMPLETED: Badge("Paid", "ok"),
    CheckoutStatus.EXPIRED: Badge("Not paid", ""),
}


@dataclass(frozen=True, slots=True)
class ShownSale:
    """A sale as a list shows it; amounts are in USD."""

    public_id: str
    made_at: datetime
    amount: Decimal
    tip: Decimal
    badge: Badge
    is_by_customer: bool


@dataclass(frozen=True, slots=True)
class NetworkSum:
    """What paid sales brought on one network in one token; `received` is formatted for people."""

    network: str
    token: str
    count: int
    received: str


@dataclass(frozen=True, slots=True)
class Day:
    """A day of a terminal. `total` and `tips` are of paid sales, in USD; `tips` are a part of `total`."""

    day: date
    zone: str
    sales: Sequence[ShownSale]
    made: int
    paid: int
    total: Decimal
    tips: Decimal
    networks: Sequence[NetworkSum]

    @property
    def is_cut(self) -> bool:
        """Whether there are more sales than are listed."""
        return self.made > len(self.sales)

    @property
    def net(self) -> Decimal:
        """Return the paid sales without their tips."""
        return self.total - self.tips


def badge_of(checkout: Checkout) -> Badge:
    """Return the status of a sale in a word."""
    if checkout.cancelled_at is not None:
        return Badge("Cancelled", "")
    if checkout.exception == CheckoutException.REVERSED:
        return Badge("Reversed", "warn")
    return _WORDS[CheckoutStatus(checkout.status)]


def shown_sales(sales: Sequence[TerminalSale]) -> list[ShownSale]:
    """Return sales, whose checkouts are loaded, as lists show them."""
    return [
        ShownSale(
            public_id=sale.checkout.public_id,
            made_at=sale.created_at,
            amount=sale.checkout.amount,
            tip=sale.tip,
            badge=badge_of(sale.checkout),
            is_by_customer=sale.is_by_customer,
        )
        for sale in sales
    ]


def day_of_terminal(terminal: Terminal, day: date, zone: tzinfo) -> Day:
    """Return a terminal's day in a time zone."""
    made = TerminalSale.objects.filter(terminal=terminal, **_between("created_at", day, zone))
    sums = made.aggregate(
        made=Count("pk"),
        paid=Count("pk", filter=_PAID),
        total=Sum(Coalesce(F("checkout__accepted_amount"), F("checkout__amount")), filter=_PAID),
        tips=Sum("tip", filter=_PAID),
    )
    newest = made.select_related("checkout").order_by("-created_at", "-pk")[:MOST_ROWS]
    return Day(
        day=day,
        zone=str(zone),
        sales=shown_sales(list(newest)),
        made=sums["made"],
        paid=sums["paid"],
        total=(sums["total"] or Decimal(0)).quantize(CENT),
        tips=sums["tips"] or Decimal(0),
        networks=_networks(terminal, day, zone),
    )


def _networks(terminal: Terminal, day: date, zone: tzinfo) -> list[NetworkSum]:
    credited = Payment.objects.filter(
        checkout__terminal_sale__terminal=terminal,
        checkout__status=CheckoutStatus.COMPLETED,
        **_between("checkout__terminal_sale__created_at", day, zone),
    )
    standing = credited.exclude(transfer__state=TransferState.ORPHANED)
    grouped = standing.values_list("transfer__chain", "transfer__token").annotate(
        Count("checkout", distinct=True), Sum("transfer__units")
    )
    return [
        NetworkSum(chain_spec(chain).title, token, count, readable_units(units))
        for chain, token, count, units in grouped.order_by("transfer__chain", "transfer__token")
    ]


def _between(field: str, day: date, zone: tzinfo) -> dict[str, Any]:
    """Return the filter of a day's moments in a time zone."""
    return {f"{field}__gte": midnight(day, zone), f"{field}__lt": midnight(day + timedelta(days=1), zone)}
