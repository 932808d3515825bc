"""A terminal's day: its sales and sums, in the merchant's time zone. A sale belongs to the day on which it was made."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Any, Final

from django.db.models import Case, Count, DecimalField, F, Q, QuerySet, Sum, When
from django.db.models.functions import Coalesce

from checkouts.models import Checkout, Payment, Terminal, TerminalSale
from checkouts.models.checkouts import SUM_DIGITS
from checkouts.states import CheckoutException, CheckoutStatus
from gateway.core.currencies import readable_price, round_price
from gateway.core.money import TOKEN_DECIMALS, readable_units
from gateway.core.times import midnight
from gateway.core.web.badges import Badge
from wallets.networks import chain_spec
from wallets.states import TransferState

MOST_ROWS: Final = 500
"""How many sales a sheet lists; its sums are of all."""

_IN_TIME: Final = Q(checkout__status=CheckoutStatus.COMPLETED) & ~Q(checkout__exception=CheckoutException.REVERSED)
# A person accepted its money after its time: the successor of its checkout has it.
_ACCEPTED: Final = Q(checkout__replaced_by__status=CheckoutStatus.COMPLETED) & ~Q(
    checkout__replaced_by__exception=CheckoutException.REVERSED
)
_PAID: Final = _IN_TIME | _ACCEPTED
# What a person took as full payment, in USD; null where that is the price.
_TAKEN: Final = Coalesce(F("checkout__replaced_by__accepted_amount"), F("checkout__accepted_amount"))
# What a sale brought, in its price's currency: of less money, the same part of the price. Its quote is that price in USD, so no other
# rate is used.
_BROUGHT: Final = Case(
    When(checkout__price=None, then=Coalesce(_TAKEN, F("checkout__amount"))),
    default=Coalesce(F("checkout__price") * _TAKEN / F("checkout__amount"), F("checkout__price")),
    output_field=DecimalField(max_digits=SUM_DIGITS, decimal_places=TOKEN_DECIMALS),
)
# From a payment: the sale that it paid in time, and the one that it paid through a successor.
_SALES: Final = ("checkout__terminal_sale", "checkout__replaces__terminal_sale")
_REVERSED: Final = Badge("Reversed", "warn")
_WORDS: Final = {
    CheckoutStatus.PENDING: Badge("Waiting", ""),
    CheckoutStatus.PROCESSING: Badge("Confirming", ""),
    CheckoutStatus.UNDERPAID: Badge("Part paid", "warn"),
    CheckoutStatus.COMPLETED: Badge("Paid", "ok"),
    CheckoutStatus.EXPIRED: Badge("Not paid", ""),
}


@dataclass(frozen=True, slots=True)
class ShownSale:
    """A sale as a list shows it. `amount` and `tip` are formatted and in `currency`; `tip` is empty for none."""

    public_id: str
    made_at: datetime
    amount: str
    tip: str
    currency: str
    badge: Badge
    is_by_customer: bool


@dataclass(frozen=True, slots=True)
class TokenSum:
    """What paid sales brought on one network in one token; `received` is formatted for people."""

    network: str
    token: str
    count: int
    received: str


@dataclass(frozen=True, slots=True)
class CurrencySum:
    """The paid sales that were priced in one currency. `total` and `tips` are in it; `tips` are a part of `total`."""

    currency: str
    paid: int
    total: Decimal
    tips: Decimal

    @property
    def net(self) -> Decimal:
        """Return the paid sales without their tips."""
        return self.total - self.tips

    @property
    def shown(self) -> tuple[str, str, str]:
        """Return the sales without tips, the tips and the total for people, in the currency's decimals."""
        net, tips, total = (readable_price(one, self.currency) for one in (self.net, self.tips, self.total))
        return net, tips, total


@dataclass(frozen=True, slots=True)
class TerminalDay:
    """A day of a terminal. `sums` begin with the terminal's own currency; another is there if sales of the day were priced in it."""

    day: date
    zone: str
    sales: Sequence[ShownSale]
    made: int
    sums: Sequence[CurrencySum]
    networks: Sequence[TokenSum]

    @property
    def is_cut(self) -> bool:
        """Whether there are more sales than are listed."""
        return self.made > len(self.sales)

    @property
    def paid(self) -> int:
        """Return the number of paid sales."""
        return sum(one.paid for one in self.sums)


def badge_of(checkout: Checkout) -> Badge:
    """Return the status of a sale in a word; `Accepted` if a person took the money after it had ended unpaid."""
    successor = getattr(checkout, "replaced_by", None)
    if successor is not None:
        return _REVERSED if successor.exception == CheckoutException.REVERSED else Badge("Accepted", "ok")
    if checkout.cancelled_at is not None:
        return Badge("Cancelled", "")
    if checkout.exception == CheckoutException.REVERSED:
        return _REVERSED
    return _WORDS[CheckoutStatus(checkout.status)]


def shown_sales(sales: Sequence[TerminalSale]) -> list[ShownSale]:
    """Return sales, whose checkouts and their successors are loaded, as lists show them."""
    return [
        ShownSale(
            public_id=sale.checkout.public_id,
            made_at=sale.created_at,
            amount=readable_price(sale.checkout.asked_amount, sale.checkout.currency),
            tip=readable_price(sale.tip, sale.checkout.currency) if sale.tip else "",
            currency=sale.checkout.currency,
            badge=badge_of(sale.checkout),
            is_by_customer=sale.is_by_customer,
        )
        for sale in sales
    ]


def day_of_terminal(terminal: Terminal, day: date, zone: tzinfo) -> TerminalDay:
    """Return a terminal's day in a time zone."""
    made = TerminalSale.objects.filter(terminal=terminal, **_between("created_at", day, zone))
    newest = made.select_related("checkout__replaced_by").order_by("-created_at", "-pk")[:MOST_ROWS]
    return TerminalDay(
        day=day,
        zone=str(zone),
        sales=shown_sales(list(newest)),
        made=made.count(),
        sums=_sums(terminal, made),
        networks=_networks(terminal, day, zone),
    )


def _sums(terminal: Terminal, made: QuerySet[TerminalSale]) -> list[CurrencySum]:
    grouped = made.values_list("checkout__currency").annotate(
        paid=Count("pk", filter=_PAID), total=Sum(_BROUGHT, filter=_PAID), tips=Sum("tip", filter=_PAID)
    )
    none = CurrencySum(terminal.currency, 0, Decimal(0), Decimal(0))
    found = {terminal.currency: none}
    for currency, paid, total, tips in grouped.order_by("checkout__currency"):
        found[currency] = CurrencySum(currency, paid, round_price(total or Decimal(0), currency), tips or Decimal(0))
    return list(found.values())


def _networks(terminal: Terminal, day: date, zone: tzinfo) -> list[TokenSum]:
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    # One query for each, so that both go from the sales to their payments by indexes.
    for sale in _SALES:
        of_day = {f"{sale}__terminal": terminal} | _between(f"{sale}__created_at", day, zone)
        credited = Payment.objects.filter(checkout__status=CheckoutStatus.COMPLETED, **of_day)
        # What the network left of a reversed sale is in no sum.
        standing = credited.exclude(checkout__exception=CheckoutException.REVERSED).exclude(
            transfer__state=TransferState.ORPHANED
        )
        grouped = standing.values_list("transfer__chain", "transfer__token").annotate(
            Count("checkout", distinct=True), Sum("transfer__units")
        )
        for chain, token, count, units in grouped:
            others, brought = sums.get((chain, token), (0, 0))
            sums[chain, token] = (others + count, brought + int(units))
    return [
        TokenSum(chain_spec(chain).title, token, count, readable_units(units))
        for (chain, token), (count, units) in sorted(sums.items())
    ]


def _between(field: str, day: date, zone: tzinfo) -> dict[str, Any]:
    """Return the filter of a day's moments in a time zone."""
    return {f"{field}__gte": midnight(day, zone), f"{field}__lt": midnight(day + timedelta(days=1), zone)}
