"""The data of a checkout's page: equal data, equal page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Final

from django.db.models import F, Prefetch, Q
from django.utils.translation import gettext, gettext_noop

from accounts.states import Mode
from accounts.team.access import Seat
from checkouts.amounts import exact_units
from checkouts.customers import customer_url, named_customer
from checkouts.dashboard.timeline import (
    ShownDelivery,
    ShownEscrow,
    Step,
    TimelineRows,
    deliveries_of,
    escrow_of,
    timeline_of,
)
from checkouts.dashboard.words import IN_DOUBT, status_badge
from checkouts.inbox.acceptances import newest_acceptance, short_money
from checkouts.inbox.evidence import reported_transfers
from checkouts.inbox.rows import VERDICTS, Deed, ItemRow, Story, item_row, named, pending
from checkouts.inbox.service import acts_of
from checkouts.inbox.stories import stories_of
from checkouts.lifecycle.endings import reason_against_cancelling
from checkouts.lifecycle.escrow import releases_of
from checkouts.lifecycle.receipts import reason_against_receipt
from checkouts.line_items import LineItems, line_items_of
from checkouts.models import Acceptance, AmountReservation, BuyerReport, Checkout, InboxDecision, InboxItem
from checkouts.payloads import checkout_payload, checkout_url, confirmations_of, remaining_units
from checkouts.rows import TransferRow, credited_transfers
from checkouts.selectors import reserved_amount
from checkouts.states import FINAL, CheckoutStatus, CustomerKind, InboxAct, InboxReason, InboxStatus, RescueVerdict
from gateway.core import json
from gateway.core.json import indented
from gateway.core.money import from_units, readable, readable_units
from gateway.core.web.badges import Badge
from wallets.models import Transfer
from wallets.networks import chain_spec, known_chains, shown_address
from wallets.states import TransferState

_MOST_SHOWN: Final = 5
# Crediting needs a choice of another checkout, which the item's own page offers.
_LABELS: Final = ((InboxAct.REFUNDED, gettext_noop("Refund…")), (InboxAct.DISMISS, gettext_noop("Dismiss…")))

_PAUSE = 2
_PAUSE_AFTER_END = 10


@dataclass(frozen=True, slots=True)
class WaitingMoney:
    """An open inbox item of a checkout; with `is_lost`, money that its network took back.

    `deeds` are recommended, the first most; `acts` are values and labels of others. `doing` describes a decision that can
    still be undone; then there are neither. `seen` is the newest decision's key.
    """

    item_id: int
    amount: str
    network: str
    came_at: datetime
    why: str
    is_lost: bool
    deeds: tuple[Deed, ...]
    acts: tuple[tuple[str, str], ...]
    doing: str
    seen: int


def waiting_money(checkout: Checkout, *, now: datetime) -> tuple[WaitingMoney, ...]:
    """Return a checkout's open inbox items, and those that its buyer named, the newest first, at most five."""
    named = reported_transfers(checkout.merchant_id, Mode(checkout.mode), checkout=checkout).values("pk")
    of_checkout = Q(checkout=checkout) | Q(transfer__in=named)
    items = InboxItem.objects.filter(of_checkout, merchant=checkout.merchant_id, status=InboxStatus.OPEN)
    decided = InboxDecision.objects.select_related("actor", "checkout")
    found = items.select_related("transfer__payment", "checkout").prefetch_related(
        Prefetch("decisions", decided.order_by("-pk"), to_attr="newest_first")
    )
    shown = list(found.order_by("-pk")[:_MOST_SHOWN])
    stories = stories_of(shown, now=now)
    return tuple(_waiting(item, stories[item.pk], now) for item in shown)


def _why(row: ItemRow, story: Story) -> str:
    """Return a sentence on why the money waits; for late money that its buyer did not name, only how late it came."""
    if story.is_named:
        return story.sentence
    explanation = row.explanation or f"{row.words.short}."
    if not explanation[0].isdigit():
        return explanation
    return gettext("It came %(late)s") % {"late": explanation}


def _waiting(item: InboxItem, story: Story, now: datetime) -> WaitingMoney:
    decisions: list[InboxDecision] = getattr(item, "newest_first", [])
    row, waits = item_row(item), pending(decisions, now=now)
    allowed = set() if waits else acts_of(item)
    is_lost = item.reason == InboxReason.REVERSED
    return WaitingMoney(
        item_id=item.pk,
        amount=f"{row.amount} {row.token}",
        network=row.chain_title,
        came_at=row.came_at,
        why=row.words.meaning if is_lost else _why(row, story),
        is_lost=is_lost,
        deeds=() if waits else story.deeds,
        acts=tuple((act.value, gettext(label)) for act, label in _LABELS if act in allowed),
        doing=waits.what if waits else "",
        seen=decisions[0].pk if decisions else 0,
    )


@dataclass(frozen=True, slots=True)
class ShortPayment:
    """Money that may be accepted as full payment although `missing` is missing; `accepted` is its sum in USD, to post.

    `rest` is the exact amount that the page asks the buyer for now; empty if it asks for none. `failure` says why the last acceptance
    could not take effect; empty if there was none.
    """

    received: str
    missing: str
    rest: str
    accepted: str
    failure: str


@dataclass(frozen=True, slots=True)
class WaitingAcceptance:
    """An acceptance that takes effect at `due_at`; with `is_due` it can no longer be undone."""

    id: int
    amount: str
    who: str
    due_at: datetime
    is_due: bool


def _short_payment(
    checkout: Checkout, rows: Sequence[TransferRow], newest: Acceptance | None, now: datetime
) -> ShortPayment | None:
    if newest is not None and newest.failed_at is None:
        return None
    found = short_money(checkout, rows)
    if found is None:
        return None
    held = reserved_amount(checkout, now=now)
    return ShortPayment(
        received=readable(found.amount),
        missing=readable(found.missing),
        rest=readable_units(exact_units(held.price, held.suffix)) if held else "",
        accepted=f"{found.amount:f}",
        failure=newest.failure if newest else "",
    )


def _waiting_acceptance(newest: Acceptance | None, now: datetime) -> WaitingAcceptance | None:
    if newest is None or newest.done_at is not None or newest.failed_at is not None:
        return None
    amount, who = readable(newest.amount), named(newest.actor)
    return WaitingAcceptance(newest.pk, amount, who, newest.due_at, is_due=newest.due_at <= now)


@dataclass(frozen=True, slots=True)
class ShownTransfer:
    """A credited transfer. `url` leads to an explorer; None for a simulated one, or on a local chain."""

    chain: str
    network: str
    amount: str
    badge: Badge
    confirmations: int
    required: int
    tx_hash: str
    sender: str
    url: str | None
    detected_at: datetime


@dataclass(frozen=True, slots=True)
class NetworkOffer:
    """A network on which a checkout can be paid, and the address.

    `amount` is set if only the amount identifies the checkout.
    """

    chain: str
    network: str
    tokens: str
    address: str
    amount: str
    # Whether money came there.
    is_used: bool


@dataclass(frozen=True, slots=True)
class CustomerLink:
    """A customer that a checkout belongs to: in words, and the address of its page."""

    words: str
    url: str


@dataclass(frozen=True, slots=True)
class Report:
    """A transaction that a buyer reported as payment, and what was found."""

    tx_hash: str
    verdict: str
    reported_at: datetime


def _quote(checkout: Checkout) -> tuple[tuple[str, str], ...]:
    """Return the evidence of a converted price, by label; none for one in USD."""
    quote = checkout.quote
    if quote is None:
        return ()
    said = gettext("1 %(currency)s by %(source)s")
    told = [
        (said % {"currency": quote.currency, "source": one["name"]}, f"{one['rate']} USD, {one['taken_at']}")
        for one in quote.evidence
    ]
    margin = [(gettext("Your margin"), f"{(quote.margin * 100).normalize():f} %")] if quote.margin else []
    return ((gettext("Converted once to"), f"{readable(quote.usd_amount)} USD"), *told, *margin)


def _dues(checkout: Checkout) -> tuple[tuple[str, str], ...]:
    """Return the whole price in each token that is not one USD, and the rate that fixed it, by label."""
    return tuple(
        fact
        for token, due in sorted((checkout.dues or {}).items())
        for fact in (
            (gettext("Price in %(token)s") % {"token": token}, f"{readable_units(due['units'])} {token}"),
            *(
                (
                    gettext("%(token)s: 1 %(currency)s by %(source)s")
                    % {"token": token, "currency": due["currency"], "source": one["name"]},
                    f"{one['rate']} USD, {one['taken_at']}",
                )
                for one in due["sources"]
            ),
        )
    )


@dataclass(frozen=True, slots=True)
class CheckoutDetail:
    """A checkout as its merchant sees it."""

    public_id: str
    status: str
    badge: Badge
    # In USD, as what it received is.
    price: str
    # What the merchant said.
    asked: str
    received: str
    has_money: bool
    remaining: str
    description: str
    order_ref: str
    url: str
    customers: tuple[CustomerLink, ...]
    facts: tuple[tuple[str, str], ...]
    metadata: str
    items: LineItems | None
    steps: tuple[Step, ...]
    transfers: tuple[ShownTransfer, ...]
    offers: tuple[NetworkOffer, ...]
    reports: tuple[Report, ...]
    waiting: tuple[WaitingMoney, ...]
    short: ShortPayment | None
    acceptance: WaitingAcceptance | None
    doubted: tuple[str, ...]
    deliveries: tuple[ShownDelivery, ...]
    escrow: ShownEscrow | None
    predecessor: str
    successor: str
    body: str
    created_at: datetime
    expires_at: datetime
    is_cancellable: bool
    is_receipt_mailable: bool
    is_refundable: bool

    @property
    def receipt_url(self) -> str:
        """Return the buyer's receipt's address; empty before it is paid, and while the payment is reversed or in doubt."""
        return f"{self.url}/receipt" if self.is_receipt_mailable else ""

    @property
    def used_offers(self) -> tuple[NetworkOffer, ...]:
        """Return the networks on which money came."""
        return tuple(offer for offer in self.offers if offer.is_used)

    @property
    def other_offers(self) -> tuple[NetworkOffer, ...]:
        """Return the other networks on which it could be paid."""
        return tuple(offer for offer in self.offers if not offer.is_used)

    @property
    def is_open(self) -> bool:
        """Whether a buyer may still pay, so the page's link is worth sharing."""
        return self.status in {CheckoutStatus.PENDING, CheckoutStatus.UNDERPAID}

    @property
    def is_held(self) -> bool:
        """Whether it has money in escrow that waits for a release."""
        return self.has_money and self.escrow is not None and self.escrow.released_at is None

    @property
    def is_moving(self) -> bool:
        """Whether its state may change soon, so that the page polls."""
        waits = any(delivery.is_waiting for delivery in self.deliveries)
        # A network may reverse the payment of a completed one.
        return waits or self.acceptance is not None or self.status != CheckoutStatus.EXPIRED

    @property
    def pause(self) -> int:
        """Return the seconds between two polls: an endpoint that does not answer may be retried for days."""
        return _PAUSE_AFTER_END if self.status in FINAL and self.acceptance is None else _PAUSE

    def digest(self) -> str:
        """Return a digest of everything shown; it changes whenever the page looks different."""
        return blake2b(repr(self).encode(), digest_size=12).hexdigest()


def find_checkout(seat: Seat, public_id: str) -> Checkout | None:
    """Return a checkout of the merchant and mode, with its predecessor and successor loaded; None if there is none."""
    if "\x00" in public_id:
        return None
    mine = Checkout.objects.filter(merchant=seat.merchant, mode=seat.mode)
    related = mine.select_related("replaces", "replaced_by")
    return related.filter(public_id=public_id).first()


def detail_of(checkout: Checkout, seat: Seat, *, now: datetime) -> CheckoutDetail:
    """Return the data of a checkout's page for a team member."""
    rows = credited_transfers([checkout.pk]).get(checkout.pk, [])
    deliveries = deliveries_of(checkout)
    reports = list(checkout.buyer_reports.order_by("pk"))
    escrow = escrow_of(checkout)
    replaces = checkout.replaces.public_id if checkout.replaces else ""
    successor = getattr(checkout, "replaced_by", None)
    received = checkout.amount_received
    newest = newest_acceptance(checkout)
    history = TimelineRows(checkout, seat, rows, reports, successor, deliveries, escrow, newest)
    return CheckoutDetail(
        public_id=checkout.public_id,
        status=checkout.status,
        badge=status_badge(checkout, is_doubted=any(row.is_doubted for row in rows)),
        price=readable(checkout.amount),
        asked=checkout.asked,
        received=readable(received),
        has_money=received > 0,
        remaining=readable(from_units(remaining_units(checkout))),
        description=checkout.description,
        order_ref=checkout.order_ref,
        url=checkout_url(checkout.code),
        customers=tuple(_customers(checkout, seat, rows)),
        facts=(*_facts(checkout, seat), *_quote(checkout), *_dues(checkout)),
        metadata=seat.shown(indented(checkout.metadata)),
        items=line_items_of(seat.shown(checkout.metadata), amount=checkout.asked_amount, currency=checkout.currency),
        steps=timeline_of(history),
        transfers=tuple(map(_transfer, rows)),
        offers=_offers(checkout, rows),
        reports=tuple(map(_report, reports)),
        doubted=tuple(sorted({chain_spec(row.chain).title for row in rows if row.is_doubted})),
        waiting=waiting_money(checkout, now=now),
        short=_short_payment(checkout, rows, newest, now),
        acceptance=_waiting_acceptance(newest, now),
        deliveries=deliveries,
        escrow=escrow,
        predecessor=replaces,
        successor=successor.public_id if successor else "",
        body=seat.shown(_body(checkout, rows)),
        created_at=checkout.created_at,
        expires_at=checkout.expires_at,
        is_cancellable=not checkout.is_final and not reason_against_cancelling(checkout),
        is_receipt_mailable=not reason_against_receipt(checkout, rows),
        # What escrow holds is released first: a deposit address pays nobody but the merchant.
        is_refundable=checkout.is_final and _has_rest(checkout) and not (escrow and escrow.released_at is None),
    )


def _has_rest(checkout: Checkout) -> bool:
    """Return whether final money that paid a checkout is promised back to nobody yet."""
    final = Transfer.objects.filter(payment__checkout=checkout, state=TransferState.CONFIRMED)
    return final.filter(Q(sent_back=None) | Q(sent_back__reserved__lt=F("units"))).exists()


def _body(checkout: Checkout, rows: Sequence[TransferRow]) -> str:
    """Return the API's object of a checkout, indented."""
    replaces = checkout.replaces.public_id if checkout.replaces else None
    successor = getattr(checkout, "replaced_by", None)
    released_by = releases_of([checkout]).get(checkout.pk)
    body = checkout_payload(
        checkout,
        rows,
        replaces=replaces,
        replaced_by=successor.public_id if successor else None,
        released_by=released_by,
    )
    return indented(json.dumps(body).decode())


def _facts(checkout: Checkout, seat: Seat) -> tuple[tuple[str, str], ...]:
    scenario = str(checkout.get_test_scenario_display())
    named = (
        (gettext("Order reference"), checkout.order_ref),
        (gettext("Customer reference"), checkout.customer_ref),
        (gettext("Product reference"), checkout.product_ref),
        (gettext("Customer e-mail"), checkout.customer_email),
        (gettext("Returns to"), checkout.redirect_url),
        (gettext("Webhooks to"), checkout.webhook_url),
        (gettext("Test scenario"), scenario),
    )
    return tuple((name, seat.shown(value)) for name, value in named if value)


def _transfer(row: TransferRow) -> ShownTransfer:
    spec = chain_spec(row.chain)
    # A simulated transfer has no transaction in an explorer.
    url = spec.transaction_url(row.tx_hash) if row.mode == Mode.LIVE else None
    return ShownTransfer(
        chain=row.chain,
        network=spec.title,
        amount=f"{readable_units(row.units)} {row.token}",
        badge=IN_DOUBT if row.is_doubted else TransferState(row.state).badge,
        confirmations=min(confirmations_of(row), spec.confirmations),
        required=spec.confirmations,
        tx_hash=row.tx_hash,
        sender=shown_address(row.sender),
        url=url,
        detected_at=row.detected_at,
    )


def _customers(checkout: Checkout, seat: Seat, rows: Sequence[TransferRow]) -> Iterator[CustomerLink]:
    named = [
        (CustomerKind.REF, gettext("Same customer reference"), checkout.customer_ref),
        (CustomerKind.EMAIL, gettext("Same e-mail address"), checkout.customer_email),
        *(
            (CustomerKind.ADDRESS, gettext("Same paying address"), sender)
            for sender in dict.fromkeys(row.sender for row in rows)
        ),
    ]
    for kind, words, value in named:
        if customer := named_customer(seat, kind, value):
            yield CustomerLink(words, customer_url(seat, customer))


def _offers(checkout: Checkout, rows: Sequence[TransferRow]) -> tuple[NetworkOffer, ...]:
    used, places = {row.chain for row in rows}, list(known_chains())
    held = AmountReservation.objects.filter(checkout=checkout, released_at=None)
    newest = held.order_by("-pk").first()
    amount = readable(newest.price + from_units(newest.suffix)) if newest else ""
    return tuple(
        NetworkOffer(
            chain=chain,
            network=chain_spec(chain).title,
            tokens=", ".join(offer["tokens"]),
            address=shown_address(offer["address"] or offer["wallet"]),
            amount="" if offer["address"] else amount,
            is_used=chain in used,
        )
        # The database sorts an object's keys by their length.
        for chain, offer in sorted(checkout.offers.items(), key=lambda item: places.index(item[0]))
    )


def _report(report: BuyerReport) -> Report:
    return Report(
        tx_hash=report.tx_hash, verdict=gettext(VERDICTS[RescueVerdict(report.verdict)]), reported_at=report.reported_at
    )
