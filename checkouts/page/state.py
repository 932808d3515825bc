"""The hosted page's data, which templates only arrange. Equal values render equal pages.

The customer's references and the metadata are not included, so no template can show them by mistake.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from math import ceil
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from django.utils.translation import gettext_noop

from accounts.brand.facts import Brand
from checkouts.rescue.answers import RescueAnswer
from gateway.core.web.numbers import number_of
from wallets.chains.wallet_apps import WalletLink
from wallets.disruptions import DisruptionKind, Told

# Texts of `wallets.chains` about chains, which are not translated there.
BADGES = (gettext_noop("Recommended"), gettext_noop("High gas"))
ANY_APP = gettext_noop("Another Solana wallet")
# So many links into wallet apps are shown at once; the others are folded.
SHOWN_LINKS = 3
# From here on the countdown is highlighted.
SHORT_SECONDS = 300
_REFRESH = 15
_SETTLED_REFRESH = 60
# Characters of the id, all of them random: two receipts of a million share a number in one of two thousand shops.
RECEIPT_NUMBER_LENGTH = 10
_GROUP = 5


class Stage(StrEnum):
    """The page's five stages."""

    PAY = "pay"
    # After `expires_at` and before the decision: nothing may be sent, but a payment already sent may still arrive.
    CLOSED = "closed"
    SEEN = "seen"
    COMPLETED = "completed"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class PageQuery:
    """The chain and token a buyer asked for in the query string, unvalidated.

    `language` is a supported one; empty if the browser's preference applies.
    """

    chain: str = ""
    token: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class NetworkCard:
    """One network a buyer may choose."""

    chain: str
    name: str
    tokens: tuple[str, ...]
    confirm_seconds: int
    gas_tier: str
    badge: str | None
    is_exact: bool
    is_chosen: bool
    # What a transfer costs its sender now, such as `0.05` USD; empty where that is not known.
    fee: str = ""
    is_nearly_free: bool = False
    is_down: bool = False
    is_slow: bool = False
    # What disrupts it, in words; None while it is well.
    told: Told | None = None
    # All exact amounts of this price are taken, and this checkout has none.
    is_full: bool = False
    language: str = ""

    @property
    def is_closed(self) -> bool:
        """Whether it cannot be chosen now."""
        return self.is_down or self.is_full

    @property
    def is_halted(self) -> bool:
        """Whether it is down because it contradicts what was read from it: a person decides how it goes on."""
        return self.told is not None and self.told.kind == DisruptionKind.HALTED

    @property
    def shown_badge(self) -> str | None:
        """Return the word beside its name; a known fee says more than that it is high."""
        if self.is_closed or (self.fee and self.gas_tier == "high"):
            return None
        return self.badge

    @property
    def link(self) -> str:
        """Return the query string that chooses it, in the requested language."""
        return self.link_to(self.tokens[0])

    def link_to(self, token: str) -> str:
        """Return the query string that chooses it and a token, in the requested language."""
        query = {"chain": self.chain, "token": token}
        return "?" + urlencode(query | ({"lang": self.language} if self.language else {}))


@dataclass(frozen=True, slots=True)
class WalletRequest:
    """A payment request for a browser wallet: `units` of a token, as its contract counts them, to an address.

    `family` names the wallet's protocol. `chain_id` is hexadecimal; on Solana it is the Wallet Standard's name of the
    network, on TON TON Connect's.
    """

    family: str
    chain: str
    chain_id: str
    chain_name: str
    token_contract: str
    to: str
    units: int
    # Whether we may send it, so that the payer pays no network fee.
    is_free: bool
    # For adding a developer's own chain. Our URLs of public chains may contain a provider's key and stay secret.
    rpc_url: str


@dataclass(frozen=True, slots=True)
class ShownPayment:
    """A payment's amount and destination, formatted to read, copy and scan.

    `amount` is the number to type, `shown_amount` the same with thousands marks; the last `marked` characters are the digits
    that identify the checkout. `memo` and a reference inside the code exist on some exact-amount chains only. With
    `is_own_address` it is a contract that can pay only the merchant. `explorer_url` shows it; empty where no explorer knows it.
    """

    amount: str
    shown_amount: str
    marked: int
    address: str
    qr_text: str
    memo: str
    has_reference: bool
    # Of this page with this choice: opened in an app, or on a phone.
    page_url: str
    links: tuple[WalletLink, ...]
    # A developer's own network, which wallet apps do not know.
    is_local: bool
    wallet: WalletRequest | None
    is_own_address: bool = False
    explorer_url: str = ""

    @property
    def page_qr(self) -> str:
        """Return the address of the QR code that holds `page_url`, on this host."""
        page = urlsplit(self.page_url)
        return f"{page.path}/qr?{page.query}"

    @property
    def shown_links(self) -> tuple[WalletLink, ...]:
        """Return the links into the likeliest wallet apps."""
        return self.links[:SHOWN_LINKS]

    @property
    def folded_links(self) -> tuple[WalletLink, ...]:
        """Return the links into other wallet apps."""
        return self.links[SHOWN_LINKS:]

    @property
    def opens_page(self) -> bool:
        """Whether wallet apps open this page, rather than a payment that is filled in."""
        return any(link.opens_page for link in self.links)

    @property
    def price_digits(self) -> list[str]:
        """Return the price part of the amount, split at thousands separators."""
        digits = self.shown_amount[: len(self.shown_amount) - self.marked]
        return digits.split(",")

    @property
    def own_digits(self) -> str:
        """Return the digits that identify the checkout; empty if the address does."""
        return self.amount[len(self.amount) - self.marked :]

    @property
    def fills_amount(self) -> bool:
        """Whether scanning the code fills in the amount too."""
        return self.qr_text != self.address


@dataclass(frozen=True, slots=True)
class ChosenOption:
    """The chosen network and token.

    `payment` is None if it cannot be shown: see the network's card, or the exact amount was not requested yet.
    """

    network: NetworkCard
    token: str
    payment: ShownPayment | None

    @property
    def chain(self) -> str:
        """Return the chain's name in the API."""
        return self.network.chain

    @property
    def chain_name(self) -> str:
        """Return the chain's name for people."""
        return self.network.name


def _ends(text: str) -> str:
    return f"{text[:6]}…{text[-4:]}" if text else ""


@dataclass(frozen=True, slots=True)
class ReceiptTransfer:
    """A credited transfer, as a receipt shows it."""

    chain_name: str
    amount: str
    sender: str
    tx_hash: str
    url: str | None

    @property
    def short_sender(self) -> str:
        """Return both ends of the address, which people compare."""
        return _ends(self.sender)

    @property
    def short_hash(self) -> str:
        """Return both ends of the hash."""
        return _ends(self.tx_hash)


@dataclass(frozen=True, slots=True)
class Confirmations:
    """The confirmations of the least confirmed transfer, up to its chain's requirement."""

    count: int
    required: int
    seconds_left: int


@dataclass(frozen=True, slots=True)
class PageNews:
    """What the page tells without being asked: money that did not pay the checkout, and that its money `is_held` in escrow.

    With `has_late_money`, money that waits for a person, the checkout cannot be renewed, nor if a completed one took its money:
    `successor_url` is the address of that one's receipt, else empty.
    """

    told: tuple[RescueAnswer, ...] = ()
    has_late_money: bool = False
    successor_url: str = ""
    is_held: bool = False

    @property
    def is_taken(self) -> bool:
        """Whether an expired checkout's money came late or paid a successor."""
        return self.has_late_money or bool(self.successor_url)


class ShownSource(NamedTuple):
    """What a source said: USD for one, formatted for people, and when that was so."""

    name: str
    rate: str
    taken_at: datetime


@dataclass(frozen=True, slots=True)
class ShownRate:
    """A rate that a checkout is fixed at, formatted for people: USD for one unit of a currency. The first source gave it."""

    currency: str
    rate: str
    sources: tuple[ShownSource, ...]

    @property
    def is_single(self) -> bool:
        """Return whether no second source confirmed the rate."""
        return len(self.sources) == 1


@dataclass(frozen=True, slots=True)
class ShownQuote(ShownRate):
    """How a price was converted. `margin` is in per cent and may be empty."""

    usd: str
    margin: str


@dataclass(frozen=True, slots=True)
class CheckoutPage:
    """The page's data. Amounts with a unit are formatted, such as `29.00 USDC`."""

    stage: Stage
    status: str
    code: str
    public_id: str
    is_test: bool
    scenario: str
    brand: Brand
    price: str
    currency: str
    # None where the price is in USD.
    quote: ShownQuote | None
    # The rates of other tokens that are not one USD: of those that can be paid with, later of those that were.
    rates: tuple[ShownRate, ...]
    description: str
    accepted_tokens: tuple[str, ...]
    networks: tuple[NetworkCard, ...]
    target: ChosenOption | None
    is_part_paid: bool
    # A part of it was sent to the address that is shown now.
    is_same_address: bool
    # The price in USD; the next four are in the token that paid.
    usd: str
    total: str
    received: str
    received_number: str
    remaining: str
    excess: str
    # What refunds have sent back of its payments, in their token; empty for nothing.
    refunded: str
    is_all_refunded: bool
    # The merchant took less than the price as full payment.
    is_accepted: bool
    is_reversed: bool
    # A network that it was paid on was halted, and may have lost the payment.
    is_doubted: bool
    # Its merchant cancelled it before any payment.
    is_cancelled: bool
    news: PageNews
    may_begin_again: bool
    # The page on which to begin again instead; empty if there is none.
    again_url: str
    confirmations: Confirmations | None
    transfers: tuple[ReceiptTransfer, ...]
    return_url: str
    created_at: datetime
    expires_at: datetime
    paid_at: datetime | None
    # Paid a moment ago, so the buyer has not returned to the shop yet.
    is_just_paid: bool
    # The buyer's question and our answer.
    answer: RescueAnswer | None = None
    # The buyer's text was not a transaction hash.
    is_hash_unreadable: bool = False
    # Its address can be mailed to the buyer.
    is_mailable: bool = False
    # What is wrong with the network of a payment in doubt.
    doubt: Told | None = None
    # That the network took the payment back.
    reversal: Told | None = None
    # When the buyer signed what we did not get into a block, in seconds; 0 if nothing is like that.
    unused: int = 0
    # That what would pay the network's fee of this payment is nearly used up.
    gas: Told | None = None
    # That no server of the shop knows yet that it is paid, because of one that does not answer.
    unheard: Told | None = None

    @property
    def merchant_name(self) -> str:
        """Return the name by which the buyer knows the merchant."""
        return self.brand.name

    @property
    def sign(self) -> str:
        """Return what stands before the price: buyers read no code of dollars."""
        return "" if self.quote else "$"

    @property
    def priced(self) -> str:
        """Return the price within a sentence: `$25.00`, or `23.00 EUR`."""
        return f"{self.price} {self.currency}" if self.quote else f"${self.price}"

    @property
    def left_to_pay(self) -> str:
        """Return what the buyer is to send now, in the chosen token, as the page asks for it; else what remains."""
        target = self.target
        if target is None or target.payment is None:
            return self.remaining
        return f"{target.payment.shown_amount} {target.token}"

    @property
    def whole(self) -> str:
        """Return what payments must come to, within a sentence: `25.00`, or `23.00 EUR (25.03 USD)`."""
        return f"{self.priced} ({self.total} USD)" if self.quote else self.total

    @property
    def receipt_number(self) -> str:
        """Return a short number, such as `7H3KX-9QZ2M`: the beginning of the id, by which a merchant's search finds it."""
        number = self.public_id.rpartition("_")[2][:RECEIPT_NUMBER_LENGTH].upper()
        return f"{number[:_GROUP]}-{number[_GROUP:]}"

    @property
    def total_number(self) -> str:
        """Return the total as an HTML number."""
        return number_of(self.total)

    @property
    def begins_again(self) -> bool:
        """Return whether renewal is offered; never together with an answer that says not to pay again."""
        return (self.may_begin_again or bool(self.again_url)) and not self.forbids_paying

    @property
    def successor_url(self) -> str:
        """Return the receipt's address of the checkout that took an expired one's money; empty if there is none."""
        return self.news.successor_url

    @property
    def told(self) -> tuple[RescueAnswer, ...]:
        """Return what is told of money that did not pay it; a buyer who asked about some of it reads that in `answer`."""
        return tuple(one for one in self.news.told if one is not self.answer)

    @property
    def is_held(self) -> bool:
        """Whether it is paid, and the money is in escrow until its merchant releases it."""
        return self.news.is_held and self.is_completed

    @property
    def forbids_paying(self) -> bool:
        """Return whether money is told that may still pay the checkout."""
        told = self.told if self.answer is None else (self.answer, *self.told)
        return any(answer.forbids_paying for answer in told)

    @property
    def is_payable(self) -> bool:
        """Whether a buyer may send money now."""
        return self.stage == Stage.PAY

    @property
    def is_closed(self) -> bool:
        """Return whether the time is over but the outcome is still unknown."""
        return self.stage == Stage.CLOSED

    @property
    def is_seen(self) -> bool:
        """Whether all money is seen and waits for confirmations."""
        return self.stage == Stage.SEEN

    @property
    def is_completed(self) -> bool:
        """Whether the checkout is paid."""
        return self.stage == Stage.COMPLETED

    @property
    def is_expired(self) -> bool:
        """Whether the checkout ended unpaid."""
        return self.stage == Stage.EXPIRED

    @property
    def is_confirmed(self) -> bool:
        """Whether it is paid and nothing speaks against the payment: only then is there a receipt."""
        return self.is_completed and not self.is_reversed and not self.is_doubted

    @property
    def returns_by_itself(self) -> bool:
        """Return whether the buyer is redirected to the shop: only once, and not if there is news to read first."""
        has_news = self.is_reversed or self.is_doubted or self.answer is not None or self.is_hash_unreadable
        has_news = has_news or bool(self.told)
        is_due = self.is_completed and self.is_just_paid
        return is_due and bool(self.return_url) and not has_news

    @property
    def refresh_seconds(self) -> int:
        """Return how often a browser without scripts asks again; zero for a page that is being read.

        The page of an ended checkout may change too: late money may come, and a network may reverse a payment.
        """
        has_ended = self.is_completed or self.is_expired
        if self.is_hash_unreadable or (has_ended and self.answer):
            return 0
        return _SETTLED_REFRESH if has_ended else _REFRESH

    @property
    def network_names(self) -> str:
        """Return the names of the offered networks."""
        return ", ".join(card.name for card in self.networks)

    @property
    def token_names(self) -> str:
        """Return the offered tokens."""
        return " / ".join(self.accepted_tokens)

    @property
    def shown_networks(self) -> tuple[NetworkCard, ...]:
        """Return the networks that take the chosen token, the cheapest for the buyer first."""
        if self.target is None:
            return self.networks
        return tuple(card for card in self.networks if self.target.token in card.tokens)

    @property
    def offers_exact(self) -> bool:
        """Return whether the amount must be exact on any offered network."""
        return any(card.is_exact for card in self.networks)

    @property
    def addressed_networks(self) -> tuple[NetworkCard, ...]:
        """Return the networks that take the round price, at an address of the checkout's own, and can be paid on.

        Each leads to the chosen token where it takes that one.
        """
        token = self.target.token if self.target else ""
        return tuple(
            replace(card, tokens=tuple(sorted(card.tokens, key=lambda one: one != token)))
            for card in self.networks
            if not card.is_exact and not card.is_closed
        )

    @property
    def round_price_network(self) -> NetworkCard | None:
        """Return the first network that takes the round price, for buyers whose wallet rounds."""
        return next(iter(self.addressed_networks), None)

    def digest(self) -> str:
        """Return 32 hexadecimal digits that differ whenever the page would look different.

        Time alone changes nothing, nor does gas: an open page is not drawn again because its payment is minutes old, or because
        a fee rose.
        """
        return blake2b(repr(self._without_time()).encode(), digest_size=16).hexdigest()

    def _without_time(self) -> "CheckoutPage":
        networks = tuple(sorted((_without_fee(card) for card in self.networks), key=lambda card: card.chain))
        target = self.target and replace(self.target, network=_without_fee(self.target.network))
        return replace(self, is_just_paid=False, networks=networks, target=target)


def _without_fee(card: NetworkCard) -> NetworkCard:
    return replace(card, fee="", is_nearly_free=False)


@dataclass(frozen=True, slots=True)
class Clock:
    """The countdown. It is not part of the page's digest: it ticks in the browser."""

    seconds_left: int
    seconds_total: int

    @property
    def text(self) -> str:
        """Return the time left as `24:31`, or `1:24:31` from an hour on."""
        minutes, seconds = divmod(self.seconds_left, 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"

    @property
    def ring_offset(self) -> int:
        """Return how much of the ring is gone, in percent."""
        return 100 - 100 * self.seconds_left // max(self.seconds_total, 1)

    @property
    def is_short(self) -> bool:
        """Whether the time left is highlighted."""
        return self.seconds_left < SHORT_SECONDS


def clock_of(page: CheckoutPage, *, now: datetime) -> Clock:
    """Return the countdown as of `now`."""
    left = ceil((page.expires_at - now).total_seconds())
    total = ceil((page.expires_at - page.created_at).total_seconds())
    return Clock(seconds_left=min(max(left, 0), total), seconds_total=total)
