"""The list of checkouts: tabs, filters and rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final, NamedTuple
from urllib.parse import urlencode

from django.db.models import Max, Min, Q, QuerySet, Sum

from accounts.team.access import Seat
from checkouts.dashboard.words import status_badge
from checkouts.models import Checkout, CheckoutCount, DailyTotal, Payment
from checkouts.rows import doubted_checkouts
from checkouts.search import matching_keys
from checkouts.states import CheckoutStatus, EscrowStatus
from gateway.core.api.pagination import chunks_by_key, keyset_page
from gateway.core.money import format_token, format_usd, readable
from gateway.core.times import iso, iso_or_none
from gateway.core.web.badges import Badge
from settlements.models import Hold
from wallets.networks import chain_spec, chains
from wallets.transfers.doubts import doubted_transfers

SIZES: Final = (25, 50, 100)
_HELD: Final = EscrowStatus.HELD.value
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


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filters of a list's query string; invalid ones are ignored."""

    status: CheckoutStatus | None
    text: str
    since: date | None
    until: date | None
    size: int
    # Only checkouts in escrow that wait for a release.
    is_held: bool = False
    # Only checkouts with payments in doubt on this halted chain; empty for all.
    doubt: str = ""

    @property
    def is_narrowed(self) -> bool:
        """Whether any filter besides the tab applies."""
        return bool(self.text or self.since or self.until or self.is_held or self.doubt)

    def query(self, status: str) -> str:
        """Return the query string of the same list on another tab."""
        named = {
            "status": status,
            "q": self.text,
            "from": self.since.isoformat() if self.since else "",
            "to": self.until.isoformat() if self.until else "",
            "escrow": _HELD if self.is_held else "",
            "doubt": self.doubt,
            "size": "" if self.size == SIZES[0] else str(self.size),
        }
        return urlencode({name: value for name, value in named.items() if value})


def parse_wanted(query: Mapping[str, str]) -> Wanted:
    """Parse a query string from an untrusted client."""
    status, size = query.get("status", ""), query.get("size", "")
    return Wanted(
        status=CheckoutStatus(status) if status in CheckoutStatus.values else None,
        text=query.get("q", "").strip(),
        since=_day(query.get("from", "")),
        until=_day(query.get("to", "")),
        size=int(size) if size in map(str, SIZES) else SIZES[0],
        is_held=query.get("escrow") == _HELD,
        doubt=doubt if (doubt := query.get("doubt", "")) in chains() else "",
    )


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    # The last day is included; the greatest date has no next day.
    return day if day < date.max else None


def checkouts_wanted(seat: Seat, wanted: Wanted) -> QuerySet[Checkout]:
    """Return the merchant's checkouts, in the mode, that match the filters."""
    found = Checkout.objects.filter(merchant=seat.merchant, mode=seat.mode)
    if wanted.status is not None:
        found = found.filter(status=wanted.status)
    if wanted.since or wanted.until:
        found = found.filter(_between(seat, wanted))
    if wanted.is_held:
        found = found.filter(_held(seat), escrow=True)
    if wanted.doubt:
        found = found.filter(pk__in=_doubted(seat, wanted.doubt))
    if wanted.text:
        found = found.filter(pk__in=matching_keys(seat, wanted.text))
    return found


def _held(seat: Seat) -> Q:
    """Return the checkouts in escrow, and successors that took such a checkout's money."""
    holds = Hold.objects.filter(merchant=seat.merchant, mode=seat.mode, released_at=None).values("subject_id")
    return Q(public_id__in=holds, replaces=None) | Q(replaces__public_id__in=holds)


def _doubted(seat: Seat, chain: str) -> QuerySet[Payment, int]:
    """Return the checkouts with payments in doubt on a chain."""
    ids = doubted_transfers(chain, merchant_id=seat.merchant.pk)
    return Payment.objects.filter(transfer__in=ids).values_list("checkout", flat=True)


def _between(seat: Seat, wanted: Wanted) -> Q:
    """Return the checkouts of some days: by their times, and by the key range in the daily totals."""
    days = DailyTotal.objects.filter(merchant=seat.merchant, mode=seat.mode)
    times = Q()
    if wanted.since is not None:
        days = days.filter(day__gte=wanted.since)
        times &= Q(created_at__gte=_midnight(wanted.since))
    if wanted.until is not None:
        days = days.filter(day__lte=wanted.until)
        times &= Q(created_at__lt=_midnight(wanted.until + timedelta(days=1)))
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
    price: str
    received: str
    networks: tuple[tuple[str, str], ...]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of the list, newest first, and the query strings of the pages beside it."""

    rows: Sequence[ListedCheckout]
    newer: str
    older: str


def list_page(seat: Seat, wanted: Wanted, query: Mapping[str, str]) -> ListPage:
    """Return the page that a query string names by the key of a row beside it."""
    page = keyset_page(checkouts_wanted(seat, wanted), query, rows=wanted.size)
    return ListPage(listed(page.rows), newer=page.newer, older=page.older)


def listed(checkouts: Iterable[Checkout]) -> list[ListedCheckout]:
    """Return the list's rows of checkouts."""
    checkouts = list(checkouts)
    paid = _payments([checkout.pk for checkout in checkouts])
    doubted = doubted_checkouts(list(paid))
    return [_listed(one, paid.get(one.pk, []), is_doubted=one.pk in doubted) for one in checkouts]


def _listed(checkout: Checkout, payments: Sequence[_Paid], *, is_doubted: bool) -> ListedCheckout:
    received = checkout.amount_received
    chains = dict.fromkeys(paid.chain for paid in payments)
    return ListedCheckout(
        public_id=checkout.public_id,
        title=checkout.order_ref or checkout.public_id,
        subtitle=checkout.description or (checkout.public_id if checkout.order_ref else ""),
        badge=status_badge(checkout, is_doubted=is_doubted),
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
