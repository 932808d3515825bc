"""Suggests an act for money in the inbox, and writes the confirmation text of each act."""

from collections.abc import Collection
from dataclasses import dataclass

from checkouts.amounts import needed_units, overpaid_above_units
from checkouts.inbox.rows import Choice, choices_of
from checkouts.inbox.successors import late_items, late_units
from checkouts.models import Checkout, InboxItem
from checkouts.payloads import remaining_units
from checkouts.states import InboxAct, InboxReason
from gateway.core.money import from_units, readable_units, to_units
from wallets.models import Transfer
from wallets.states import TransferState


@dataclass(frozen=True, slots=True)
class LateMoney:
    """The late money that a successor of an expired checkout would receive. `missing` is empty if it is enough.

    `accepted` is then empty too, else the sum in USD that a person may accept as full payment, to post.
    """

    checkout: Checkout
    have: str
    price: str
    missing: str
    accepted: str
    others: int

    @property
    def is_enough(self) -> bool:
        """Whether the successor would complete."""
        return not self.missing


def late_money(item: InboxItem) -> LateMoney | None:
    """Return the money that accepting an item would move; None if no expired checkout is known for it."""
    checkout = item.checkout
    if checkout is None:
        return None
    units, needed = late_units(item), needed_units(checkout.amount)
    price = to_units(checkout.amount)
    short = max(price - units, 0) if units < needed else 0
    return LateMoney(
        checkout=checkout,
        have=readable_units(units),
        price=readable_units(price),
        missing=readable_units(short) if short else "",
        accepted=f"{from_units(units):f}" if short and units else "",
        others=len([late for late in late_items(item) if late.pk != item.pk]),
    )


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The one act that the evidence points to: accept `late`, or credit the `choice`; the other is None."""

    late: LateMoney | None = None
    choice: Choice | None = None


def suggestion_of(item: InboxItem, acts: Collection[InboxAct], late: LateMoney | None) -> Suggestion | None:
    """Return the recommended act; None if several checkouts fit equally well, or the rules named none.

    Only a checkout that the rules named for this transfer counts: a near price is not evidence.
    """
    if late is not None and late.is_enough:
        return Suggestion(late=late)
    named = item.checkout
    if InboxAct.CREDIT in acts and named is not None and _asks(named):
        return Suggestion(choice=choices_of(item.transfer, [named], {})[0])
    return None


def _asks(checkout: Checkout) -> bool:
    return not checkout.is_final and bool(remaining_units(checkout))


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


def confirmation_of(item: InboxItem, act: InboxAct, checkout: Checkout | None) -> Confirmation:
    """Return the confirmation of an act; a credit names its `checkout`."""
    amount = readable_units(int(item.transfer.units), item.transfer.decimals)
    money = f"{amount} {item.transfer.token}"
    if act is InboxAct.CREDIT and checkout is not None:
        return _credit(item.transfer, checkout, money)
    if act is InboxAct.ACCEPT_LATE:
        return _accept_late(item, money)
    if act is InboxAct.REFUNDED:
        return Confirmation(
            f"Mark {money} as refunded?",
            label_of(item),
            item.checkout,
            "No checkout changes. The item moves to Resolved, with the transaction that sent the money back.",
            "Mark as refunded",
        )
    return _dismiss(item, money)


def _credit(transfer: Transfer, checkout: Checkout, money: str) -> Confirmation:
    [choice] = choices_of(transfer, [checkout], {})
    return Confirmation(
        f"Credit {money} to {checkout.order_ref or checkout.public_id}?",
        "Checkout",
        checkout,
        effect_of_credit(checkout, transfer),
        f"Credit {money}",
        tone="ok" if choice.fits else "warn",
    )


def effect_of_credit(checkout: Checkout, transfer: Transfer) -> str:
    """Return a text about the checkout's state after the credit."""
    total = to_units(checkout.amount_received) + int(transfer.units)
    price = to_units(checkout.amount)
    if total < needed_units(checkout.amount):
        return (
            f"The checkout will have {readable_units(total)} of {readable_units(price)} USD. It stays open:"
            f" {readable_units(price - total)} is missing."
        )
    is_final = transfer.state == TransferState.CONFIRMED
    when = "completes" if is_final else "completes once the network confirms the money"
    if total > overpaid_above_units(checkout.amount):
        over = readable_units(total - price)
        return f"The checkout {when}, overpaid by {over} USD, and checkout.completed is sent."
    return f"The checkout {when}, and checkout.completed is sent."


def _accept_late(item: InboxItem, money: str) -> Confirmation:
    late = late_money(item)
    is_short = late is not None and not late.is_enough
    return Confirmation(
        f"Accept {money} as full payment?" if is_short else f"Accept {money} that came late?",
        label_of(item),
        item.checkout,
        _effect_of_accepting(late),
        "Accept as paid" if is_short else "Accept late payment",
        tone="ok" if late and late.is_enough else "warn",
        is_possible=late is not None and (late.is_enough or bool(late.accepted)),
        accepted=late.accepted if late else "",
    )


def _effect_of_accepting(late: LateMoney | None) -> str:
    if late is None:
        return "No expired checkout matches this money."
    more = f", with {late.others} other late {_payments(late.others)}"
    received = f"{late.have} of {late.price} USD{more if late.others else ''}"
    if late.missing and not late.accepted:
        return "No money is left to accept."
    if late.missing:
        return (
            f"A new checkout with the same price and references receives {received}. {late.missing} USD is missing: you accept"
            " that. It completes at once with the exception underpaid, and checkout.completed is sent. The expired checkout"
            " stays expired."
        )
    return (
        f"A new checkout with the same price and references receives {received}. It completes at once, and"
        " checkout.completed is sent. The expired checkout stays expired."
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
