"""Suggests an act for money in the inbox, and writes the confirmation text of each act."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext, ngettext

from checkouts.amounts import needed_units, overpaid_above_units
from checkouts.inbox.rows import CheckoutChoice, Deed, Story, choices_of
from checkouts.inbox.stories import rest_asked
from checkouts.inbox.successors import late_items_with, late_units, money_of
from checkouts.models import Checkout, InboxItem
from checkouts.options import shop_of
from checkouts.payloads import status_text
from checkouts.pricing import value_of
from checkouts.states import CheckoutStatus, InboxAct, InboxReason
from gateway.core.money import from_units, readable_units, to_units
from wallets.models import Transfer
from wallets.states import TransferState
from wallets.transfers.doubts import doubted_of


@dataclass(frozen=True, slots=True)
class LateMoney:
    """The late money that a successor of an expired checkout would receive. `price` has its unit. `missing` is empty if it is enough.

    `accepted` is then empty too, else the sum in USD that a person may accept as full payment, to post. `sum` is the sum to
    post in any case.
    """

    checkout: Checkout
    have: str
    price: str
    missing: str
    accepted: str
    sum: str
    others: int

    @property
    def is_enough(self) -> bool:
        """Whether the successor would complete."""
        return not self.missing


def late_money(item: InboxItem, checkout: Checkout | None = None) -> LateMoney | None:
    """Return the money that accepting an item would move, for its own expired checkout or one chosen for it; None if none is known."""
    checkout = checkout or item.checkout
    if checkout is None:
        return None
    units, needed = late_units(item, checkout.pk), needed_units(checkout.amount)
    price = to_units(checkout.amount)
    short = max(price - units, 0) if units < needed else 0
    return LateMoney(
        checkout=checkout,
        have=readable_units(units),
        price=checkout.asked_in_usd,
        missing=readable_units(short) if short else "",
        accepted=f"{from_units(units):f}" if short and units else "",
        sum=f"{from_units(units):f}",
        others=len([late for late in late_items_with(item, checkout.pk) if late.pk != item.pk]),
    )


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What the evidence points to, as `deeds`: accept `late`, or credit the `choice`; the other is None."""

    deeds: tuple[Deed, ...]
    late: LateMoney | None = None
    choice: CheckoutChoice | None = None


def suggestion_of(item: InboxItem, story: Story) -> Suggestion | None:
    """Return the recommended acts; None if several checkouts fit equally well, or nothing names one.

    Only a checkout that the rules or its buyer named for this transfer counts: a near price is not evidence.
    """
    if not story.deeds or story.checkout is None:
        return None
    if story.checkout.is_final:
        return Suggestion(story.deeds, late=late_money(item, story.checkout))
    return Suggestion(story.deeds, choice=choices_of(item.transfer, [story.checkout], {})[0])


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The question before a decision. `checkout` is None if none is known; `label` says how it relates to the item.

    `tone` is ok or warn. `is_possible` is False if the act would have no effect. `accepted` is the sum in USD that is accepted
    although it is less than the price, empty if none is.
    """

    question: str
    label: str
    checkout: Checkout | None
    effect: str
    button: str
    tone: str = "warn"
    is_possible: bool = True
    accepted: str = ""


def confirmation_of(
    item: InboxItem, act: InboxAct, checkout: Checkout | None, *, now: datetime, accepts: bool = False
) -> Confirmation:
    """Return the confirmation of an act; a credit names its `checkout`, and `accepts` the sum that results as full payment."""
    amount = readable_units(int(item.transfer.units), item.transfer.decimals)
    money = f"{amount} {item.transfer.token}"
    if act is InboxAct.CREDIT and checkout is not None and checkout.is_final:
        return _accept_late(item, money, checkout, is_credit=True)
    if act is InboxAct.CREDIT and checkout is not None:
        return _accept_short(item.transfer, checkout, money) if accepts else _credit(item, checkout, money, now)
    if act is InboxAct.ACCEPT_LATE:
        return _accept_late(item, money, item.checkout)
    return _dismiss(item, money)


def _credit(item: InboxItem, checkout: Checkout, money: str, now: datetime) -> Confirmation:
    [choice] = choices_of(item.transfer, [checkout], {})
    units = to_units(checkout.amount_received) + value_of(checkout, [money_of(item.transfer)])
    told = {"money": money, "order": checkout.order_ref or checkout.public_id}
    if units < needed_units(checkout.amount):
        told |= {
            "rest": rest_asked(item, checkout, now=now),
            "total": readable_units(units),
            "price": checkout.asked_in_usd,
        }
        question = gettext("Credit %(money)s to %(order)s, and ask its buyer for %(rest)s?")
        effect = (
            gettext(
                "The checkout will have %(total)s of %(price)s. It stays open, and its page asks the buyer for %(rest)s."
            )
            % told
        )
    else:
        question = gettext("Credit %(money)s to %(order)s?")
        effect = _effect_of_enough(checkout, item.transfer, units)
    return Confirmation(
        question % told,
        gettext("Checkout"),
        checkout,
        effect,
        gettext("Credit %(money)s") % told,
        tone="ok" if choice.fits else "warn",
    )


def _effect_of_enough(checkout: Checkout, transfer: Transfer, units: int) -> str:
    is_final = transfer.state == TransferState.CONFIRMED and not doubted_of([transfer.pk])
    if units <= overpaid_above_units(checkout.amount):
        if is_final:
            return gettext("The checkout completes, and checkout.completed is sent.")
        return gettext("The checkout completes once the network confirms the money, and checkout.completed is sent.")
    if is_final:
        words = gettext("The checkout completes, overpaid by %(over)s USD, and checkout.completed is sent.")
    else:
        words = gettext(
            "The checkout completes once the network confirms the money, overpaid by %(over)s USD, and checkout.completed is sent."
        )
    return words % {"over": readable_units(units - to_units(checkout.amount))}


def shop_note(checkout: Checkout | None) -> str:
    """Return what a person has to do in the shop once late money of an expired checkout is accepted; "" if it is no plugin's."""
    match shop_of(checkout) if checkout is not None and checkout.status == CheckoutStatus.EXPIRED else "":
        case "":
            return ""
        case "Shopware":
            return gettext(
                "Shopware takes accepted late money for a part payment. Set the state of the order's payment to paid in Shopware."
            )
    return gettext(
        "This order is of a shop plugin. Once late money is accepted, look in the shop whether the order is paid."
    )


def _accept_short(transfer: Transfer, checkout: Checkout, money: str) -> Confirmation:
    units = to_units(checkout.amount_received) + value_of(checkout, [money_of(transfer)])
    price = to_units(checkout.amount)
    said = [gettext("The checkout will have %(total)s of %(price)s.")]
    if units < price:
        said.append(gettext("%(missing)s USD is missing: you accept that."))
    said.append(gettext("It completes with the exception underpaid, and checkout.completed is sent."))
    missing = readable_units(price - units)
    sums = {"total": readable_units(units), "price": checkout.asked_in_usd, "missing": missing}
    return Confirmation(
        gettext("Accept %(money)s as full payment?") % {"money": money},
        gettext("Checkout"),
        checkout,
        " ".join(said) % sums,
        gettext("Accept as paid"),
        accepted=f"{from_units(units):f}",
    )


def _accept_late(item: InboxItem, money: str, checkout: Checkout | None, *, is_credit: bool = False) -> Confirmation:
    late = late_money(item, checkout)
    is_short = late is not None and not late.is_enough
    return Confirmation(
        _question(is_short) % {"money": money},
        label_of(item) if checkout == item.checkout else gettext("Expired checkout"),
        checkout,
        _effect_of_accepting(late),
        gettext("Accept as paid") if is_short else gettext("Accept late payment"),
        tone="ok" if late and late.is_enough else "warn",
        is_possible=late is not None and (late.is_enough or bool(late.accepted)),
        # A credit of an expired checkout names the sum that results, also if it is enough.
        accepted=(late.sum if is_credit else late.accepted) if late else "",
    )


def _question(is_short: bool) -> str:
    return gettext("Accept %(money)s as full payment?") if is_short else gettext("Accept %(money)s that came late?")


def _effect_of_accepting(late: LateMoney | None) -> str:
    if late is None:
        return gettext("No expired or cancelled checkout matches this money.")
    if late.missing and not late.accepted:
        return gettext("No money is left to accept.")
    said = [_received(late)]
    if late.missing:
        said.append(gettext("%(missing)s USD is missing: you accept that.") % {"missing": late.missing})
        said.append(gettext("It completes at once with the exception underpaid, and checkout.completed is sent."))
    else:
        said.append(gettext("It completes at once, and checkout.completed is sent."))
    is_cancelled = status_text(late.checkout) == "cancelled"
    said.append(
        gettext("The old checkout stays cancelled.") if is_cancelled else gettext("The old checkout stays expired.")
    )
    return " ".join(said)


def _received(late: LateMoney) -> str:
    """Return what a new checkout receives of late money."""
    sums = {"have": late.have, "price": late.price, "others": late.others}
    if not late.others:
        words = gettext("A new checkout with the same price and references receives %(have)s of %(price)s.")
    else:
        words = ngettext(
            "A new checkout with the same price and references receives %(have)s of %(price)s, with %(others)s other late payment.",
            "A new checkout with the same price and references receives %(have)s of %(price)s, with %(others)s other late payments.",
            late.others,
        )
    return words % sums


def _dismiss(item: InboxItem, money: str) -> Confirmation:
    question = gettext("Dismiss %(money)s?") % {"money": money}
    effect = gettext("The money stays in your wallet. No checkout is credited.")
    if item.reason == InboxReason.REVERSED:
        question = gettext("Dismiss this alarm?")
        effect = gettext("The money stays reversed, and the checkout stays completed.")
    elif item.reason == InboxReason.RIVAL:
        question = gettext("Dismiss this notice?")
        effect = gettext("The payment stays credited, and no checkout changes.")
    moves = gettext("The item moves to Resolved.")
    return Confirmation(question, label_of(item), item.checkout, f"{effect} {moves}", gettext("Dismiss"))


def label_of(item: InboxItem) -> str:
    """Return the label of the item's checkout: how it relates to the item."""
    match InboxReason(item.reason):
        case InboxReason.REVERSED:
            return gettext("Had paid")
        case InboxReason.RIVAL:
            return gettext("Credited to")
        case InboxReason.EXTRA:
            return gettext("Sent for")
        case InboxReason.LATE | InboxReason.LATE_OUTAGE:
            is_cancelled = item.checkout and item.checkout.cancelled_at
            return gettext("Cancelled checkout") if is_cancelled else gettext("Expired checkout")
    return gettext("Probably for")
