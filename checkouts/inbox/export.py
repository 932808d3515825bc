"""The inbox as a file for spreadsheets."""

from collections.abc import Iterator
from decimal import Decimal
from itertools import chain

from django.http.response import HttpResponseBase

from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.inbox.pages import read_reason, read_tab
from checkouts.inbox.queries import items_in
from checkouts.inbox.rows import item_rows, named
from checkouts.inbox.words import DECIDED
from checkouts.models import InboxItem
from checkouts.states import InboxAct
from gateway.core.api.keyset import chunks_by_key
from gateway.core.csv_files import csv_response
from gateway.core.money import readable_units
from gateway.core.times import iso

_HEADER = (
    "transfer",
    "received_at",
    "amount",
    "token",
    "chain",
    "from",
    "to",
    "transaction",
    "reason",
    "explanation",
    "probable_checkout",
    "order_ref",
    "status",
    "decision",
    "decided_by",
    "decided_at",
    "credited_checkout",
    "refund_transaction",
)


@seated(get=Act.EXPORT)
def export(request: SeatedRequest) -> HttpResponseBase:
    """Send a tab of the inbox as a CSV file."""
    seat, tab = request.seat, read_tab(request)
    chunks = chunks_by_key(items_in(seat, tab, read_reason(request)))
    name = f"inbox-{tab}-{seat.merchant.public_id}-{seat.mode}"
    return csv_response(name, _HEADER, map(_cells, chain.from_iterable(chunks)))


def _cells(item: InboxItem) -> list[object]:
    [row] = item_rows([item])
    transfer, checkout = item.transfer, item.checkout
    return [
        transfer.public_id,
        iso(transfer.block_time),
        Decimal(readable_units(transfer.units, transfer.decimals).replace(",", "")),
        transfer.token,
        transfer.chain,
        transfer.sender,
        transfer.recipient,
        transfer.tx_hash,
        row.words.short,
        row.explanation,
        checkout.public_id if checkout else None,
        checkout.order_ref if checkout else None,
        item.status,
        *_decided(item),
    ]


def _decided(item: InboxItem) -> Iterator[object]:
    standing = next(iter(getattr(item, "standing", ())), None)
    if standing is None:
        yield from [None] * 5
        return
    yield DECIDED[InboxAct(standing.act)]
    yield named(standing.actor)
    yield iso(standing.decided_at)
    yield standing.checkout.public_id if standing.checkout else None
    yield standing.refund_tx
