"""The search across a merchant's checkouts, inbox items, payments, links and settlements, by any pasted text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpResponse
from django.shortcuts import render

from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.dashboard.checkout_list import ListedCheckout, listed
from checkouts.inbox.queries import items_of
from checkouts.inbox.rows import ItemRow, item_rows
from checkouts.models import Checkout, InboxItem, Payment
from checkouts.search import (
    LONGEST_TEXT,
    MOST_FOUND,
    code_in,
    deposits_at,
    matching_keys,
    matching_transfers,
    searchable,
    spelled,
    transactions_named,
)
from links.dashboard.link_list import LinkRow, found_links
from links.models import LinkCheckout, PaymentLink, Subscription
from reports.dashboard.payments import PaymentRow, payment_rows
from settlements.models import GasAttempt, SettledOutflow, Settlement, SettlementItem
from settlements.states import SettlementStatus
from wallets.models import DepositAddress, DepositOutflow, Transfer
from x402.models import X402Payment

MOST_SHOWN: Final = 10
"""How many of each kind are shown, newest first; a text with more matches is an address, not one payment."""

# Digits of a key of any table.
_LONGEST_KEY: Final = 18
_OPEN: Final = (SettlementStatus.PENDING, SettlementStatus.SENT)

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Matches:
    """The matches of a text, newest of each kind first."""

    checkouts: Sequence[ListedCheckout] = ()
    items: Sequence[ItemRow] = ()
    payments: Sequence[PaymentRow] = ()
    links: Sequence[LinkRow] = ()
    settlements: Sequence[Settlement] = ()

    @property
    def count(self) -> int:
        """Return how many are shown."""
        groups: tuple[Sequence[Any], ...] = (self.checkouts, self.items, self.payments, self.links, self.settlements)
        return sum(map(len, groups))


def matches_of(seat: Seat, text: str) -> Matches:
    """Return the merchant's objects of the mode that a text names; none if it cannot be a name."""
    text = searchable(text)
    if not text:
        return Matches()
    keys, transfers = matching_keys(seat, text), matching_transfers(seat, text)
    checkouts = Checkout.objects.filter(pk__in=keys[:MOST_SHOWN]).order_by("-pk")
    return Matches(
        checkouts=listed(checkouts),
        items=item_rows(_newest(_items(seat, text, keys, transfers))),
        payments=payment_rows(_payments(seat, text, keys, transfers)),
        links=found_links(_newest(_links(seat, text, keys))),
        settlements=_newest(_settlements(seat, text, keys)),
    )


def _newest(looks: Iterator[QuerySet[M]]) -> list[M]:
    """Return the newest of several queries' results, without duplicates."""
    found = {row.pk: row for look in looks for row in look.order_by("-pk")[:MOST_SHOWN]}
    return [found[key] for key in sorted(found, reverse=True)[:MOST_SHOWN]]


def _items(seat: Seat, text: str, checkouts: Sequence[int], transfers: Sequence[int]) -> Iterator[QuerySet[InboxItem]]:
    mine = items_of(seat).select_related("transfer__payment", "checkout")
    if text.isascii() and text.isdigit() and len(text) <= _LONGEST_KEY:
        yield mine.filter(pk=int(text))
    if transfers:
        yield mine.filter(transfer__in=transfers)
    if checkouts:
        yield mine.filter(checkout__in=checkouts)


def _payments(
    seat: Seat, text: str, checkouts: Sequence[int], transfers: Sequence[int]
) -> list[Transfer | X402Payment]:
    """Return transfers, and machines' payments without a transfer."""
    machines = _newest(_machine_payments(seat, text))
    named = [one.transfer_id for one in machines if one.transfer_id is not None]
    mine = Transfer.objects.filter(merchant=seat.merchant, mode=seat.mode)
    loaded = mine.select_related("payment__checkout", "x402_payment")
    credited = Payment.objects.filter(checkout__in=checkouts)
    paid = _keys(credited, "transfer_id")
    looks = [loaded.filter(pk__in=keys) for keys in (transfers, named, paid)]
    shown: list[Transfer | X402Payment] = [*_newest(iter(looks))]
    shown += [one for one in machines if one.transfer_id is None]
    return shown[:MOST_SHOWN]


def _machine_payments(seat: Seat, text: str) -> Iterator[QuerySet[X402Payment]]:
    mine = X402Payment.objects.filter(merchant=seat.merchant, mode=seat.mode)
    yield mine.filter(public_id=text)
    if transactions := transactions_named(text):
        yield mine.filter(transactions)


def _links(seat: Seat, text: str, checkouts: Sequence[int]) -> Iterator[QuerySet[PaymentLink]]:
    mine = PaymentLink.objects.filter(merchant=seat.merchant, mode=seat.mode)
    yield mine.filter(public_id=text)
    yield mine.filter(code=code_in(text))
    subscribers = Subscription.objects.filter(public_id=text)
    yield mine.filter(pk__in=_keys(subscribers, "link_id"))
    made = LinkCheckout.objects.filter(checkout__in=checkouts)
    yield mine.filter(pk__in=_keys(made, "link_id"))


def _settlements(seat: Seat, text: str, checkouts: Sequence[int]) -> Iterator[QuerySet[Settlement]]:
    mine = Settlement.objects.filter(merchant=seat.merchant, mode=seat.mode).select_related("transaction")
    yield mine.filter(public_id=text)
    if hashes := list(spelled(text).values()):
        sent = GasAttempt.objects.filter(tx_hash__in=hashes)
        yield mine.filter(transaction__in=_keys(sent, "transaction_id"))
        # A browser wallet sent it, and no watcher has seen it yet.
        yield mine.filter(status__in=_OPEN, tx_hash__in=hashes)
        left = SettledOutflow.objects.filter(outflow__in=_keys(DepositOutflow.objects.filter(transactions_named(text))))
        yield mine.filter(pk__in=_keys(left, "settlement_id"))
    emptied = SettlementItem.objects.filter(deposit__in=_deposits(seat, text, checkouts))
    yield mine.filter(pk__in=_keys(emptied, "settlement_id"))


def _deposits(seat: Seat, text: str, checkouts: Sequence[int]) -> list[int]:
    """Return the forwarder with this address, and the forwarders of checkouts."""
    named = Checkout.objects.filter(pk__in=checkouts, deposit_nonce__isnull=False)
    nonces = [bytes(nonce) for nonce in _keys(named, "deposit_nonce")]
    own = DepositAddress.objects.filter(merchant=seat.merchant, nonce__in=nonces)
    return [*_keys(own), *_keys(deposits_at(seat, text))]


def _keys(rows: QuerySet[Any], name: str = "pk") -> list[Any]:
    """Return keys first: a list of keys is looked up in an index, while a join may be planned as a scan."""
    return list(rows.order_by("-pk").values_list(name, flat=True)[:MOST_FOUND])


@seated(get=Act.SEE)
def search(request: SeatedRequest) -> HttpResponse:
    """Show the matches of a text, grouped by kind."""
    text = request.GET.get("q", "").strip()
    context = {"search_text": text[:LONGEST_TEXT], "matches": matches_of(request.seat, text), "most": MOST_SHOWN}
    return render(request, "dashboard/reports/search.html", context)
