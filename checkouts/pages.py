"""What the hosted page shows, worked out as plain data: no database, no clock, no HTTP.

`build_page` turns a checkout, its credited transfers and the buyer's choice into a `CheckoutPage`, and templates only
arrange it. The customer's references and the metadata never enter it, so no template can show them by mistake.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from hashlib import blake2b
from math import ceil
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.payloads import confirmations_of, remaining_units
from checkouts.rows import TransferRow
from checkouts.states import CheckoutException, CheckoutStatus, TestScenario
from gateway.core.money import CENT, EXACT, format_token, from_units
from wallets.chains.registry import ChainSpec
from wallets.chains.specs import Family
from wallets.networks import chains
from wallets.states import TransferState

# From here on the countdown asks for attention.
SHORT_SECONDS = 300


class Stage(StrEnum):
    """Which of the page's five faces is shown."""

    PAY = "pay"
    # Past `expires_at` and not decided yet: nothing may be sent any more, what was sent may still turn up.
    CLOSED = "closed"
    SEEN = "seen"
    COMPLETED = "completed"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Choice:
    """The chain and token a buyer asked for in the query string; anything may be in there."""

    chain: str = ""
    token: str = ""


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

    @property
    def link(self) -> str:
        """The query string that chooses it."""
        return "?" + urlencode({"chain": self.chain, "token": self.tokens[0]})


@dataclass(frozen=True, slots=True)
class WalletRequest:
    """What a browser wallet is asked to do: an ERC-20 transfer of `units` base units on `chain_id` (hexadecimal)."""

    chain_id: str
    chain_name: str
    token_contract: str
    to: str
    units: int
    # For adding a developer's own chain. Ours for public chains may carry a provider's key and stay secret.
    rpc_url: str


@dataclass(frozen=True, slots=True)
class Target:
    """What to send where. Without an address there is nothing to send yet (exact amounts not reserved)."""

    chain: str
    chain_name: str
    tokens: tuple[str, ...]
    token: str
    amount: str
    address: str | None
    wallet: WalletRequest | None


@dataclass(frozen=True, slots=True)
class ShownTransfer:
    """A credited transfer as a receipt shows it."""

    chain_name: str
    amount: str
    sender: str
    tx_hash: str
    url: str | None


@dataclass(frozen=True, slots=True)
class Confirmations:
    """How far the least confirmed transfer is, counted up to what its chain requires."""

    count: int
    required: int
    seconds_left: int


@dataclass(frozen=True, slots=True)
class CheckoutPage:
    """Everything the page shows. Amounts with a unit are ready to read, such as `29.00 USDC`."""

    stage: Stage
    code: str
    public_id: str
    is_test: bool
    scenario: str
    merchant_name: str
    merchant_mark: str
    price: str
    currency: str
    description: str
    accepted_tokens: tuple[str, ...]
    networks: tuple[NetworkCard, ...]
    target: Target | None
    is_part_paid: bool
    total: str
    received: str
    received_number: str
    remaining: str
    excess: str
    is_reversed: bool
    confirmations: Confirmations | None
    transfers: tuple[ShownTransfer, ...]
    return_url: str
    created_at: datetime
    expires_at: datetime
    paid_at: datetime | None

    @property
    def is_payable(self) -> bool:
        """Whether a buyer may send money now."""
        return self.stage == Stage.PAY

    @property
    def is_closed(self) -> bool:
        """Whether the time is over and the outcome still open."""
        return self.stage == Stage.CLOSED

    @property
    def is_seen(self) -> bool:
        """Whether all the money is seen and waits for confirmations."""
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
    def is_final(self) -> bool:
        """Whether the page will never change again."""
        return self.is_completed or self.is_expired

    @property
    def round_price_network(self) -> NetworkCard | None:
        """The first network that takes the round price, for buyers whose wallet rounds."""
        return next((card for card in self.networks if not card.is_exact), None)

    def digest(self) -> str:
        """Return 32 hexadecimal digits that differ whenever the page would look different."""
        return blake2b(repr(self).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Clock:
    """The countdown. It is no part of the page: it ticks in the browser, and a tick is no change."""

    seconds_left: int
    seconds_total: int

    @property
    def text(self) -> str:
        """The time left as `24:31`, or `1:24:31` from an hour on."""
        minutes, seconds = divmod(self.seconds_left, 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"

    @property
    def ring_offset(self) -> int:
        """How much of the ring is gone, in percent."""
        return 100 - 100 * self.seconds_left // max(self.seconds_total, 1)

    @property
    def is_short(self) -> bool:
        """Whether the time left asks for attention."""
        return self.seconds_left < SHORT_SECONDS


def clock_of(page: CheckoutPage, *, now: datetime) -> Clock:
    """Return the countdown as it stands at `now`."""
    left = ceil((page.expires_at - now).total_seconds())
    total = ceil((page.expires_at - page.created_at).total_seconds())
    return Clock(seconds_left=min(max(left, 0), total), seconds_total=total)


def build_page(
    checkout: Checkout, *, transfers: Sequence[TransferRow], choice: Choice, now: datetime
) -> CheckoutPage:
    """Work out the page of a checkout whose merchant is loaded; `transfers` are those credited to it, oldest first."""
    standing = [row for row in transfers if row.state != TransferState.ORPHANED]
    stage = _stage(checkout, now)
    chosen = _chosen_chain(checkout, choice, standing)
    target = _target(checkout, chosen, choice, standing) if stage == Stage.PAY and chosen else None
    unit = _unit(standing)
    received = checkout.amount_received
    return CheckoutPage(
        stage=stage,
        code=checkout.code,
        public_id=checkout.public_id,
        is_test=checkout.mode == Mode.TEST,
        scenario=checkout.test_scenario or TestScenario.COMPLETED,
        merchant_name=checkout.merchant.name,
        merchant_mark=merchant_mark(checkout.merchant.name),
        price=f"{EXACT.quantize(checkout.amount, CENT):,f}",
        currency=checkout.currency,
        description=checkout.description,
        accepted_tokens=_accepted_tokens(checkout),
        networks=_networks(checkout, chosen),
        target=target,
        is_part_paid=received > 0 and stage in {Stage.PAY, Stage.EXPIRED},
        total=plain_amount(checkout.amount),
        received=f"{plain_amount(received)} {unit}",
        received_number=plain_amount(received),
        remaining=f"{plain_amount(from_units(remaining_units(checkout)))} {unit}",
        excess=_excess(checkout, unit),
        is_reversed=checkout.exception == CheckoutException.REVERSED,
        confirmations=_confirmations(standing) if stage == Stage.SEEN else None,
        transfers=tuple(_shown(row) for row in standing),
        return_url=return_url(checkout),
        created_at=checkout.created_at,
        expires_at=checkout.expires_at,
        paid_at=checkout.paid_at,
    )


def plain_amount(amount: Decimal) -> str:
    """Write a token amount as people type it: at least two decimals, no zeros past them, no thousands marks."""
    whole, _, fraction = format_token(amount).partition(".")
    return f"{whole}.{fraction.rstrip('0').ljust(2, '0')}"


def merchant_mark(name: str) -> str:
    """Return the one or two initials that stand for a merchant without a logo."""
    words = [word for word in name.split() if word[0].isalnum()]
    return "".join(word[0] for word in words[:2]).upper()


def return_url(checkout: Checkout) -> str:
    """Return the merchant's redirect_url with `checkout_id` and `status` appended; empty where there is none."""
    parts = urlsplit(checkout.redirect_url)
    # Checked at creation; a link on a page that handles money is worth a second look.
    if parts.scheme not in {"http", "https"}:
        return ""
    ours = [("checkout_id", checkout.public_id), ("status", checkout.status)]
    query = parse_qsl(parts.query, keep_blank_values=True) + ours
    return urlunsplit(parts._replace(query=urlencode(query)))


def _stage(checkout: Checkout, now: datetime) -> Stage:
    match checkout.status:
        case CheckoutStatus.COMPLETED:
            return Stage.COMPLETED
        case CheckoutStatus.EXPIRED:
            return Stage.EXPIRED
        case CheckoutStatus.PROCESSING:
            return Stage.SEEN
    return Stage.PAY if now < checkout.expires_at else Stage.CLOSED


def _offered(checkout: Checkout) -> list[ChainSpec]:
    return [spec for name, spec in chains().items() if name in checkout.offers]


def _chosen_chain(
    checkout: Checkout, choice: Choice, standing: Sequence[TransferRow]
) -> ChainSpec | None:
    """The chain asked for, else the one already paid on, else the first that can be paid on at once."""
    offered = {spec.name: spec for spec in _offered(checkout)}
    used = [row.chain for row in reversed(standing)]
    ready = [name for name in offered if checkout.offers[name]["address"]]
    wanted = [choice.chain, *used, *ready, *offered]
    return next((offered[name] for name in wanted if name in offered), None)


def _target(
    checkout: Checkout, spec: ChainSpec, choice: Choice, standing: Sequence[TransferRow]
) -> Target:
    offer = checkout.offers[spec.name]
    tokens = tuple(offer["tokens"])
    used = [row.token for row in reversed(standing) if row.chain == spec.name]
    token = next(token for token in (choice.token, *used, tokens[0]) if token in tokens)
    return Target(
        chain=spec.name,
        chain_name=spec.title,
        tokens=tokens,
        token=token,
        amount=plain_amount(from_units(remaining_units(checkout))),
        address=offer["address"],
        wallet=_wallet_request(checkout, spec, token),
    )


def _wallet_request(checkout: Checkout, spec: ChainSpec, token: str) -> WalletRequest | None:
    address = checkout.offers[spec.name]["address"]
    is_real = checkout.mode == Mode.LIVE and spec.family is Family.EVM
    if not (is_real and address and spec.chain_id is not None and token in spec.tokens):
        return None
    return WalletRequest(
        chain_id=hex(spec.chain_id),
        chain_name=spec.title,
        token_contract=spec.tokens[token].address,
        to=address,
        units=remaining_units(checkout),
        rpc_url=spec.rpc_urls[0] if spec.is_local and spec.rpc_urls else "",
    )


def _networks(checkout: Checkout, chosen: ChainSpec | None) -> tuple[NetworkCard, ...]:
    return tuple(
        NetworkCard(
            chain=spec.name,
            name=spec.title,
            tokens=tuple(checkout.offers[spec.name]["tokens"]),
            confirm_seconds=spec.estimated_confirm_seconds,
            gas_tier=spec.gas_tier,
            badge=spec.badge,
            is_exact=spec.exact_amount_required,
            is_chosen=spec == chosen,
        )
        for spec in _offered(checkout)
    )


def _accepted_tokens(checkout: Checkout) -> tuple[str, ...]:
    offers = checkout.offers.values()
    return tuple(sorted({token for offer in offers for token in offer["tokens"]}))


def _unit(standing: Sequence[TransferRow]) -> str:
    """The token that was paid with; dollars where there were several, or none yet."""
    tokens = {row.token for row in standing}
    return tokens.pop() if len(tokens) == 1 else "USD"


def _excess(checkout: Checkout, unit: str) -> str:
    if checkout.exception != CheckoutException.OVERPAID:
        return ""
    return f"{plain_amount(checkout.amount_received - checkout.amount)} {unit}"


def _confirmations(standing: Sequence[TransferRow]) -> Confirmations | None:
    return min(map(_progress, standing), key=lambda progress: -progress.seconds_left, default=None)


def _progress(row: TransferRow) -> Confirmations:
    spec = chains()[row.chain]
    count = min(confirmations_of(row), spec.confirmations)
    if row.state == TransferState.CONFIRMED:
        return Confirmations(spec.confirmations, spec.confirmations, 0)
    missing = spec.confirmations - count
    return Confirmations(
        count=count,
        required=spec.confirmations,
        seconds_left=ceil(spec.estimated_confirm_seconds * missing / spec.confirmations),
    )


def _shown(row: TransferRow) -> ShownTransfer:
    spec = chains()[row.chain]
    # A simulated transfer has no transaction that an explorer could show.
    is_real = row.mode == Mode.LIVE and spec.explorer_tx is not None
    return ShownTransfer(
        chain_name=spec.title,
        amount=f"{plain_amount(from_units(row.units))} {row.token}",
        sender=row.sender,
        tx_hash=row.tx_hash,
        url=str(spec.explorer_tx).format(tx=row.tx_hash) if is_real else None,
    )
