"""The texts and numbers that the inbox's templates show of items, checkouts and decisions, in merchants' words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil
from types import MappingProxyType
from typing import Final

from django.utils.translation import gettext, gettext_noop

from accounts.models import User
from accounts.team.access import Seat
from checkouts.amounts import needed_units, overpaid_above_units
from checkouts.attribution.deposit_rules import is_older
from checkouts.inbox.queries import asked_amounts, find_checkouts, named_checkouts, near_checkouts
from checkouts.models import Checkout, InboxDecision, InboxItem
from checkouts.payloads import remaining_units
from checkouts.pricing import value_of
from checkouts.states import InboxAct, InboxReason, InboxStatus, RescueVerdict
from gateway.core.currencies import price_at, readable_price, usd_at
from gateway.core.money import readable_units, to_units
from rates.selectors import rate_now
from wallets.models import Transfer
from wallets.networks import chain_spec, is_of_dollars

_LATE: Final = (InboxReason.LATE, InboxReason.LATE_OUTAGE)
RULE: Final = gettext_noop("your rule for certain money")
_SECOND: Final = timedelta(seconds=1)
_MINUTE: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Words:
    """A title for a list, and its explanation, both in English; in the current language as `short` and `meaning`."""

    title: str
    explanation: str

    @property
    def short(self) -> str:
        """Return the title."""
        return gettext(self.title)

    @property
    def meaning(self) -> str:
        """Return the explanation."""
        return gettext(self.explanation)


SUM: Final = gettext_noop("The network tells only the sum that this transaction moved: it may be several payments.")
"""Added to the explanation of such a transfer."""

REASONS: Final = MappingProxyType(
    {
        InboxReason.REVERSED: Words(
            gettext_noop("The network reversed a payment"),
            gettext_noop(
                "A checkout had completed with this money, and its network has removed the transfer since. The "
                "checkout stays completed. Hold the goods back if you still can. If the transfer returns, it counts "
                "again."
            ),
        ),
        InboxReason.LATE: Words(
            gettext_noop("Arrived after its checkout had ended"),
            gettext_noop(
                "An expired or cancelled checkout never changes. You can accept the money: a new checkout with the "
                "same price and references takes it, and completes."
            ),
        ),
        InboxReason.LATE_OUTAGE: Words(
            gettext_noop("Sent in time, but we saw it too late"),
            gettext_noop(
                "The buyer paid in time. We could not read the network then, so the checkout expired before we saw "
                "the payment."
            ),
        ),
        InboxReason.EXTRA: Words(
            gettext_noop("Its checkout was already paid"),
            gettext_noop("The buyer paid twice, or sent a second part that was not needed."),
        ),
        InboxReason.WRONG_NETWORK: Words(
            gettext_noop("Wrong network or token for its checkout"),
            gettext_noop("This checkout could not be paid with this token on this network."),
        ),
        InboxReason.WRONG_TOKEN: Words(
            gettext_noop("A token that you do not accept"),
            gettext_noop(
                "It is a genuine token of its issuer, and it is in your wallet or on its way there. No checkout "
                "accepts it on this network, so it is in no total. Accept it by hand or send it back."
            ),
        ),
        InboxReason.DUST: Words(
            gettext_noop("Less than a cent"),
            gettext_noop("Transfers this small are nearly always spam. They are recorded and never matched."),
        ),
        InboxReason.UNMATCHED: Words(
            gettext_noop("No checkout asks for this amount"),
            gettext_noop("No evidence says which checkout this money is for."),
        ),
        InboxReason.AMBIGUOUS: Words(
            gettext_noop("Several checkouts fit"), gettext_noop("More than one checkout fits, so none was credited.")
        ),
        InboxReason.RIVAL: Words(
            gettext_noop("Credited while another checkout had just expired"),
            gettext_noop(
                "The only open checkout of this price was credited. If the other buyer paid, refund them or send "
                "them their order. To review such payments first, switch that on under Branding."
            ),
        ),
    }
)
DECIDED: Final = MappingProxyType(
    {
        InboxAct.CREDIT: gettext_noop("Credit"),
        InboxAct.ACCEPT_LATE: gettext_noop("Accept late"),
        InboxAct.REFUNDED: gettext_noop("Mark as refunded"),
        InboxAct.DISMISS: gettext_noop("Dismiss"),
    }
)
DOING: Final = MappingProxyType(
    {
        InboxAct.CREDIT: gettext_noop("Being credited"),
        InboxAct.ACCEPT_LATE: gettext_noop("Being accepted late"),
        InboxAct.REFUNDED: gettext_noop("Being marked as refunded"),
        InboxAct.DISMISS: gettext_noop("Being dismissed"),
    }
)
VERDICTS: Final = MappingProxyType(
    {
        RescueVerdict.CREDITED: gettext_noop("It pays this checkout."),
        RescueVerdict.NOT_FINAL: gettext_noop("It is on its way; the network is still confirming it."),
        RescueVerdict.WAITING: gettext_noop("It reached you, but nothing identifies its checkout."),
        RescueVerdict.SHORT: gettext_noop("It pays this checkout, but it is not enough."),
        RescueVerdict.LATE: gettext_noop("It arrived after the checkout had ended."),
        RescueVerdict.EXTRA: gettext_noop("It arrived when the checkout was already paid."),
        RescueVerdict.WRONG_NETWORK: gettext_noop("It was sent on a network that the checkout does not offer."),
        RescueVerdict.WRONG_TOKEN: gettext_noop("The checkout does not accept this token."),
        RescueVerdict.FAKE_TOKEN: gettext_noop("It is an unknown token that bears a genuine one's name."),
        RescueVerdict.OTHER_ADDRESS: gettext_noop(
            "It paid another address or its own sender, or is older than this checkout."
        ),
        RescueVerdict.FAILED: gettext_noop("The transaction failed, and moved no money."),
        RescueVerdict.NOT_FOUND: gettext_noop("We cannot find it on any network."),
        RescueVerdict.UNREACHABLE: gettext_noop("We could not search every network."),
    }
)


@dataclass(frozen=True, slots=True)
class Deed:
    """An act with its button's label. A credit names its `checkout`; `accepted` is the sum in USD accepted as full payment."""

    act: InboxAct
    label: str
    checkout: str = ""
    accepted: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """An item's sentence, and what the evidence says should be done: the first deed is primary. There may be none.

    `checkout` is the one that the evidence points to, `is_named` says that its buyer named the transaction, and `is_exact`
    that the money is an exact amount that its buyer was shown.
    """

    sentence: str
    checkout: Checkout | None
    is_named: bool
    is_exact: bool
    deeds: tuple[Deed, ...]


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One line of the list. `outcome` is the decision in one word; `story` is None for an item that is decided.

    `is_promised` says that a refund promises its money back, `is_refundable` that one can be asked for.
    """

    id: int
    amount: str
    token: str
    chain: str
    chain_title: str
    came_at: datetime
    words: Words
    explanation: str
    checkout: Checkout | None
    outcome: str
    decision: InboxDecision | None
    story: Story | None = None
    is_promised: bool = False
    is_refundable: bool = False


def item_row(
    item: InboxItem,
    *,
    decision: InboxDecision | None = None,
    story: Story | None = None,
    is_promised: bool = False,
    is_refundable: bool = False,
) -> ItemRow:
    """Return the list's row of an item."""
    transfer = item.transfer
    return ItemRow(
        id=item.pk,
        amount=readable_units(int(transfer.units), transfer.decimals),
        token=transfer.token,
        chain=transfer.chain,
        chain_title=chain_spec(transfer.chain).title,
        came_at=transfer.block_time,
        words=REASONS[InboxReason(item.reason)],
        explanation=f"{_why(item)} {gettext(SUM) if transfer.is_sum else ''}".strip(),
        checkout=item.checkout,
        outcome=outcome_of(item),
        decision=decision,
        story=story,
        is_promised=is_promised,
        is_refundable=is_refundable,
    )


def outcome_of(item: InboxItem) -> str:
    """Return an item's decision in one word; an alarm ends by itself once the network has the money again."""
    if (item.reason, item.status) == (InboxReason.REVERSED, InboxStatus.CREDITED):
        return gettext("Restored")
    return str(InboxStatus(item.status).label)


def item_rows(items: Iterable[InboxItem]) -> list[ItemRow]:
    """Return the rows of `checkouts.inbox.queries.items_in`."""
    return [item_row(item, decision=next(iter(getattr(item, "standing", ())), None)) for item in items]


def _why(item: InboxItem) -> str:
    match InboxReason(item.reason):
        case InboxReason.EXTRA:
            # For these items the reason explains enough.
            return ""
        case InboxReason.LATE if (over := _expired(item)) and not _came_back(item):
            late_by = item.transfer.block_time - over.expires_at
            return gettext("%(span)s after it expired.") % {"span": span(late_by)}
    return sentence(item.explanation)


def _expired(item: InboxItem) -> Checkout | None:
    """Return the item's checkout if it expired; None if it was cancelled instead."""
    checkout = item.checkout
    return checkout if checkout and checkout.cancelled_at is None else None


def _came_back(item: InboxItem) -> bool:
    """Return whether a reorg removed this money from the checkout earlier; such money may have been in time."""
    payment = getattr(item.transfer, "payment", None)
    return payment is not None and payment.checkout_id == item.checkout_id


def span(time: timedelta) -> str:
    """Format a duration for people."""
    minutes = int(time / _MINUTE)
    if minutes < 120:
        if minutes:
            return gettext("%(minutes)s min") % {"minutes": minutes}
        return gettext("%(seconds)s s") % {"seconds": int(time / _SECOND)}
    hours = minutes // 60
    if hours < 48:
        return gettext("%(hours)s h") % {"hours": hours}
    return gettext("%(days)s days") % {"days": hours // 24}


def sentence(words: str) -> str:
    """Turn a rule's words into a sentence; they begin in lower case and end without a full stop."""
    return f"{words[:1].upper()}{words[1:]}." if words else ""


@dataclass(frozen=True, slots=True)
class Worths:
    """What late money is in its checkout's own currency: `then` at the checkout's quote, `now` at the rate of now.

    `now` is empty while there is no agreed rate.
    """

    then: str
    now: str


def worths_of(item: InboxItem, *, now: datetime) -> Worths | None:
    """Return what late money for a converted price is worth then and now; None for all other items, without a query for a rate.

    The quote's margin counts in both, so that they are equal as long as the rate is.
    """
    checkout, transfer = item.checkout, item.transfer
    if checkout is None or item.reason not in _LATE or not is_of_dollars(transfer.token):
        return None
    quote = checkout.quote
    if quote is None:
        return None

    def told(usd: Decimal) -> str:
        worth = price_at(transfer.priced_units, quote.price, to_units(usd), quote.currency)
        return f"{readable_price(worth, quote.currency)} {quote.currency}"

    rate = rate_now(quote.currency, quote.price, now=now)
    return Worths(told(quote.usd_amount), told(usd_at(quote.price, rate, quote.margin)) if rate else "")


@dataclass(frozen=True, slots=True)
class CheckoutChoice:
    """A checkout that an item may be credited to, with the evidence for and against it.

    `received` is USD, empty for nothing. `difference` compares the money with what the checkout
    still needs. `asked` are exact amounts its buyer was shown; `is_exact` says that one of them arrived.
    """

    checkout: Checkout
    received: str
    difference: str
    fits: bool
    age: str
    asked: tuple[str, ...]
    is_exact: bool
    why_not: str
    is_likely: bool

    @property
    def is_open(self) -> bool:
        """Whether it still takes money."""
        return not self.checkout.is_final


def ranked_choices(seat: Seat, item: InboxItem) -> list[CheckoutChoice]:
    """Return the checkouts that the rules found, likeliest first, then live ones with a near price."""
    passed = {entry["checkout"]: entry["why_not"] for entry in item.candidates}
    by_id = named_checkouts(seat, passed)
    ranked = [by_id[public_id] for public_id in passed if public_id in by_id]
    probable = item.checkout
    if probable and not probable.is_final and probable.public_id not in passed:
        ranked.insert(0, probable)
    near = near_checkouts(seat, item.transfer.priced_units, but=[checkout.pk for checkout in ranked])
    found = choices_of(item.transfer, [*ranked, *near], passed)
    # Those that can be chosen come first; the order is kept otherwise.
    return sorted(found, key=lambda choice: not choice.is_open)


def found_choices(seat: Seat, item: InboxItem, text: str) -> list[CheckoutChoice]:
    """Return the checkouts of a search."""
    return choices_of(item.transfer, find_checkouts(seat, text), {})


def choices_of(transfer: Transfer, checkouts: Sequence[Checkout], passed: Mapping[str, str]) -> list[CheckoutChoice]:
    """Return the choices: each checkout compared with a transfer; `passed` has the rules' reasons against it."""
    asked = asked_amounts(checkouts)
    return [_choice(transfer, checkout, asked.get(checkout.pk, []), passed) for checkout in checkouts]


def _choice(transfer: Transfer, checkout: Checkout, asked: Sequence[int], passed: Mapping[str, str]) -> CheckoutChoice:
    worth = value_of(checkout, [(transfer.token, transfer.priced_units)])
    missing, is_exact = remaining_units(checkout), transfer.priced_units in asked
    received = to_units(checkout.amount_received)
    return CheckoutChoice(
        checkout=checkout,
        received=readable_units(received) if received else "",
        difference=_difference(worth, missing),
        fits=completes(checkout, worth),
        age=_age(checkout, transfer.block_time, named=is_exact),
        asked=tuple(readable_units(amount) for amount in asked),
        is_exact=is_exact,
        why_not=sentence(passed.get(checkout.public_id, "")),
        is_likely=checkout.public_id in passed,
    )


def _difference(units: int, missing: int) -> str:
    if not missing:
        return gettext("needs nothing more")
    if units == missing:
        return gettext("exactly what it needs")
    amount = {"amount": readable_units(abs(units - missing))}
    if units > missing:
        return gettext("%(amount)s more than it needs") % amount
    return gettext("%(amount)s less than it needs") % amount


def _age(checkout: Checkout, came_at: datetime, *, named: bool) -> str:
    """Return which came first, as the rules see it."""
    if is_older(came_at, checkout.created_at, named=named):
        return gettext("made after the money came")
    before = came_at - checkout.created_at
    if before < _SECOND:
        return gettext("made as the money came")
    return gettext("made %(span)s before the money came") % {"span": span(before)}


def completes(checkout: Checkout, units: int) -> bool:
    """Whether `units` more, in millionths of a USD, complete a checkout without overpaying it."""
    total = to_units(checkout.amount_received) + units
    return needed_units(checkout.amount) <= total <= overpaid_above_units(checkout.amount)


@dataclass(frozen=True, slots=True)
class PastDecision:
    """One decision in an item's history."""

    what: str
    who: str
    decided_at: datetime
    checkout: Checkout | None
    refund_tx: str
    came_of_it: str
    ended_at: datetime | None
    is_bad: bool


def history(decisions: Sequence[InboxDecision]) -> list[PastDecision]:
    """Return the decisions, newest first."""
    return [_step(decision) for decision in decisions]


def _step(decision: InboxDecision) -> PastDecision:
    came, ended_at = gettext("Takes effect soon."), None
    if decision.done_at:
        came, ended_at = gettext("It took effect."), decision.done_at
    elif decision.undone_at:
        came, ended_at = _undone(decision), decision.undone_at
    elif decision.failed_at:
        came, ended_at = decision.failure, decision.failed_at
    return PastDecision(
        what=gettext(DECIDED[InboxAct(decision.act)]),
        who=decided_by(decision),
        decided_at=decision.decided_at,
        checkout=decision.checkout,
        refund_tx=decision.refund_tx,
        came_of_it=came,
        ended_at=ended_at,
        is_bad=decision.failed_at is not None,
    )


def _undone(decision: InboxDecision) -> str:
    who = decision.undone_by
    return gettext("%(who)s undid it.") % {"who": named(who)} if who else gettext("It was undone.")


@dataclass(frozen=True, slots=True)
class Pending:
    """A decision that can still be undone; no seconds are left while it takes effect."""

    id: int
    what: str
    who: str
    checkout: Checkout | None
    due_at: datetime
    seconds_left: int


def pending(decisions: Sequence[InboxDecision], *, now: datetime) -> Pending | None:
    """Return the decision that can still be undone, or is about to take effect; None if there is none."""
    for decision in decisions:
        if not (decision.done_at or decision.undone_at or decision.failed_at):
            seconds = (decision.due_at - now) / _SECOND
            return Pending(
                id=decision.pk,
                what=gettext(DOING[InboxAct(decision.act)]),
                who=decided_by(decision),
                checkout=decision.checkout,
                due_at=decision.due_at,
                seconds_left=max(ceil(seconds), 0),
            )
    return None


def decided_by(decision: InboxDecision) -> str:
    """Return who made a decision: a person, or the merchant's rule for certain money, which has no actor."""
    return named(decision.actor) if decision.actor else gettext(RULE)


def named(person: User | None) -> str:
    """Return the name by which the team knows a person."""
    return (person.name or person.email) if person else gettext("A former team member")
