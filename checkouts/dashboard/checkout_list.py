"""The list of checkouts: its rows, its counts and its file."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final, NamedTuple

from django.db.models import QuerySet, Sum, prefetch_related_objects

from accounts.team.access import Seat
from checkouts.dashboard.words import HELD, status_badge
from checkouts.lifecycle.escrow import releases_of
from checkouts.models import Checkout, CheckoutCount, Payment, Quote, TerminalSale
from checkouts.payloads import price_text
from checkouts.rows import doubted_checkouts
from checkouts.states import CheckoutStatus
from gateway.core.api.pagination import chunks_by_key
from gateway.core.currencies import USD, format_rate, readable_price
from gateway.core.money import format_token, format_usd, readable
from gateway.core.times import iso, iso_or_none
from gateway.core.web.badges import Badge
from wallets.networks import chain_spec

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
    "price",
    "price_currency",
    "replaced_by",
    "terminal",
    "tip",
    "rate",
    "rate_margin",
    "rate_sources",
    "rate_taken_at",
]


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
    # In USD; `asked` is what the merchant said, empty where that is the same.
    price: str
    asked: str
    received: str
    networks: tuple[tuple[str, str], ...]
    created_at: datetime
    paid_at: datetime | None


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
        asked=""
        if checkout.price is None
        else f"{readable_price(checkout.price, checkout.currency)} {checkout.currency}",
        received=readable(received) if received else "",
        networks=tuple((chain, chain_spec(chain).title) for chain in chains),
        created_at=checkout.created_at,
        paid_at=checkout.paid_at,
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
        keys = [checkout.pk for checkout in chunk]
        paid = _payments(keys)
        successors = dict(Checkout.objects.filter(replaces__in=keys).values_list("replaces_id", "public_id"))
        # A successor has the money of its predecessor's sale.
        sellers = {checkout.pk: checkout.replaces_id or checkout.pk for checkout in chunk}
        made = TerminalSale.objects.filter(checkout__in=[*sellers.values()])
        sales = made.values_list("checkout_id", "terminal__name", "tip")
        sold = {checkout: (terminal, Decimal(format_usd(tip))) for checkout, terminal, tip in sales}
        # No query where all prices are in USD.
        converted = [checkout.pk for checkout in chunk if checkout.price is not None]
        quotes = {quote.pk: quote for quote in Quote.objects.filter(pk__in=converted)}
        for checkout in chunk:
            row = _csv_row(checkout, paid.get(checkout.pk, []), successors.get(checkout.pk, ""))
            yield row + sold.get(sellers[checkout.pk], ("", None)) + _quote_cells(quotes.get(checkout.pk))


def _csv_row(checkout: Checkout, payments: Sequence[_Paid], successor: str) -> tuple[object, ...]:
    """Return all but the terminal's columns and the quote's."""
    return (
        checkout.public_id,
        checkout.status,
        checkout.exception,
        Decimal(format_usd(checkout.amount)),
        USD,
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
        Decimal(price_text(checkout)),
        checkout.currency,
        successor,
    )


def _quote_cells(quote: Quote | None) -> tuple[object, ...]:
    """Return the columns of how a price was converted; empty for a price in USD."""
    if quote is None:
        return (None, None, "", "")
    names = _joined(one["name"] for one in quote.evidence)
    return (Decimal(format_rate(quote.rate)), quote.margin, names, iso(quote.taken_at))


def _joined(values: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(values))
