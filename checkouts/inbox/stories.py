"""What the inbox says of each item: one sentence, and the act that the evidence points to, as its one primary button."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext

from checkouts.amounts import exact_units, needed_units, overpaid_above_units, price_of
from checkouts.attribution.deposit_rules import BLOCK_SECOND, is_older
from checkouts.inbox.evidence import namers_of
from checkouts.inbox.rows import REASONS, Deed, ItemRow, Story, item_row, span
from checkouts.inbox.service import acts_of, promised_back
from checkouts.inbox.successors import money_of_expired
from checkouts.models import AmountReservation, Checkout, InboxItem
from checkouts.payloads import remaining_units
from checkouts.pricing import TokenUnits, takes_worth_of, value_of
from checkouts.reservations import kept_back
from checkouts.selectors import paid_otherwise
from checkouts.states import CheckoutStatus, InboxAct, InboxReason
from gateway.core.money import from_units, readable, readable_units, to_units
from wallets.networks import chain_spec
from wallets.states import TransferState


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of the checkouts that a list's items point to.

    `asked` are the exact amounts that their buyers were ever shown, oldest first; `expired` is `money_of_expired`. `taken` are the
    prices and suffixes that other checkouts hold, or may hold after a restore, as far as the rest of one of these may need them. `paid`
    are expired ones whose buyer paid another try: their late money was paid twice.
    """

    asked: Mapping[int, Sequence[AmountReservation]]
    expired: Mapping[int, Mapping[int, TokenUnits]]
    taken: Collection[tuple[Decimal, int]]
    paid: Collection[int] = ()

    def takes_money(self, checkout: Checkout) -> bool:
        """Return whether an expired checkout may have a successor."""
        return checkout.pk in self.expired

    def units_with(self, item: InboxItem, checkout: Checkout) -> int:
        """Return the millionths of a USD that a checkout, or the successor of an expired one, has with the item's money."""
        own = item.transfer.token, item.transfer.priced_units
        if checkout.status == CheckoutStatus.EXPIRED:
            return value_of(checkout, {**self.expired.get(checkout.pk, {}), item.transfer_id: own}.values())
        return to_units(checkout.amount_received) + value_of(checkout, [own])

    def asked_for_rest(self, item: InboxItem, checkout: Checkout) -> str:
        """Return what the page will ask for once an open checkout has the item's money, which is not enough."""
        missing = to_units(checkout.amount) - self.units_with(item, checkout)
        amount = _rest_of(missing, self.asked[checkout.pk])
        is_exact = amount is not None and amount not in self.taken
        return readable_units(exact_units(*amount) if amount and is_exact else missing)


def stories_of(items: Sequence[InboxItem], *, now: datetime) -> dict[int, Story]:
    """Return the stories of items of one merchant and mode, by their keys; transfers and checkouts are loaded."""
    namers = namers_of(items)
    pointed = {item.pk: _pointed(item, namers.get(item.pk, [])) for item in items}
    checkouts = {checkout.pk: checkout for checkout in pointed.values() if checkout is not None}
    expired = {pk: checkout for pk, checkout in checkouts.items() if checkout.status == CheckoutStatus.EXPIRED}
    asked, paid = _asked(checkouts), paid_otherwise([*expired.values()])
    known = _Known(asked, money_of_expired(expired) if expired else {}, _taken(items, pointed, asked, now), paid)
    return {item.pk: _story(item, pointed[item.pk], namers.get(item.pk, []), known) for item in items}


def rest_asked(item: InboxItem, checkout: Checkout, *, now: datetime) -> str:
    """Return what the page of an open checkout asks its buyer for once it has the item's money, which is not enough."""
    asked = _asked([checkout.pk])
    return _Known(asked, {}, _taken([item], {item.pk: checkout}, asked, now)).asked_for_rest(item, checkout)


def _rest_of(missing: int, shown: Sequence[AmountReservation]) -> tuple[Decimal, int] | None:
    """Return the price and the suffix that the page asks for, as `checkouts.reservations` chooses them; None if it has shown none."""
    return (price_of(missing), shown[-1].suffix) if shown and missing > 0 else None


def _taken(
    items: Sequence[InboxItem],
    pointed: Mapping[int, Checkout | None],
    asked: Mapping[int, Sequence[AmountReservation]],
    now: datetime,
) -> set[tuple[Decimal, int]]:
    """Return which of the amounts that the rests of these checkouts would have are held by others. Two queries at most."""
    amounts: set[tuple[Decimal, int]] = set()
    for item in items:
        checkout = pointed[item.pk]
        if checkout is None or checkout.is_final:
            continue
        own = item.transfer.token, item.transfer.priced_units
        missing = to_units(checkout.amount - checkout.amount_received) - value_of(checkout, [own])
        if (amount := _rest_of(missing, asked[checkout.pk])) is not None:
            amounts.add(amount)
    if not amounts:
        return set()
    prices, suffixes = zip(*amounts, strict=True)
    held = AmountReservation.objects.filter(
        merchant=items[0].merchant_id, mode=items[0].mode, released_at=None, price__in=prices, suffix__in=suffixes
    )
    lost = {*kept_back(now=now)}
    return {*held.values_list("price", "suffix")} | {amount for amount in amounts if amount[1] in lost}


def open_rows(items: Sequence[InboxItem], *, now: datetime) -> list[ItemRow]:
    """Return the list's rows of open items, with their stories."""
    stories, promised = stories_of(items, now=now), promised_back(items)
    return [_open_row(item, stories[item.pk], is_promised=item.pk in promised) for item in items]


def _open_row(item: InboxItem, story: Story, *, is_promised: bool) -> ItemRow:
    is_final = item.transfer.state == TransferState.CONFIRMED
    is_refundable = is_final and not is_promised and InboxAct.REFUNDED in acts_of(item)
    return item_row(item, story=story, is_promised=is_promised, is_refundable=is_refundable)


def story_of(item: InboxItem, *, now: datetime) -> Story:
    """Return the story of one item."""
    return stories_of([item], now=now)[item.pk]


def _pointed(item: InboxItem, namers: Sequence[Checkout]) -> Checkout | None:
    """Return the one checkout that rules and buyers name; None if they name none, or several."""
    named = {checkout.pk: checkout for checkout in namers}
    if item.checkout is not None:
        named[item.checkout.pk] = item.checkout
    return next(iter(named.values())) if len(named) == 1 else None


def _asked(ids: Iterable[int]) -> dict[int, list[AmountReservation]]:
    found: dict[int, list[AmountReservation]] = {pk: [] for pk in ids}
    for row in AmountReservation.objects.filter(checkout__in=list(found)).order_by("pk") if found else ():
        found[row.checkout_id].append(row)
    return found


def _story(item: InboxItem, checkout: Checkout | None, namers: Sequence[Checkout], known: _Known) -> Story:
    transfer = item.transfer
    money = f"{readable_units(int(transfer.units), transfer.decimals)} {transfer.token}"
    title = chain_spec(transfer.chain).title
    reason = InboxReason(item.reason)
    if reason == InboxReason.REVERSED:
        return Story(_lost(item, title, money), item.checkout, False, False, ())
    if checkout is None:
        came = gettext("%(money)s came on %(network)s.") % {"money": money, "network": title}
        return Story(f"{came} {_unclear(reason, namers)}", None, False, False, ())
    shown = known.asked.get(checkout.pk, [])
    is_named = any(one.pk == checkout.pk for one in namers)
    is_exact = transfer.priced_units in [_exact(row) for row in shown]
    facts = {"money": money, "when": _when(item, checkout, shown, known), "network": title}
    if is_named:
        came = gettext("%(money)s came %(when)s on %(network)s, and its buyer named this transaction.") % facts
    else:
        came = gettext("%(money)s came %(when)s on %(network)s.") % facts
    sentence = f"{came} {_difference(item, checkout, known)}".rstrip()
    return Story(sentence, checkout, is_named, is_exact, _deeds(item, checkout, known))


def _lost(item: InboxItem, network: str, money: str) -> str:
    facts = {"network": network, "money": money}
    if item.checkout is None:
        words = gettext(
            "%(network)s took %(money)s back. Its checkout had completed with it: hold the goods back if you still can."
        )
        return words % facts
    words = gettext(
        "%(network)s took %(money)s back. %(order)s had completed with it: hold the goods back if you still can."
    )
    return words % (facts | {"order": _name(item.checkout)})


def _unclear(reason: InboxReason, namers: Sequence[Checkout]) -> str:
    if len(namers) > 1:
        return gettext("%(count)s buyers named this transaction: ask them.") % {"count": len(namers)}
    if namers:
        words = gettext("The buyer of %(order)s named this transaction, but it points to another checkout too.")
        return words % {"order": _name(namers[0])}
    return f"{REASONS[reason].short}."


def _name(checkout: Checkout) -> str:
    return checkout.order_ref or checkout.public_id


def _exact(row: AmountReservation) -> int:
    return to_units(row.price) + row.suffix


def _when(item: InboxItem, checkout: Checkout, shown: Sequence[AmountReservation], known: _Known) -> str:
    """Return how the money's time compares with what the checkout's buyer was asked, or with its end."""
    came_at = item.transfer.block_time
    if checkout.pk in known.paid:
        return _needless(checkout)
    if checkout.status == CheckoutStatus.EXPIRED and came_at > checkout.expires_at:
        late = {"span": span(came_at - checkout.expires_at), "order": _name(checkout)}
        if checkout.cancelled_at:
            return gettext("%(span)s after %(order)s was cancelled") % late
        return gettext("%(span)s after %(order)s expired") % late
    if item.reason == InboxReason.EXTRA:
        return _needless(checkout)
    units = item.transfer.priced_units
    before = [row for row in shown if not is_older(came_at, row.reserved_at, named=_exact(row) == units)]
    if before and item.transfer.wallet_id is not None:
        time, amount = came_at - before[-1].reserved_at, readable(from_units(_exact(before[-1])))
        facts = {"span": span(time), "order": _name(checkout), "amount": amount}
        # The rules count a block of the same second as one after it.
        if time < BLOCK_SECOND:
            return gettext("as %(order)s asked for %(amount)s") % facts
        return gettext("%(span)s after %(order)s asked for %(amount)s") % facts
    if is_older(came_at, checkout.created_at, named=False):
        return gettext("before %(order)s was created") % {"order": _name(checkout)}
    time = came_at - checkout.created_at
    facts = {"span": span(time), "order": _name(checkout)}
    if time < BLOCK_SECOND:
        return gettext("as %(order)s was created") % facts
    return gettext("%(span)s after %(order)s was created") % facts


def _needless(checkout: Checkout) -> str:
    return gettext("for %(order)s, which was already paid,") % {"order": _name(checkout)}


def _difference(item: InboxItem, checkout: Checkout, known: _Known) -> str:
    """Return a sentence on what the checkout lacks, or has too much, with the money; empty if it fits or is not needed."""
    is_needless = item.reason in (InboxReason.EXTRA, InboxReason.RIVAL) or checkout.pk in known.paid
    if is_needless or checkout.status == CheckoutStatus.COMPLETED:
        return ""
    if not takes_worth_of(checkout, item.transfer.token):
        return ""
    if checkout.status == CheckoutStatus.EXPIRED and not known.takes_money(checkout):
        return gettext("Its money was accepted before.")
    units, price = known.units_with(item, checkout), to_units(checkout.amount)
    if units < needed_units(checkout.amount):
        return gettext("%(missing)s USD is missing.") % {"missing": readable_units(price - units)}
    if units > overpaid_above_units(checkout.amount):
        return gettext("It is %(over)s USD too much.") % {"over": readable_units(units - price)}
    return ""


def _deeds(item: InboxItem, checkout: Checkout, known: _Known) -> tuple[Deed, ...]:
    """Return what the evidence says should be done with money for a checkout, the best first."""
    if item.transfer.state != TransferState.CONFIRMED:
        return ()
    acts, units = acts_of(item), known.units_with(item, checkout)
    if checkout.status == CheckoutStatus.EXPIRED:
        is_asked = known.takes_money(checkout) and checkout.pk not in known.paid
        return _successor_deeds(item, checkout, units) if is_asked else ()
    if checkout.is_final or InboxAct.CREDIT not in acts or not remaining_units(checkout):
        return ()
    if units >= needed_units(checkout.amount):
        return (Deed(InboxAct.CREDIT, gettext("Credit this checkout"), checkout.public_id),)
    rest = known.asked_for_rest(item, checkout)
    return (
        Deed(InboxAct.CREDIT, gettext("Accept as paid"), checkout.public_id, _posted(units)),
        Deed(InboxAct.CREDIT, gettext("Ask for %(rest)s") % {"rest": rest}, checkout.public_id),
    )


def _successor_deeds(item: InboxItem, checkout: Checkout, units: int) -> tuple[Deed, ...]:
    acts, is_short = acts_of(item), units < needed_units(checkout.amount)
    label = gettext("Accept as paid") if is_short else gettext("Accept late payment")
    if item.checkout_id == checkout.pk and InboxAct.ACCEPT_LATE in acts:
        return (Deed(InboxAct.ACCEPT_LATE, label, accepted=_posted(units) if is_short else ""),)
    return (Deed(InboxAct.CREDIT, label, checkout.public_id, _posted(units)),) if InboxAct.CREDIT in acts else ()


def _posted(units: int) -> str:
    return f"{from_units(units):f}"
