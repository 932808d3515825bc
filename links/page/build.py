"""Builds a link page's data, which templates only arrange. No clock, no HTTP.

References, metadata and addresses of subscribers are not included, so no template can show them by mistake; of an invoice its facts and line
items are, which are meant for who opens it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from hashlib import blake2b
from typing import Final

from accounts.brand.facts import Brand, brand_of
from accounts.states import Mode
from checkouts.amounts import MAX_AMOUNT, MIN_AMOUNT
from checkouts.line_items import Invoice, LineItem, invoice_of, line_items_of
from checkouts.page.build import cost_of, network_card
from checkouts.page.state import NetworkCard
from gateway.core.currencies import USD
from gateway.core.web.numbers import readable, readable_price
from links.models import PaymentLink, Subscription
from links.selectors import LastPayment, invoice_payments, paid_moments, payable_chains, subscriber_payments
from links.states import Interval, LinkStatus, LinkType, Standing
from links.subscriptions.periods import Coverage, coverage
from rates.selectors import is_sold_in
from wallets.networks import chain_spec
from wallets.selectors import Offerable, transfer_fees

# How long after a payment the page says thank you.
THANKS_FOR: Final = timedelta(hours=1)
_PRICED: Final = (LinkType.INVOICE, LinkType.CUSTOM)


class LinkStage(StrEnum):
    """The link page's stages."""

    OPEN = "open"
    PAID = "paid"
    DOUBTED = "doubted"
    REVERSED = "reversed"
    PAUSED = "paused"
    UNPRICED = "unpriced"
    """The operator took its currency out of PRICE_CURRENCIES: checkouts that exist go on, and no new one begins."""
    ARCHIVED = "archived"


class PaymentProblem(StrEnum):
    """Why the Pay button failed."""

    NONE = ""
    STALE = "stale"
    AMOUNT = "amount"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class SuggestedAmount:
    """A suggested amount: as sent, and as shown. `is_preset` is the one that the form begins with."""

    value: str
    label: str
    is_preset: bool = False


class Phase(StrEnum):
    """The state of a subscription. Only the phases from ENDING on ask for the next payment."""

    WAITING = "waiting"
    """Not paid yet."""
    THANKED = "thanked"
    """Paid a moment ago."""
    RUNNING = "running"
    ENDING = "ending"
    """Paid, and near enough to its end for the next payment."""
    ENDED = "ended"
    # The last payment is in doubt, or was reversed, and what it paid for has not ended.
    DOUBTED = "doubted"
    REVERSED = "reversed"


@dataclass(frozen=True, slots=True)
class Personal:
    """A subscriber's own data on their page. `covered` is None until the first payment completed."""

    covered: Coverage | None
    phase: Phase
    gets_mail: bool

    @property
    def is_running(self) -> bool:
        """Whether the page is about the present period, not about paying."""
        return self.phase not in {Phase.WAITING, Phase.ENDED}


@dataclass(frozen=True, slots=True)
class LinkPage:
    """The data of a link's page."""

    stage: LinkStage
    type: LinkType
    is_test: bool
    brand: Brand
    title: str
    description: str
    price: str
    currency: str
    interval: str
    least: str
    most: str
    suggestions: tuple[SuggestedAmount, ...]
    typed_amount: str
    accepted_tokens: tuple[str, ...]
    network_names: tuple[str, ...]
    # The networks that a press leads to, the cheapest for the payer first; only of an open link with a price.
    networks: tuple[NetworkCard, ...]
    personal: Personal | None
    # The code of the last paid checkout, if the page offers its receipt; else empty.
    receipt_code: str
    # What came, where the merchant accepted less than the price; else empty.
    accepted: str
    # Of an invoice: who is billed until when, and for what.
    invoice: Invoice | None = None
    items: tuple[LineItem, ...] = ()

    @property
    def sign(self) -> str:
        """Return what stands before the price: buyers read no code of dollars."""
        return "$" if self.currency == USD else ""

    @property
    def priced(self) -> str:
        """Return the price within a sentence: `$25.00`, or `23.00 EUR`."""
        return f"${self.price}" if self.currency == USD else f"{self.price} {self.currency}"

    @property
    def paid(self) -> str:
        """Return what the merchant received, within a sentence."""
        return f"${self.accepted}" if self.accepted else self.priced

    @property
    def is_about_a_payment(self) -> bool:
        """Whether it shows a payment, which a network may reverse, or one that is being made."""
        return self.personal is not None or self.stage in {LinkStage.PAID, LinkStage.DOUBTED, LinkStage.REVERSED}

    def digest(self) -> str:
        """Return 32 hexadecimal digits that differ whenever the page would look different."""
        return blake2b(repr(self).encode(), digest_size=16).hexdigest()

    @property
    def merchant_name(self) -> str:
        """Return the merchant's name as payers know it."""
        return self.brand.name

    @property
    def is_payable(self) -> bool:
        """Whether the merchant can be paid on any chain now."""
        return bool(self.accepted_tokens)


def build_link_page(link: PaymentLink, *, subscription: Subscription | None, now: datetime) -> LinkPage:
    """Build the page of a link whose merchant is loaded; `subscription` is the owner of a personal page."""
    chains = payable_chains(link)
    payment = _payment(link, subscription)
    stage = stage_of(link, None if subscription else payment)
    has_receipt = subscription is not None or stage == LinkStage.PAID
    return LinkPage(
        stage=stage,
        type=LinkType(link.type),
        is_test=link.mode == Mode.TEST,
        brand=brand_of(link.merchant),
        title=link.title,
        description=link.description,
        price=""
        if link.type == LinkType.DONATION or link.amount is None
        else readable_price(link.amount, link.currency),
        currency=link.currency,
        interval=link.interval,
        least=_written(link.min_amount or MIN_AMOUNT),
        most=_written(link.max_amount or MAX_AMOUNT),
        suggestions=tuple(_suggestion(value, link.amount) for value in link.suggested_amounts),
        typed_amount="" if link.amount is None else f"{link.amount:f}",
        accepted_tokens=tuple(sorted({token for chain in chains for token in chain.tokens})),
        network_names=tuple(chain_spec(chain.name).title for chain in chains),
        networks=_networks(link, chains) if stage == LinkStage.OPEN and link.type in _PRICED else (),
        personal=_personal(link, subscription, payment, now) if subscription else None,
        receipt_code=payment.code if payment and payment.standing == Standing.PAID and has_receipt else "",
        accepted=readable(payment.accepted) if payment and payment.accepted is not None else "",
        invoice=invoice_of(link.metadata) if link.type == LinkType.INVOICE else None,
        items=_items(link),
    )


def _items(link: PaymentLink) -> tuple[LineItem, ...]:
    if link.type != LinkType.INVOICE or link.amount is None:
        return ()
    found = line_items_of(link.metadata, amount=link.amount, currency=link.currency)
    return found.lines if found else ()


def _payment(link: PaymentLink, subscription: Subscription | None) -> LastPayment | None:
    if subscription is not None:
        return subscriber_payments([subscription.pk]).get(subscription.pk)
    return invoice_payments([link]).get(link.pk)


def stage_of(link: PaymentLink, payment: LastPayment | None) -> LinkStage:
    """Return the stage of a link's page. `payment` closed the invoice, also if it is in doubt or was reversed."""
    if link.status == LinkStatus.ARCHIVED:
        return LinkStage.ARCHIVED
    if payment is not None:
        return LinkStage(payment.standing)
    is_paused = link.status == LinkStatus.PAUSED or link.merchant.closed_at
    if is_paused:
        return LinkStage.PAUSED
    return LinkStage.OPEN if is_sold_in(link.currency) else LinkStage.UNPRICED


def _personal(link: PaymentLink, subscription: Subscription, payment: LastPayment | None, now: datetime) -> Personal:
    moments = paid_moments(subscription)
    covered = coverage(moments, Interval(link.interval))
    phase = _phase(covered, moments[-1], now) if covered else Phase.WAITING
    if payment and payment.standing != Standing.PAID and phase != Phase.ENDED:
        phase = Phase(payment.standing)
    return Personal(covered=covered, phase=phase, gets_mail=bool(subscription.email))


def _phase(covered: Coverage, paid_at: datetime, now: datetime) -> Phase:
    if now >= covered.until:
        return Phase.ENDED
    if now < paid_at + THANKS_FOR:
        return Phase.THANKED
    return Phase.ENDING if now >= covered.renewable_at else Phase.RUNNING


def _written(amount: Decimal | None) -> str:
    return "" if amount is None else f"{amount:,.2f}"


def _suggestion(value: str, preset: Decimal | None) -> SuggestedAmount:
    amount = Decimal(value)
    return SuggestedAmount(value, f"{amount:,.2f}".removesuffix(".00"), is_preset=amount == preset)


def _networks(link: PaymentLink, chains: Sequence[Offerable]) -> tuple[NetworkCard, ...]:
    # Simulated money costs nothing.
    fees = transfer_fees() if link.mode == Mode.LIVE else {}
    cards = (
        network_card(chain_spec(one.name), tokens=one.tokens, is_exact=one.destination is None, fee=fees.get(one.name))
        for one in chains
    )
    return tuple(sorted(cards, key=cost_of))
