"""Suggests an act for money in the inbox, and writes the confirmation text of each act."""

from dataclasses import dataclass

from checkouts.amounts import needed_units, overpaid_above_units
from checkouts.inbox.rows import Choice, Deed, Story, choices_of
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
    choice: Choice | None = None


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
    item: InboxItem, act: InboxAct, checkout: Checkout | None, *, accepts: bool = False
) -> Confirmation:
    """Return the confirmation of an act; a credit names its `checkout`, and `accepts` the sum that results as full payment."""
    amount = readable_units(int(item.transfer.units), item.transfer.decimals)
    money = f"{amount} {item.transfer.token}"
    if act is InboxAct.CREDIT and checkout is not None and checkout.is_final:
        return _accept_late(item, money, checkout, is_credit=True)
    if act is InboxAct.CREDIT and checkout is not None:
        return _accept_short(item.transfer, checkout, money) if accepts else _credit(item, checkout, money)
    if act is InboxAct.ACCEPT_LATE:
        return _accept_late(item, money, item.checkout)
    return _dismiss(item, money)


def _credit(item: InboxItem, checkout: Checkout, money: str) -> Confirmation:
    [choice] = choices_of(item.transfer, [checkout], {})
    name = checkout.order_ref or checkout.public_id
    units = to_units(checkout.amount_received) + value_of(checkout, [money_of(item.transfer)])
    if units < needed_units(checkout.amount):
        rest = rest_asked(item, checkout)
        question = f"Credit {money} to {name}, and ask its buyer for {rest}?"
        effect = (
            f"The checkout will have {readable_units(units)} of {checkout.asked_in_usd}. It stays open, and its page asks the"
            f" buyer for {rest}."
        )
    else:
        question, effect = f"Credit {money} to {name}?", _effect_of_enough(checkout, item.transfer, units)
    tone = "ok" if choice.fits else "warn"
    return Confirmation(question, "Checkout", checkout, effect, f"Credit {money}", tone=tone)


def _effect_of_enough(checkout: Checkout, transfer: Transfer, units: int) -> str:
    is_final = transfer.state == TransferState.CONFIRMED
    when = "completes" if is_final else "completes once the network confirms the money"
    if units > overpaid_above_units(checkout.amount):
        over = readable_units(units - to_units(checkout.amount))
        return f"The checkout {when}, overpaid by {over} USD, and checkout.completed is sent."
    return f"The checkout {when}, and checkout.completed is sent."


def shop_note(checkout: Checkout | None) -> str:
    """Return what a person has to do in the shop once late money of an expired checkout is accepted; "" if it is no plugin's."""
    match shop_of(checkout) if checkout is not None and checkout.status == CheckoutStatus.EXPIRED else "":
        case "":
            return ""
        case "Shopware":
            return "Shopware takes accepted late money for a part payment. Set the state of the order's payment to paid in Shopware."
    return "This order is of a shop plugin. Once late money is accepted, look in the shop whether the order is paid."


def _accept_short(transfer: Transfer, checkout: Checkout, money: str) -> Confirmation:
    units = to_units(checkout.amount_received) + value_of(checkout, [money_of(transfer)])
    price = to_units(checkout.amount)
    missing = f" {readable_units(price - units)} USD is missing: you accept that." if units < price else ""
    return Confirmation(
        f"Accept {money} as full payment?",
        "Checkout",
        checkout,
        f"The checkout will have {readable_units(units)} of {checkout.asked_in_usd}.{missing} It completes"
        " with the exception underpaid, and checkout.completed is sent.",
        "Accept as paid",
        accepted=f"{from_units(units):f}",
    )


def _accept_late(item: InboxItem, money: str, checkout: Checkout | None, *, is_credit: bool = False) -> Confirmation:
    late = late_money(item, checkout)
    is_short = late is not None and not late.is_enough
    return Confirmation(
        f"Accept {money} as full payment?" if is_short else f"Accept {money} that came late?",
        label_of(item) if checkout == item.checkout else "Expired checkout",
        checkout,
        _effect_of_accepting(late),
        "Accept as paid" if is_short else "Accept late payment",
        tone="ok" if late and late.is_enough else "warn",
        is_possible=late is not None and (late.is_enough or bool(late.accepted)),
        # A credit of an expired checkout names the sum that results, also if it is enough.
        accepted=(late.sum if is_credit else late.accepted) if late else "",
    )


def _effect_of_accepting(late: LateMoney | None) -> str:
    if late is None:
        return "No expired or cancelled checkout matches this money."
    more = f", with {late.others} other late {_payments(late.others)}"
    received = f"{late.have} of {late.price}{more if late.others else ''}"
    if late.missing and not late.accepted:
        return "No money is left to accept."
    if late.missing:
        return (
            f"A new checkout with the same price and references receives {received}. {late.missing} USD is missing: you accept"
            " that. It completes at once with the exception underpaid, and checkout.completed is sent. The old checkout"
            f" stays {status_text(late.checkout)}."
        )
    return (
        f"A new checkout with the same price and references receives {received}. It completes at once, and"
        f" checkout.completed is sent. The old checkout stays {status_text(late.checkout)}."
    )


def _payments(count: int) -> str:
    return "payment" if count == 1 else "payments"


def _dismiss(item: InboxItem, money: str) -> Confirmation:
    question = f"Dismiss {money}?"
    effect = "The money stays in your wallet. No checkout is credited."
    if item.reason == InboxReason.REVERSED:
        question = "Dismiss this alarm?"
        effect = "The money stays reversed, and the checkout stays completed."
    elif item.reason == InboxReason.RIVAL:
        question = "Dismiss this notice?"
        effect = "The payment stays credited, and no checkout changes."
    return Confirmation(question, label_of(item), item.checkout, f"{effect} The item moves to Resolved.", "Dismiss")


def label_of(item: InboxItem) -> str:
    """Return the label of the item's checkout: how it relates to the item."""
    match InboxReason(item.reason):
        case InboxReason.REVERSED:
            return "Had paid"
        case InboxReason.RIVAL:
            return "Credited to"
        case InboxReason.EXTRA:
            return "Sent for"
        case InboxReason.LATE | InboxReason.LATE_OUTAGE:
            is_cancelled = item.checkout and item.checkout.cancelled_at
            return "Cancelled checkout" if is_cancelled else "Expired checkout"
    return "Probably for"
