"""The list of links: tabs, filters and rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from django.db.models import Count, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import render

from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.pagination import keyset_page
from gateway.core.money import readable
from gateway.core.web.badges import Badge
from links.dashboard.words import ALL, KINDS, TABS, interval_of, link_badge, price_of, range_of
from links.models import TITLE_LENGTH, PaymentLink
from links.payloads import NOTHING, Takings
from links.selectors import LastPayment, LinkFilter, invoice_payments, links_of, takings_of
from links.states import LinkStatus, LinkType

Tab = tuple[str, str, bool, int | None]
_OF_TAB: Final = {"": LinkStatus.ACTIVE, ALL: None}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filters of a list's query string; invalid ones are ignored. `status` is None for all."""

    tab: str
    status: LinkStatus | None
    type: LinkType | None
    text: str

    @property
    def is_narrowed(self) -> bool:
        """Whether any filter besides the tab applies."""
        return bool(self.type or self.text)

    def query(self, tab: str) -> str:
        """Return the query string of the same list on another tab."""
        named = {"status": tab, "type": self.type or "", "q": self.text}
        return urlencode({name: value for name, value in named.items() if value})


def parse_wanted(query: Mapping[str, str]) -> Wanted:
    """Parse a query string from an untrusted client."""
    status, kind = query.get("status", ""), query.get("type", "")
    tab = status if status in {ALL, LinkStatus.PAUSED, LinkStatus.ARCHIVED} else ""
    return Wanted(
        tab=tab,
        status=_OF_TAB[tab] if tab in _OF_TAB else LinkStatus(tab),
        type=LinkType(kind) if kind in LinkType.values else None,
        # PostgreSQL would refuse a statement with a NUL in it.
        text=query.get("q", "").replace("\x00", "").strip()[:TITLE_LENGTH],
    )


def _links(seat: Seat, wanted: Wanted) -> QuerySet[PaymentLink]:
    mine = LinkFilter(seat.merchant.pk, seat.mode, wanted.status)
    found = links_of(mine)
    if wanted.type is not None:
        found = found.filter(type=wanted.type)
    if wanted.text:
        is_named = Q(title__icontains=wanted.text) | Q(public_id=wanted.text)
        found = found.filter(is_named)
    return found


@dataclass(frozen=True, slots=True)
class ListedLink:
    """A row of the list. Amounts are formatted for people; no `price` if the payer chooses within `limits`."""

    public_id: str
    title: str
    kind: str
    price: str
    interval: str
    limits: str
    count: int
    collected: str
    badge: Badge
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of the list, newest first, and the query strings of the pages beside it."""

    rows: Sequence[ListedLink]
    newer: str
    older: str


def list_page(seat: Seat, wanted: Wanted, query: Mapping[str, str]) -> ListPage:
    """Return the page that a query string names by the key of a row beside it."""
    page = keyset_page(_links(seat, wanted), query)
    takings, payments = takings_of(page.rows), invoice_payments(page.rows)
    rows = [_listed(link, takings.get(link.pk, NOTHING), payments.get(link.pk)) for link in page.rows]
    return ListPage(rows, newer=page.newer, older=page.older)


def found_links(links: Sequence[PaymentLink]) -> list[ListedLink]:
    """Return the search's rows of links, in their order: without totals, which read every checkout of a link.

    Only invoices are read, which have few checkouts: their status depends on payment.
    """
    invoices = [link for link in links if link.type == LinkType.INVOICE]
    takings, payments = takings_of(invoices), invoice_payments(invoices)
    return [_listed(link, takings.get(link.pk, NOTHING), payments.get(link.pk)) for link in links]


def _listed(link: PaymentLink, takings: Takings, payment: LastPayment | None) -> ListedLink:
    return ListedLink(
        public_id=link.public_id,
        title=link.title,
        kind=KINDS[LinkType(link.type)].label,
        price=price_of(link),
        interval=interval_of(link),
        limits=range_of(link),
        count=takings.count,
        collected=readable(takings.amount),
        badge=link_badge(link, payment),
        created_at=link.created_at,
    )


def status_counts(seat: Seat) -> dict[str, int]:
    """Return how many links each tab has, by its word."""
    mine = links_of(LinkFilter(seat.merchant.pk, seat.mode, None))
    rows = mine.values("status").annotate(count=Count("pk")).order_by()
    counts = {row["status"]: row["count"] for row in rows}
    return {
        "": counts.get(LinkStatus.ACTIVE, 0),
        LinkStatus.PAUSED: counts.get(LinkStatus.PAUSED, 0),
        LinkStatus.ARCHIVED: counts.get(LinkStatus.ARCHIVED, 0),
        ALL: sum(counts.values()),
    }


@seated(get=Act.SEE)
def links(request: SeatedRequest) -> HttpResponse:
    """List payment links, newest first."""
    seat = request.seat
    wanted = parse_wanted(request.GET)
    counts = status_counts(seat)
    page = list_page(seat, wanted, request.GET.dict())
    context = {
        "wanted": wanted,
        "rows": page.rows,
        "pager": page,
        "tabs": _tabs(seat, wanted, counts),
        "kinds": [(kind.type, kind.label) for kind in KINDS.values()],
        "is_new_here": not counts[ALL],
    }
    return render(request, "dashboard/links/list.html", context)


def _tabs(seat: Seat, wanted: Wanted, counts: dict[str, int]) -> list[Tab]:
    address = seat.url("dashboard_links")
    return [
        (label, f"{address}?{wanted.query(tab)}", tab == wanted.tab, None if wanted.is_narrowed else counts[tab])
        for tab, label in TABS
    ]
