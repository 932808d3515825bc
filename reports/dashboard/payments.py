"""The page of payments: every transfer to the merchant's addresses, whether it was credited or not."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import render

from accounts.permissions import Act
from accounts.seats import Seat, SeatedRequest, seated
from checkouts.dashboard.inbox_rows import explorer_url, shown_units
from checkouts.dashboard.words import TRANSFERS
from checkouts.models import InboxItem
from reports.dashboard.paging import newest_page
from reports.forms import known_tokens
from reports.inputs import ReportFilter
from reports.selectors import transfers_wanted
from reports.states import PaymentState
from wallets.models import Transfer
from wallets.networks import chain_spec, chains
from wallets.states import TransferState
from webhooks.dashboard.words import Badge

STATES: Final = (
    (PaymentState.CREDITED, "Credited"),
    (PaymentState.UNCREDITED, "Not credited"),
    (PaymentState.CONFIRMING, "Confirming"),
    (PaymentState.ORPHANED, "Taken back"),
)
_CONDITIONS: Final = MappingProxyType(
    {
        PaymentState.CREDITED: Q(payment__isnull=False),
        PaymentState.UNCREDITED: Q(payment__isnull=True)
        & ~Q(state=TransferState.ORPHANED),
        PaymentState.CONFIRMING: Q(state=TransferState.DETECTED),
        PaymentState.ORPHANED: Q(state=TransferState.ORPHANED),
    }
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the page's query string asks for; what cannot be read asks for nothing."""

    chain: str
    token: str
    state: PaymentState | None

    @property
    def is_narrowed(self) -> bool:
        """Whether anything leaves payments out."""
        return bool(self.chain or self.token or self.state)


@dataclass(frozen=True, slots=True)
class PaymentRow:
    """A line of the page. `item_id` is the newest inbox item that the transfer has; None where nobody needs to decide."""

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
    item_id: int | None


@seated(get=Act.SEE)
def payments(request: SeatedRequest) -> HttpResponse:
    """List payments, newest first."""
    seat, wanted = request.seat, _parse_wanted(request.GET)
    found = _found(seat, wanted).select_related("payment__checkout")
    page = newest_page(found, request.GET.dict())
    context = {
        "wanted": wanted,
        "rows": _rows(page.rows),
        "pager": page,
        "states": STATES,
        "chains": [(spec.name, spec.title) for spec in chains().values()],
        "tokens": known_tokens(),
    }
    return render(request, "dashboard/reports/payments.html", context)


def _parse_wanted(query: Mapping[str, str]) -> Wanted:
    chain, token = query.get("chain", ""), query.get("token", "")
    state = query.get("state", "")
    return Wanted(
        chain=chain if chain in chains() else "",
        token=token if token in known_tokens() else "",
        state=PaymentState(state) if state in PaymentState.values else None,
    )


def _found(seat: Seat, wanted: Wanted) -> QuerySet[Transfer]:
    found = transfers_wanted(
        ReportFilter(
            seat.merchant.pk, seat.mode, chain=wanted.chain, token=wanted.token
        )
    )
    return found.filter(_CONDITIONS[wanted.state]) if wanted.state else found


def _rows(transfers: Iterable[Transfer]) -> list[PaymentRow]:
    transfers = list(transfers)
    items = InboxItem.objects.filter(transfer__in=transfers).order_by("pk")
    item_of = dict(items.values_list("transfer_id", "pk"))
    return [_row(transfer, item_of.get(transfer.pk)) for transfer in transfers]


def _row(transfer: Transfer, item_id: int | None) -> PaymentRow:
    payment = getattr(transfer, "payment", None)
    checkout = payment.checkout if payment else None
    return PaymentRow(
        amount=shown_units(int(transfer.units)),
        token=transfer.token,
        chain=transfer.chain,
        chain_title=chain_spec(transfer.chain).title,
        badge=TRANSFERS[TransferState(transfer.state)],
        sender=transfer.sender,
        tx_hash=transfer.tx_hash,
        explorer=explorer_url(transfer),
        came_at=transfer.block_time,
        checkout_id=checkout.public_id if checkout else "",
        checkout_title=(checkout.order_ref or checkout.public_id) if checkout else "",
        item_id=item_id,
    )
