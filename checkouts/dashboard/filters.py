"""The filters of the list of checkouts: tabs, chips, and the form's fields. All of them are in the page's address."""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import reduce
from types import MappingProxyType
from typing import Any, Final

from django import forms
from django.conf import settings
from django.db.models import Max, Min, Q, QuerySet, TextChoices
from django.utils.module_loading import import_string
from django.utils.translation import gettext, gettext_noop, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from accounts.merchants.time_zones import zone_of
from accounts.states import Mode
from accounts.team.access import Seat
from checkouts.customers import Customer, checkouts_of, named_customer
from checkouts.dashboard.words import TABS
from checkouts.models import Checkout, DailyTotal, Payment, TerminalSale
from checkouts.search import MOST_FOUND, amount_in, matching_keys, priced_within, searchable
from checkouts.states import LIVE, CheckoutException, CustomerKind, EscrowStatus
from gateway.core.times import today_in
from gateway.core.web.lists import (
    FilterChoice,
    FilterDay,
    FilterForm,
    HiddenChoice,
    NamedDays,
    SearchText,
    Times,
    span_of,
    times_of,
)
from settlements.models import Hold
from wallets.networks import chain_choices, token_choices
from wallets.transfers.doubts import doubted_transfers

SIZES: Final = (25, 50, 100)


class OutcomeFilter(TextChoices):
    """What became of a checkout beside its status."""

    OVERPAID = "overpaid", pgettext_lazy("team", "Overpaid")
    PART_PAID = "underpaid", _("Part paid")
    REVERSED = "reversed", _("Reversed")
    CANCELLED = "cancelled", _("Cancelled")
    REFUNDED = "refunded", _("Refunded")


PAID: Final = "paid"
_RANGE: Final = re.compile(r"(.+?)\s*(?:-|\u2013|to)\s*(.+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that one click sets, or removes if it `is_current`."""

    label: str
    url: str
    is_current: bool


class CheckoutFilters(FilterForm[Checkout]):
    """The filters of the list: a tab, a search, what became of checkouts, money, customer, link, days.

    `escrow` is set for checkouts in escrow that wait for a release, `doubt` for those with payments in doubt on a halted
    chain, `offers` for those that are open and offer a chain. Days are of creation or, with `by`, of payment, in the merchant's time zone. `size` is the number of rows on a page.
    After `filter`, `is_cut` says that a text was found in more checkouts than are searched for the rest.
    """

    tabbed_by = "status"
    parameters = MappingProxyType({"since": "from", "until": "to"})

    status = HiddenChoice(TABS)
    outcome = HiddenChoice([("", ""), *OutcomeFilter.choices])
    q = SearchText(_("Search"), longest=1000, **{"aria-describedby": "filter-help"})
    chain = FilterChoice(_("Paid on"), chain_choices, everything=_("Any network"))
    token = FilterChoice(_("Token"), token_choices, everything=_("Any token"))
    amount = SearchText(
        _("Amount"), longest=40, id="filter-amount", placeholder=_("80, ~80 or 50-100"), inputmode="decimal"
    )
    customer = SearchText(_("Customer"), longest=254, id="filter-customer")
    link = SearchText(_("Payment link id"), longest=40, id="filter-link")
    terminal = SearchText(_("Terminal id"), longest=40, id="filter-terminal")
    by = FilterChoice(_("Days of"), [(PAID, gettext_noop("Payment"))], everything=_("Creation"))
    days = FilterChoice(_("Days"), NamedDays.choices, everything=_("Any time"))
    since = FilterDay(pgettext_lazy("team", "From"))
    until = FilterDay(pgettext_lazy("team", "To"))
    size = forms.TypedChoiceField(
        label=_("Rows"),
        choices=[(str(size), str(size)) for size in SIZES],
        coerce=int,
        initial=SIZES[0],
        required=False,
    )
    escrow = HiddenChoice([(EscrowStatus.HELD.value, gettext_noop("Held in escrow"))])
    doubt = HiddenChoice(chain_choices)
    offers = HiddenChoice(chain_choices)

    def __init__(self, query: Mapping[str, str], seat: Seat, *, now: datetime) -> None:
        super().__init__(query)
        self.seat = seat
        self.zone = zone_of(seat.merchant)
        self.today = today_in(self.zone, now=now)
        self.is_cut = False

    def clean_size(self) -> int:
        """Return the number of rows."""
        return self.cleaned_data["size"] or SIZES[0]

    @property
    def is_narrowed(self) -> bool:
        """Whether any filter besides the tab applies; the number of rows and what days are of are none."""
        rest = {self.tabbed_by, "size", "by"}
        return any(value for name, value in self.cleaned_data.items() if name not in rest)

    @property
    def is_folded(self) -> bool:
        """Whether no field of the form is filled in: tabs and chips show what they filter by."""
        shown = ("q", "chain", "token", "amount", "customer", "link", "terminal", "since", "until")
        return not any(self.cleaned_data[name] for name in shown)

    @property
    def span(self) -> tuple[date | None, date | None]:
        """The first and last day; those of the form's own fields come first."""
        given = self.cleaned_data
        if given["since"] or given["until"]:
            return given["since"], given["until"]
        return span_of(NamedDays(given["days"]), self.today) if given["days"] else (None, None)

    @property
    def is_by_payment(self) -> bool:
        """Whether the rows are those paid in some days, newest payment first."""
        return self.cleaned_data["by"] == PAID and self.span != (None, None)

    def filter(self, found: QuerySet[Checkout]) -> QuerySet[Checkout]:
        """Return the checkouts that match, of the merchant and mode."""
        given, seat = self.cleaned_data, self.seat
        if given["status"]:
            found = found.filter(status=given["status"])
        if given["outcome"]:
            found = found.filter(_OUTCOMES[OutcomeFilter(given["outcome"])](seat))
        if self.span != (None, None):
            times = times_of(*self.span, self.zone)
            found = found.filter(_paid_in_times(times) if self.is_by_payment else _made_in_times(seat, times))
        if given["escrow"]:
            found = found.filter(_held(seat), escrow=True)
        if given["doubt"]:
            found = found.filter(pk__in=_doubted(seat, given["doubt"]))
        if given["offers"]:
            found = found.filter(status__in=LIVE, offers__has_key=given["offers"])
        money = {f"transfer__{name}": given[name] for name in ("chain", "token") if given[name]}
        if money:
            found = found.filter(pk__in=_paid_in(seat, **money))
        if given["amount"]:
            found = found.filter(_amounts(given["amount"]))
        if given["customer"]:
            found = found.filter(_of_customer(seat, given["customer"]))
        if given["link"]:
            found = found.filter(pk__in=_with_successors(_of_link(seat, given["link"])))
        if given["terminal"]:
            found = found.filter(pk__in=_with_successors(_of_terminal(seat, given["terminal"])))
        if not given["q"]:
            return found
        keys = matching_keys(seat, given["q"])
        self.is_cut = len(keys) >= MOST_FOUND
        return found.filter(pk__in=keys)

    def chips(self, address: str) -> list[Chip]:
        """Return the chips above the list at an address: times of payment, then what became of checkouts."""
        named = (
            (NamedDays.TODAY, gettext("Paid today")),
            (NamedDays.YESTERDAY, gettext("Paid yesterday")),
            (NamedDays.MONTH, gettext("Paid this month")),
        )
        paid = {label: {"days": day.value, "by": PAID} for day, label in named}
        became = {str(one.label): {"outcome": one.value} for one in OutcomeFilter}
        held = {gettext("Held in escrow"): {"escrow": EscrowStatus.HELD.value}}
        return [self._chip(address, label, wanted) for label, wanted in (paid | became | held).items()]

    def _chip(self, address: str, label: str, wanted: dict[str, str]) -> Chip:
        is_current = wanted.items() <= self.applied().items()
        # A preset takes the place of days that were typed in.
        rest = {"from": "", "to": ""} if "days" in wanted else {}
        changed = dict.fromkeys(wanted, "") if is_current else wanted | rest
        return Chip(label, f"{address}?{self.query(**changed)}", is_current)


def _refunded(seat: Seat) -> Q:
    """Return the checkouts of which money was sent back."""
    return Q(pk__in=_paid_in(seat, transfer__sent_back__returned__gt=0))


_OUTCOMES: Final[Mapping[OutcomeFilter, Callable[[Seat], Q]]] = MappingProxyType(
    {
        OutcomeFilter.OVERPAID: lambda _: Q(exception=CheckoutException.OVERPAID, exception__gt=""),
        OutcomeFilter.PART_PAID: lambda _: Q(exception=CheckoutException.UNDERPAID, exception__gt=""),
        OutcomeFilter.REVERSED: lambda _: Q(exception=CheckoutException.REVERSED, exception__gt=""),
        OutcomeFilter.CANCELLED: lambda _: Q(cancelled_at__isnull=False),
        OutcomeFilter.REFUNDED: _refunded,
    }
)


def _paid_in(seat: Seat, **facts: Any) -> QuerySet[Payment, int]:
    """Return the checkouts that a payment with some facts paid."""
    mine = Payment.objects.filter(transfer__merchant=seat.merchant, transfer__mode=seat.mode, **facts)
    return mine.values_list("checkout", flat=True)


def _amounts(text: str) -> Q:
    """Return the checkouts of an amount, of those near one, or of a range; none if the text is none of these."""
    if one := amount_in(text):
        return reduce(operator.or_, priced_within(one.currency, *one.bounds))
    read = _RANGE.fullmatch(text)
    least, greatest = (amount_in(end) for end in read.groups()) if read else (None, None)
    if least is None or greatest is None:
        return Q(pk__in=[])
    # "50-100 EUR" names the currency of both.
    currency, *others = {least.currency, greatest.currency} - {""} or {""}
    return Q(pk__in=[]) if others else reduce(operator.or_, priced_within(currency, least.value, greatest.value))


def _of_customer(seat: Seat, text: str) -> Q:
    """Return the checkouts of a customer reference, or of an e-mail or paying address."""
    customers = (named_customer(seat, kind, text) for kind in CustomerKind)
    return reduce(operator.or_, (_alike(seat, customer) for customer in customers if customer), Q(pk__in=[]))


def _alike(seat: Seat, customer: Customer) -> Q:
    if customer.kind == CustomerKind.REF:
        return Q(customer_ref=customer.value, customer_ref__gt="")
    return Q(pk__in=checkouts_of(seat, customer).values("pk"))


def _of_link(seat: Seat, text: str) -> Any:
    find: Callable[[int, Mode, str], Any] = import_string(settings.CHECKOUTS_OF_LINK)
    return find(seat.merchant.pk, seat.mode, searchable(text))


def _of_terminal(seat: Seat, text: str) -> QuerySet[TerminalSale, int]:
    """Return the checkouts that were made at a terminal of the merchant and mode."""
    mine = TerminalSale.objects.filter(terminal__merchant=seat.merchant, terminal__mode=seat.mode)
    return mine.filter(terminal__public_id=searchable(text)).values_list("checkout", flat=True)


def _with_successors(keys: QuerySet[Any, int]) -> QuerySet[Any, int]:
    """Return keys of checkouts, and those of the checkouts that took the money of some of them after these had ended unpaid."""
    return keys.union(Checkout.objects.filter(replaces__in=keys).values_list("pk", flat=True))


def _held(seat: Seat) -> Q:
    """Return the checkouts in escrow, and successors that took such a checkout's money."""
    holds = Hold.objects.filter(merchant=seat.merchant, mode=seat.mode, released_at=None).values("subject_id")
    return Q(public_id__in=holds, replaces=None) | Q(replaces__public_id__in=holds)


def _doubted(seat: Seat, chain: str) -> QuerySet[Payment, int]:
    """Return the checkouts with payments in doubt on a chain."""
    ids = doubted_transfers(chain, merchant_id=seat.merchant.pk)
    return Payment.objects.filter(transfer__in=ids).values_list("checkout", flat=True)


def _paid_in_times(times: Times) -> Q:
    """Return the checkouts paid in some times."""
    return Q(paid_at__isnull=False) & times.filter("paid_at")


def _made_in_times(seat: Seat, times: Times) -> Q:
    """Return the checkouts made in some times: by these, and by the key range of their days in the daily totals (UTC)."""
    days = DailyTotal.objects.filter(merchant=seat.merchant, mode=seat.mode)
    if times.since is not None:
        days = days.filter(day__gte=times.since.date())
    if times.until is not None:
        days = days.filter(day__lte=(times.until - timedelta.resolution).date())
    keys = days.aggregate(first=Min("first_id"), last=Max("last_id"))
    if keys["first"] is None:
        return Q(pk__in=[])
    return times.filter("created_at") & Q(pk__gte=keys["first"], pk__lte=keys["last"])
