"""The list of checkouts: tabs, filters and rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Final, NamedTuple

from django import forms
from django.db.models import Max, Min, Q, QuerySet, Sum, prefetch_related_objects

from accounts.team.access import Seat
from checkouts.dashboard.words import HELD, TABS, status_badge
from checkouts.lifecycle.escrow import releases_of
from checkouts.models import Checkout, CheckoutCount, DailyTotal, Payment
from checkouts.rows import doubted_checkouts
from checkouts.search import matching_keys
from checkouts.states import CheckoutStatus, EscrowStatus
from gateway.core.api.pagination import chunks_by_key
from gateway.core.money import format_token, format_usd, readable
from gateway.core.times import iso, iso_or_none
from gateway.core.web.badges import Badge
from gateway.core.web.lists import Day, FilterForm, HiddenChoice, SearchText
from settlements.models import Hold
from wallets.networks import chain_choices, chain_spec
from wallets.transfers.doubts import doubted_transfers

SIZES: Final = (25, 50, 100)
# Rows read at once for a CSV file; bounds its memory.
CSV_HEADER: Final = [
    "id",
    "status",
    "exception",
    "amount",
    "currency",
    "amount_received",
    "networks",
    "tokens",
    "tx_hashes",
    "description",
    "order_ref",
    "product_ref",
    "customer_ref",
    "created_at",
    "expires_at",
    "paid_at",
]


class CheckoutFilters(FilterForm[Checkout]):
    """The filters of the list: a tab, a search, days, and checkouts that wait.

    `escrow` is set for checkouts in escrow that wait for a release, `doubt` for those with payments in doubt on a halted
    chain. `size` is the number of rows on a page.
    """

    tabbed_by = "status"
    parameters = MappingProxyType({"since": "from", "until": "to"})

    status = HiddenChoice(TABS)
    q = SearchText("Search", longest=1000, **{"aria-describedby": "filter-help"})
    since = Day("From")
    until = Day("To")
    size = forms.TypedChoiceField(
        label="Rows", choices=[(str(size), str(size)) for size in SIZES], coerce=int, initial=SIZES[0], required=False
    )
    escrow = HiddenChoice([(EscrowStatus.HELD.value, "Held in escrow")])
    doubt = HiddenChoice(chain_choices)

    def __init__(self, query: Mapping[str, str], seat: Seat) -> None:
        super().__init__(query)
        self.seat = seat

    def clean_size(self) -> int:
        """Return the number of rows."""
        return self.cleaned_data["size"] or SIZES[0]

    @property
    def is_narrowed(self) -> bool:
        """Whether any filter besides the tab applies; the number of rows is none."""
        return any(self.cleaned_data[name] for name in ("q", "since", "until", "escrow", "doubt"))

    def filter(self, found: QuerySet[Checkout]) -> QuerySet[Checkout]:
        """Return the checkouts that match, of the merchant and mode."""
        given = self.cleaned_data
        if given["status"]:
            found = found.filter(status=given["status"])
        if given["since"] or given["until"]:
            found = found.filter(_between(self.seat, given["since"], given["until"]))
        if given["escrow"]:
            found = found.filter(_held(self.seat), escrow=True)
        if given["doubt"]:
            found = found.filter(pk__in=_doubted(self.seat, given["doubt"]))
        return found.filter(pk__in=matching_keys(self.seat, given["q"])) if given["q"] else found


def _held(seat: Seat) -> Q:
    """Return the checkouts in escrow, and successors that took such a checkout's money."""
    holds = Hold.objects.filter(merchant=seat.merchant, mode=seat.mode, released_at=None).values("subject_id")
    return Q(public_id__in=holds, replaces=None) | Q(replaces__public_id__in=holds)


def _doubted(seat: Seat, chain: str) -> QuerySet[Payment, int]:
    """Return the checkouts with payments in doubt on a chain."""
    ids = doubted_transfers(chain, merchant_id=seat.merchant.pk)
    return Payment.objects.filter(transfer__in=ids).values_list("checkout", flat=True)


def _between(seat: Seat, since: date | None, until: date | None) -> Q:
    """Return the checkouts of some days: by their times, and by the key range in the daily totals."""
    days = DailyTotal.objects.filter(merchant=seat.merchant, mode=seat.mode)
    times = Q()
    if since is not None:
        days = days.filter(day__gte=since)
        times &= Q(created_at__gte=_midnight(since))
    if until is not None:
        days = days.filter(day__lte=until)
        times &= Q(created_at__lt=_midnight(until + timedelta(days=1)))
    keys = days.aggregate(first=Min("first_id"), last=Max("last_id"))
    if keys["first"] is None:
        return Q(pk__in=[])
    return times & Q(pk__gte=keys["first"], pk__lte=keys["last"])


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


class _Paid(NamedTuple):
    """The facts of a credited transfer for the list and the file."""

    checkout_id: int
    chain: str
    token: str
    tx_hash: str


@dataclass(frozen=True, slots=True)
class ListedCheckout:
    """A row of the list. Amounts are formatted for people."""

    public_id: str
    title: str
    subtitle: str
    badge: Badge
    # Beside the status: money in escrow that waits for a release.
    escrow: Badge | None
    price: str
    received: str
    networks: tuple[tuple[str, str], ...]
    created_at: datetime


def listed(checkouts: Iterable[Checkout]) -> list[ListedCheckout]:
    """Return the list's rows of checkouts."""
    checkouts = list(checkouts)
    paid = _payments([checkout.pk for checkout in checkouts])
    doubted = doubted_checkouts(list(paid))
    held = _held_among(checkouts)
    return [
        _listed(one, paid.get(one.pk, []), is_doubted=one.pk in doubted, is_held=one.pk in held) for one in checkouts
    ]


def _held_among(checkouts: Sequence[Checkout]) -> set[int]:
    """Return the checkouts whose money is in escrow and not released; no query if none is in escrow."""
    paid = [one for one in checkouts if one.escrow and one.amount_received]
    # The hold of a successor is its predecessor's.
    prefetch_related_objects(paid, "replaces")
    return {pk for pk, released_by in releases_of(paid).items() if not released_by}


def _listed(checkout: Checkout, payments: Sequence[_Paid], *, is_doubted: bool, is_held: bool) -> ListedCheckout:
    received = checkout.amount_received
    chains = dict.fromkeys(paid.chain for paid in payments)
    return ListedCheckout(
        public_id=checkout.public_id,
        title=checkout.order_ref or checkout.public_id,
        subtitle=checkout.description or (checkout.public_id if checkout.order_ref else ""),
        badge=status_badge(checkout, is_doubted=is_doubted),
        escrow=HELD if is_held else None,
        price=readable(checkout.amount),
        received=readable(received) if received else "",
        networks=tuple((chain, chain_spec(chain).title) for chain in chains),
        created_at=checkout.created_at,
    )


def _payments(keys: Sequence[int]) -> dict[int, list[_Paid]]:
    found: dict[int, list[_Paid]] = {}
    rows = Payment.objects.filter(checkout__in=keys).order_by("checkout", "pk")
    for row in rows.values_list("checkout_id", "transfer__chain", "transfer__token", "transfer__tx_hash"):
        found.setdefault(row[0], []).append(_Paid(*row))
    return found


def status_counts(seat: Seat) -> dict[str, int]:
    """Return the number of checkouts by status, and of all under "": one sum over the kept counts."""
    kept = CheckoutCount.objects.filter(merchant=seat.merchant, mode=seat.mode)
    sums = kept.values("status").annotate(total=Sum("value")).order_by()
    counts = {row["status"]: row["total"] for row in sums}
    return {"": sum(counts.values()), **{status: counts.get(status, 0) for status in CheckoutStatus}}


def csv_rows(found: QuerySet[Checkout]) -> Iterator[tuple[object, ...]]:
    """Yield the checkouts' rows for CSV, newest first."""
    for chunk in chunks_by_key(found.defer("offers", "metadata", "deposit_nonce")):
        paid = _payments([checkout.pk for checkout in chunk])
        for checkout in chunk:
            yield _csv_row(checkout, paid.get(checkout.pk, []))


def _csv_row(checkout: Checkout, payments: Sequence[_Paid]) -> tuple[object, ...]:
    return (
        checkout.public_id,
        checkout.status,
        checkout.exception,
        Decimal(format_usd(checkout.amount)),
        checkout.currency,
        Decimal(format_token(checkout.amount_received)),
        _joined(paid.chain for paid in payments),
        _joined(paid.token for paid in payments),
        _joined(paid.tx_hash for paid in payments),
        checkout.description,
        checkout.order_ref,
        checkout.product_ref,
        checkout.customer_ref,
        iso(checkout.created_at),
        iso(checkout.expires_at),
        iso_or_none(checkout.paid_at),
    )


def _joined(values: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(values))
