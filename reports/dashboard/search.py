"""The search across a merchant's checkouts, inbox items, payments, links, payouts and settlements, by any text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render

from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.customers import customer_url, customers_named
from checkouts.dashboard.checkout_list import ListedCheckout, listed
from checkouts.inbox.queries import items_of
from checkouts.inbox.rows import ItemRow, item_rows
from checkouts.models import Checkout, InboxItem, Payment
from checkouts.search import (
    LONGEST_TEXT,
    MOST_FOUND,
    addresses_in,
    amount_in,
    code_in,
    deposits_at,
    id_beginning,
    matching_keys,
    matching_transfers,
    searchable,
    spelled,
    transactions_named,
)
from checkouts.states import InboxStatus
from gateway.core.currencies import USD
from gateway.core.money import to_units
from links.dashboard.link_list import LinkRow, found_links
from links.models import LinkCheckout, PaymentLink, Subscription
from links.selectors import links_with_words
from payouts.dashboard.rows import PayoutRow, payout_rows
from payouts.dashboard.rows import mine as payouts_of
from payouts.models import Payout, PayoutSource
from reports.dashboard.payments import PaymentRow, payment_rows
from settlements.models import GasAttempt, SettledOutflow, Settlement, SettlementItem
from settlements.states import SettlementStatus
from wallets.models import DepositAddress, DepositOutflow, Transfer, WatchedMovement, WatchedWallet
from wallets.networks import known_chains
from x402.models import X402Payment

MOST_SHOWN: Final = 10
"""How many of each kind are shown, newest first; a text with more matches is an address, not one payment."""

# So many of the newest open items are searched for an amount.
_MOST_WAITING: Final = 1_000
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
    payouts: Sequence[PayoutRow] = ()
    settlements: Sequence[Settlement] = ()
    # What kind of customer the text names, and the address of its page.
    customers: Sequence[tuple[str, str]] = ()
    # The address of the one page that the text is about; empty if there are several, or none.
    only_page: str = ""

    @property
    def count(self) -> int:
        """Return how many are shown."""
        groups: tuple[Sequence[Any], ...] = (
            self.checkouts,
            self.items,
            self.payments,
            self.links,
            self.payouts,
            self.settlements,
        )
        return sum(map(len, groups))


def matches_of(seat: Seat, text: str) -> Matches:
    """Return the merchant's objects of the mode that a text names, is the beginning of, or has words of."""
    text = searchable(text)
    if not text:
        return Matches()
    keys, transfers = matching_keys(seat, text, most=MOST_SHOWN), matching_transfers(seat, text)
    checkouts = listed(Checkout.objects.filter(pk__in=keys[:MOST_SHOWN]).order_by("-pk"))
    items = item_rows(_newest(_items(seat, text, keys, transfers)))
    payments = payment_rows(_payments(seat, text, keys, transfers))
    links, payouts, settlements = (
        _newest(_links(seat, text)),
        _newest(_payouts(seat, text)),
        _newest(_settlements(seat, text)),
    )
    pages = {
        *(seat.url("dashboard_checkout", checkout_id=one.public_id) for one in checkouts),
        *(seat.url("dashboard_inbox_item", item_id=one.id) for one in items),
        *(_page_of(seat, one) for one in payments),
        *(seat.url("dashboard_link", link_id=one.public_id) for one in links),
        *(seat.url("dashboard_payout", payout_id=one.public_id) for one in payouts),
        *(seat.url("dashboard_settlement", settlement_id=one.public_id) for one in settlements),
    }
    return Matches(
        checkouts=checkouts,
        items=items,
        payments=payments,
        links=found_links(_added(links, _links_behind(seat, keys))),
        payouts=payout_rows(_added(payouts, _refunds_of(seat, keys))),
        settlements=_added(settlements, _settlements_behind(seat, text, keys)),
        customers=[(str(one.kind.label), customer_url(seat, one)) for one in customers_named(seat, text)],
        only_page=pages.pop() if len(pages) == 1 else "",
    )


def _page_of(seat: Seat, payment: PaymentRow) -> str:
    """Return the page that tells most of a payment; empty for machines' payments and dust, which have none."""
    if payment.checkout_id:
        return seat.url("dashboard_checkout", checkout_id=payment.checkout_id)
    return seat.url("dashboard_inbox_item", item_id=payment.item_id) if payment.item_id else ""


def _newest(looks: Iterator[QuerySet[M]]) -> list[M]:
    """Return the newest of several queries' results, without duplicates."""
    return _sorted(row for look in looks for row in look.order_by("-pk")[:MOST_SHOWN])


def _added(named: Sequence[M], related: Iterator[QuerySet[M]]) -> list[M]:
    """Return what a text names, and what belongs to the checkouts that it finds: the newest, without duplicates."""
    return _sorted([*named, *_newest(related)])


def _sorted(rows: Iterable[M]) -> list[M]:
    found = {row.pk: row for row in rows}
    return [found[key] for key in sorted(found, reverse=True)[:MOST_SHOWN]]


def _items(seat: Seat, text: str, checkouts: Sequence[int], transfers: Sequence[int]) -> Iterator[QuerySet[InboxItem]]:
    mine = items_of(seat).select_related("transfer__payment", "checkout")
    if text.isascii() and text.isdigit() and len(text) <= _LONGEST_KEY:
        yield mine.filter(pk=int(text))
    if transfers:
        yield mine.filter(transfer__in=transfers)
    if checkouts:
        yield mine.filter(checkout__in=checkouts)
    if (amount := amount_in(text)) and not amount.is_about and amount.currency in ("", USD):
        open_items = items_of(seat).filter(status=InboxStatus.OPEN).order_by("-pk")
        # Accepted tokens have six decimals, others may have eighteen.
        units = [to_units(amount.value), to_units(amount.value, 18)]
        waiting = list(open_items.values_list("pk", flat=True)[:_MOST_WAITING])
        yield mine.filter(pk__in=waiting, transfer__units__in=units)


def _payments(
    seat: Seat, text: str, checkouts: Sequence[int], transfers: Sequence[int]
) -> list[Transfer | X402Payment]:
    """Return transfers, and machines' payments without a transfer."""
    machines = _newest(_machine_payments(seat, text))
    named = [one.transfer_id for one in machines if one.transfer_id is not None]
    mine = Transfer.objects.filter(merchant=seat.merchant, mode=seat.mode)
    loaded = mine.select_related("payment__checkout", "x402_payment", "claim")
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


def _links(seat: Seat, text: str) -> Iterator[QuerySet[PaymentLink]]:
    mine = PaymentLink.objects.filter(merchant=seat.merchant, mode=seat.mode)
    yield mine.filter(public_id=text)
    yield mine.filter(code=code_in(text))
    subscribers = Subscription.objects.filter(public_id=text)
    yield mine.filter(pk__in=_keys(subscribers, "link_id"))
    if begin := id_beginning(text):
        yield mine.filter(public_id__startswith=begin)
    yield mine.filter(pk__in=links_with_words(seat.merchant.pk, seat.mode, text, most=MOST_SHOWN))


def _links_behind(seat: Seat, checkouts: Sequence[int]) -> Iterator[QuerySet[PaymentLink]]:
    made = LinkCheckout.objects.filter(checkout__in=checkouts)
    yield PaymentLink.objects.filter(merchant=seat.merchant, mode=seat.mode, pk__in=_keys(made, "link_id"))


def _payouts(seat: Seat, text: str) -> Iterator[QuerySet[Payout]]:
    mine = payouts_of(seat)
    yield mine.filter(public_id=text)
    yield mine.filter(reference=text).exclude(reference="")
    if begin := id_beginning(text):
        yield mine.filter(public_id__startswith=begin)
    if addresses := addresses_in(text):
        yield mine.filter(chain__in=list(known_chains()), address__in=addresses, address__gt="")
    if hashes := list(spelled(text).values()):
        # A merchant watches few wallets; a movement is looked up by its wallet and transaction.
        wallets = _keys(WatchedWallet.objects.filter(merchant=seat.merchant, mode=seat.mode))
        sent = WatchedMovement.objects.filter(wallet__in=wallets, tx_hash__in=hashes)
        yield mine.filter(movement__in=_keys(sent))


def _refunds_of(seat: Seat, checkouts: Sequence[int]) -> Iterator[QuerySet[Payout]]:
    paid = _keys(Payment.objects.filter(checkout__in=checkouts), "transfer_id")
    sources = PayoutSource.objects.filter(transfer__in=paid)
    yield payouts_of(seat).filter(pk__in=_keys(sources, "payout_id"))


def _settlements(seat: Seat, text: str) -> Iterator[QuerySet[Settlement]]:
    mine = _settlements_of(seat)
    yield mine.filter(public_id=text)
    if begin := id_beginning(text):
        yield mine.filter(public_id__startswith=begin)
    if hashes := list(spelled(text).values()):
        sent = GasAttempt.objects.filter(tx_hash__in=hashes)
        yield mine.filter(transaction__in=_keys(sent, "transaction_id"))
        # A browser wallet sent it, and no watcher has seen it yet.
        yield mine.filter(status__in=_OPEN, tx_hash__in=hashes)
        left = SettledOutflow.objects.filter(outflow__in=_keys(DepositOutflow.objects.filter(transactions_named(text))))
        yield mine.filter(pk__in=_keys(left, "settlement_id"))


def _settlements_behind(seat: Seat, text: str, checkouts: Sequence[int]) -> Iterator[QuerySet[Settlement]]:
    emptied = SettlementItem.objects.filter(deposit__in=_deposits(seat, text, checkouts))
    yield _settlements_of(seat).filter(pk__in=_keys(emptied, "settlement_id"))


def _settlements_of(seat: Seat) -> QuerySet[Settlement]:
    return Settlement.objects.filter(merchant=seat.merchant, mode=seat.mode).select_related("transaction")


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
    """Show the matches of a text, grouped by kind, or open the one page that it is about."""
    text = request.GET.get("q", "").strip()
    matches = matches_of(request.seat, text)
    if matches.only_page:
        return HttpResponseRedirect(matches.only_page)
    context = {"search_text": text[:LONGEST_TEXT], "matches": matches, "most": MOST_SHOWN}
    return render(request, "dashboard/reports/search.html", context)
