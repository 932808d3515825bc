"""The list of links: tabs, filters and rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.pagination import keyset_page
from gateway.core.web.badges import Badge
from gateway.core.web.lists import FilterChoice, FilterForm, HiddenChoice, SearchText
from links.dashboard.words import ALL, KINDS, TABS, link_badge
from links.models import TITLE_LENGTH, PaymentLink
from links.selectors import NOTHING, LastPayment, LinkFilter, Takings, invoice_payments, links_of, takings_of
from links.states import LinkStatus, LinkType


class LinkFilters(FilterForm[PaymentLink]):
    """The filters of the list: a tab, a type, and a part of the title or an id."""

    tabbed_by = "status"
    status = HiddenChoice(TABS)
    q = SearchText(_("Title"), longest=TITLE_LENGTH)
    type = FilterChoice(_("Type"), [(kind.type, kind.name) for kind in KINDS.values()], everything=_("Any"))

    def clean_q(self) -> str:
        """Return a text that PostgreSQL takes, and that is no longer than a title."""
        text: str = self.cleaned_data["q"]
        return text.replace("\x00", "").strip()[:TITLE_LENGTH]

    def filter(self, found: QuerySet[PaymentLink]) -> QuerySet[PaymentLink]:
        """Return the links that match."""
        status, kind, text = (self.cleaned_data[name] for name in ("status", "type", "q"))
        if status != ALL:
            found = found.filter(status=status or LinkStatus.ACTIVE)
        if kind:
            found = found.filter(type=kind)
        return found.filter(Q(title__icontains=text) | Q(public_id=text)) if text else found


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A row of the list. `payment` is the one that closed an invoice."""

    link: PaymentLink
    takings: Takings
    payment: LastPayment | None

    @property
    def badge(self) -> Badge:
        """The badge of the link's status."""
        return link_badge(self.link, self.payment)


def link_rows(links: Sequence[PaymentLink]) -> list[LinkRow]:
    """Return the rows of links, in their order."""
    return _rows(links, read=links)


def found_links(links: Sequence[PaymentLink]) -> list[LinkRow]:
    """Return the search's rows of links, in their order: without totals, which read every checkout of a link.

    Only invoices are read, which have few checkouts: their status depends on payment.
    """
    return _rows(links, read=[link for link in links if link.type == LinkType.INVOICE])


def _rows(links: Sequence[PaymentLink], *, read: Sequence[PaymentLink]) -> list[LinkRow]:
    takings, payments = takings_of(read), invoice_payments(read)
    return [LinkRow(link, takings.get(link.pk, NOTHING), payments.get(link.pk)) for link in links]


def status_counts(links: QuerySet[PaymentLink]) -> dict[str, int]:
    """Return how many of a merchant's links each tab has, by its value."""
    rows = links.values("status").annotate(count=Count("pk")).order_by()
    counts = {row["status"]: row["count"] for row in rows}
    return counts | {"": counts.get(LinkStatus.ACTIVE, 0), ALL: sum(counts.values())}


@seated(get=Act.SEE)
def links(request: SeatedRequest) -> HttpResponse:
    """List payment links, newest first."""
    seat, filters = request.seat, LinkFilters(request.GET)
    mine = links_of(LinkFilter(seat.merchant.pk, seat.mode, None))
    counts = status_counts(mine)
    page = keyset_page(filters.filter(mine), request.GET.dict())
    context = {
        "filters": filters,
        "rows": link_rows(page.rows),
        "pager": page,
        "tabs": filters.tabs(seat.url("dashboard_links"), counts),
        "is_new_here": not counts[ALL],
    }
    return render(request, "dashboard/links/list.html", context)
