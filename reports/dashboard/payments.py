"""The page of payments: every transfer to the merchant's addresses, credited or not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from django.db.models import Q, QuerySet, TextChoices
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from accounts.merchants.time_zones import zone_of
from accounts.states import Mode
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.models import InboxItem
from gateway.core.api.pagination import KeysetPage, TimedRows, page_by_time
from gateway.core.exports import csv_response
from gateway.core.money import readable_units
from gateway.core.postgres.replica import reads_replica
from gateway.core.times import today_in
from gateway.core.web.badges import Badge
from gateway.core.web.lists import FilterChoice, FilterDay, FilterForm, NamedDays, span_of, times_of
from reports.entries import transfer_rows
from reports.inputs import ReportFilter, known_tokens
from reports.selectors import transfers_wanted
from reports.serializers import CSV_HEADER, csv_cells
from wallets.dashboard.rows import explorer_url
from wallets.models import Transfer
from wallets.networks import chain_choices, chain_spec, shown_address
from wallets.states import ClaimKind, TransferState, TransferUse
from x402.models import X402Payment
from x402.selectors import PaymentFilter, payments_of
from x402.states import PaymentStatus


class PaymentState(TextChoices):
    """How the page of payments narrows them."""

    CREDITED = "credited"
    UNCREDITED = "uncredited"
    CONFIRMING = "confirming"
    ORPHANED = "orphaned"


STATES: Final = (
    (PaymentState.CREDITED, gettext_noop("Credited")),
    (PaymentState.UNCREDITED, gettext_noop("Not credited")),
    (PaymentState.CONFIRMING, gettext_noop("Confirming")),
    (PaymentState.ORPHANED, gettext_noop("Reversed")),
)
KINDS: Final = MappingProxyType({ClaimKind.CHECKOUT: gettext_noop("Checkout"), ClaimKind.X402: "x402"})
_CREDITED: Final = Q(payment__isnull=False) | Q(x402_payment__isnull=False)
_CONDITIONS: Final = MappingProxyType(
    {
        PaymentState.CREDITED: _CREDITED,
        PaymentState.UNCREDITED: ~_CREDITED & ~Q(state=TransferState.ORPHANED),
        PaymentState.CONFIRMING: Q(state=TransferState.DETECTED),
        PaymentState.ORPHANED: Q(state=TransferState.ORPHANED),
    }
)


def _token_choices() -> list[tuple[str, str]]:
    return [(symbol, symbol) for symbol in known_tokens()]


class PaymentFilters(FilterForm[Transfer]):
    """The filters of the page. Days are those of blocks, in the merchant's time zone."""

    kind = FilterChoice(_("Kind"), KINDS.items(), everything=_("Any kind"))
    chain = FilterChoice(_("Network"), chain_choices, everything=_("Any network"))
    token = FilterChoice(_("Token"), _token_choices, everything=_("Any token"))
    state = FilterChoice(_("State"), STATES, everything=_("Any state"))
    days = FilterChoice(_("Days"), NamedDays.choices, everything=_("Any time"))
    since = FilterDay(pgettext_lazy("team", "From"))
    until = FilterDay(pgettext_lazy("team", "To"))

    parameters = MappingProxyType({"since": "from", "until": "to"})

    def __init__(self, query: Mapping[str, str], seat: Seat, *, now: datetime) -> None:
        super().__init__(query)
        self.zone = zone_of(seat.merchant)
        self.today = today_in(self.zone, now=now)

    def filter(self, found: QuerySet[Transfer]) -> QuerySet[Transfer]:
        """Return the transfers that match."""
        found = found.filter(self._between("block_time"), **self._money())
        if kind := self.texts["kind"]:
            found = found.filter(purpose=kind)
        if state := self.texts["state"]:
            found = found.filter(_CONDITIONS[PaymentState(state)])
        return found

    def filter_simulated(self, found: QuerySet[X402Payment]) -> QuerySet[X402Payment]:
        """Return machines' payments of test mode that match: all are credited, and none waits."""
        is_wanted = self.texts["state"] in {"", PaymentState.CREDITED}
        return found.filter(self._between("verified_at"), **self._money()) if is_wanted else found.none()

    def _between(self, moment: str) -> Q:
        """Return the condition that a field is in the days; those of the form's own fields come first."""
        since, until, days = (self.cleaned_data[name] for name in ("since", "until", "days"))
        if days and not (since or until):
            since, until = span_of(NamedDays(days), self.today)
        return times_of(since, until, self.zone).filter(moment)

    def _money(self) -> dict[str, str]:
        return {name: self.texts[name] for name in ("chain", "token") if self.texts[name]}


@dataclass(frozen=True, slots=True)
class PaymentRow:
    """A row of the page. `item_id` is the transfer's newest inbox item; None if no decision is needed.

    `resource` is what a machine paid for; empty for others. `unused` is the public id of a final transfer to a machines' address that
    paid for nothing, empty for others; with `is_refund` a refund of it was asked for.
    """

    kind: str
    amount: str
    token: str
    chain: str
    chain_title: str
    badge: Badge
    sender: str
    tx_hash: str
    explorer: str
    came_at: datetime
    checkout_id: str
    checkout_title: str
    resource: str
    item_id: int | None
    unused: str = ""
    is_refund: bool = False

    @property
    def is_machine(self) -> bool:
        """Whether it came to an address for machines."""
        return self.kind == KINDS[ClaimKind.X402]


@seated(get=Act.SEE)
@reads_replica
def payments(request: SeatedRequest) -> HttpResponse:
    """List payments, newest first, with days and times in the merchant's time zone."""
    seat, filters = request.seat, PaymentFilters(request.GET, request.seat, now=timezone.now())
    page = _page(seat, filters, request.GET.dict())
    context = {"filters": filters, "rows": payment_rows(page.rows), "pager": page, "export": request.GET.urlencode()}
    with timezone.override(filters.zone):
        return render(request, "dashboard/reports/payments.html", context)


@seated(get=Act.EXPORT)
def export(request: SeatedRequest) -> HttpResponseBase:
    """Send the transfers of the list as CSV."""
    filters = PaymentFilters(request.GET, request.seat, now=timezone.now())
    cells = csv_cells(transfer_rows(filters.filter(_transfers(request.seat))))
    return csv_response(f"payments-{request.seat.mode}", CSV_HEADER, cells)


def _page(seat: Seat, filters: PaymentFilters, query: Mapping[str, str]) -> KeysetPage[Any]:
    sources = [TimedRows(filters.filter(_transfers(seat)), "block_time")]
    if seat.mode == Mode.TEST and filters.texts["kind"] != ClaimKind.CHECKOUT:
        simulated = payments_of(PaymentFilter(seat.merchant.pk, seat.mode))
        sources.append(TimedRows(filters.filter_simulated(simulated), "verified_at"))
    return page_by_time(sources, query)


def _transfers(seat: Seat) -> QuerySet[Transfer]:
    mine = transfers_wanted(ReportFilter(seat.merchant.pk, seat.mode))
    return mine.select_related("payment__checkout", "x402_payment", "claim")


def payment_rows(found: Sequence[Transfer | X402Payment]) -> list[PaymentRow]:
    """Return the rows of payments, in their order; transfers come with `payment__checkout`, `x402_payment` and `claim`."""
    transfers = [one for one in found if isinstance(one, Transfer)]
    items = InboxItem.objects.filter(transfer__in=transfers).order_by("pk")
    item_of = dict(items.values_list("transfer_id", "pk"))
    return [_row(one, item_of.get(one.pk)) if isinstance(one, Transfer) else _machine_row(one) for one in found]


def _row(transfer: Transfer, item_id: int | None) -> PaymentRow:
    payment = getattr(transfer, "payment", None)
    checkout = payment.checkout if payment else None
    machine = getattr(transfer, "x402_payment", None)
    is_unused = transfer.purpose == ClaimKind.X402 and transfer.state == TransferState.CONFIRMED and not machine
    claim = getattr(transfer, "claim", None)
    return PaymentRow(
        kind=gettext(KINDS[ClaimKind(transfer.purpose)]),
        amount=readable_units(int(transfer.units), transfer.decimals),
        token=transfer.token,
        chain=transfer.chain,
        chain_title=chain_spec(transfer.chain).title,
        badge=TransferState(transfer.state).badge,
        sender=shown_address(transfer.sender),
        tx_hash=transfer.tx_hash,
        explorer=explorer_url(transfer),
        came_at=transfer.block_time,
        checkout_id=checkout.public_id if checkout else "",
        checkout_title=(checkout.order_ref or checkout.public_id) if checkout else "",
        resource=_resource(machine) if machine else "",
        item_id=item_id,
        unused=transfer.public_id if is_unused else "",
        is_refund=claim is not None and claim.kind == TransferUse.REFUND,
    )


def _machine_row(payment: X402Payment) -> PaymentRow:
    return PaymentRow(
        kind=gettext(KINDS[ClaimKind.X402]),
        amount=readable_units(int(payment.units)),
        token=payment.token,
        chain=payment.chain,
        chain_title=chain_spec(payment.chain).title,
        badge=PaymentStatus(payment.status).badge,
        sender=payment.payer,
        tx_hash=payment.tx_hash,
        explorer="",
        came_at=payment.verified_at,
        checkout_id="",
        checkout_title="",
        resource=_resource(payment),
        item_id=None,
    )


def _resource(payment: X402Payment) -> str:
    return payment.resource or gettext("Unnamed resource")
