"""Builds the hosted page's data from rows already read: no clock, no HTTP.

The quote of a converted price, and the refunds of what was sent back, alone are read here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from math import ceil
from typing import Any
from urllib.parse import unquote_plus, urlencode, urlsplit, urlunsplit

from django.conf import settings
from django.utils.module_loading import import_string

from accounts.brand.facts import brand_of
from accounts.states import Mode
from checkouts.gas_free.rules import may_be_free
from checkouts.models import AmountReservation, Checkout, Quote
from checkouts.options import again_url, may_begin_again, payment_request, qr_text
from checkouts.page.state import (
    CheckoutPage,
    ChosenOption,
    Confirmations,
    NetworkCard,
    PageNews,
    PageQuery,
    ReceiptTransfer,
    ShownPayment,
    ShownQuote,
    ShownRate,
    ShownSource,
    Stage,
    WalletRequest,
)
from checkouts.payloads import checkout_url, confirmations_of, due_units, remaining_units
from checkouts.pricing import dues_of, token_sums, value_of
from checkouts.rescue.answers import RescueAnswer
from checkouts.rows import Refund, TransferRow
from checkouts.states import CheckoutException, CheckoutStatus, TestScenario
from gateway.core.currencies import readable_rate
from gateway.core.money import CENT, from_units
from gateway.core.web.numbers import number_of, readable, readable_price, readable_units
from wallets.chains.family import ChainSpec, PaymentRequest
from wallets.chains.wallet_apps import wallet_links
from wallets.disruptions import Disruption, DisruptionKind, Reader, Told, tell
from wallets.networks import chain_spec, known_chains, shown_address
from wallets.states import TransferState

_PRICE_DECIMALS = 2
# A chain with one of these takes no payment now.
_CLOSING = (DisruptionKind.HALTED, DisruptionKind.DOWN)
# What a tier of fees counts as where no fee is known.
_TIER_USD = {"low": CENT, "medium": Decimal(1), "high": Decimal(5)}
# Nothing more can be paid.
_ENDED = (Stage.SEEN, Stage.COMPLETED, Stage.EXPIRED)
# How long after the payment buyers may reopen the page to read it.
_JUST_PAID = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions besides the checkout that decide how it can be paid now.

    `reserved` is the exact amount held for what is due, `is_full` says that none is free. `disruptions` are the worst of each
    disrupted chain; a missing chain is fine. `fees` are what a transfer costs its sender, in USD, where that is known.
    """

    reserved: AmountReservation | None = None
    is_full: bool = False
    disruptions: Mapping[str, Disruption] = field(default_factory=dict)
    fees: Mapping[str, Decimal] = field(default_factory=dict)
    news: PageNews = field(default_factory=PageNews)


def build_page(
    checkout: Checkout,
    *,
    transfers: Sequence[TransferRow],
    choice: PageQuery,
    conditions: Conditions,
    now: datetime,
    answer: RescueAnswer | None = None,
) -> CheckoutPage:
    """Build the page of a checkout whose merchant is loaded; `transfers` are those credited to it, oldest first."""
    standing = [row for row in transfers if row.state != TransferState.ORPHANED]
    stage, networks = _stage(checkout, now), _networks(checkout, conditions, choice, standing)
    target = _target(checkout, conditions, networks, choice, standing) if stage == Stage.PAY else None
    received, news = checkout.amount_received, conditions.news
    is_reversed = checkout.exception == CheckoutException.REVERSED
    return CheckoutPage(
        stage=stage,
        status=checkout.status,
        code=checkout.code,
        public_id=checkout.public_id,
        is_test=checkout.mode == Mode.TEST,
        scenario=checkout.test_scenario or TestScenario.COMPLETED,
        brand=brand_of(checkout.merchant),
        **_priced(checkout),
        rates=_rates(checkout, standing if stage in _ENDED else None),
        description=checkout.description,
        accepted_tokens=_accepted_tokens(checkout),
        networks=networks,
        target=target,
        is_part_paid=received > 0 and stage in {Stage.PAY, Stage.EXPIRED},
        is_same_address=_is_same_address(checkout, target, standing),
        usd=readable(checkout.amount),
        **_money(checkout, standing),
        remaining=_remaining(checkout, standing, target),
        refunded=_refunded(checkout, standing),
        is_all_refunded=0 < received <= from_units(_returned(checkout, standing)),
        is_accepted=checkout.accepted_amount is not None,
        is_reversed=is_reversed,
        is_doubted=any(row.is_doubted for row in standing),
        is_cancelled=checkout.cancelled_at is not None,
        news=news,
        may_begin_again=may_begin_again(checkout) and not news.is_taken,
        again_url="" if news.is_taken else again_url(checkout),
        confirmations=_confirmations(standing) if stage == Stage.SEEN else None,
        transfers=tuple(_shown(row) for row in standing),
        return_url=return_url(checkout),
        **_times(checkout, now),
        answer=answer,
        reversal=tell(Disruption(DisruptionKind.REVERSED, affected=1), Reader.BUYER) if is_reversed else None,
    )


def doubt_of(transfers: Sequence[TransferRow], conditions: Conditions) -> Told | None:
    """Say what a payment's halted network means; None if none of these is in doubt, or its chain goes on again."""
    found = (conditions.disruptions.get(row.chain) for row in transfers if row.is_doubted)
    return next((tell(one, Reader.BUYER) for one in found if one and one.kind == DisruptionKind.HALTED), None)


def _priced(checkout: Checkout) -> dict[str, Any]:
    """Return what the merchant asked for, and how it was converted: `price`, `currency` and `quote` of the page."""
    price, currency = checkout.asked_amount, checkout.currency
    quote = None if checkout.quote is None else _shown_quote(checkout.quote)
    return {"price": readable_price(price, currency), "currency": currency, "quote": quote}


def _shown_quote(quote: Quote) -> ShownQuote:
    return ShownQuote(
        currency=quote.currency,
        usd=readable(quote.usd_amount),
        rate=readable_rate(quote.rate),
        margin=f"{(quote.margin * 100).normalize():f}" if quote.margin else "",
        sources=_sources(quote.evidence),
    )


def _sources(evidence: Sequence[Mapping[str, str]]) -> tuple[ShownSource, ...]:
    return tuple(
        ShownSource(one["name"], readable_rate(Decimal(one["rate"])), datetime.fromisoformat(one["taken_at"]))
        for one in evidence
    )


def _rates(checkout: Checkout, paid: Sequence[TransferRow] | None) -> tuple[ShownRate, ...]:
    """Return the rates of tokens that are not one USD, without that of the price's own currency; only of those that `paid`, if it is given."""
    dues = checkout.dues or {}
    tokens = dues.keys() if paid is None else dues.keys() & {row.token for row in paid}
    return tuple(
        ShownRate(currency=due["currency"], rate=readable_rate(Decimal(due["rate"])), sources=_sources(due["sources"]))
        for token, due in sorted(dues.items())
        if token in tokens and due["currency"] != checkout.currency
    )


def _times(checkout: Checkout, now: datetime) -> dict[str, Any]:
    paid_at = checkout.paid_at
    return {
        "created_at": checkout.created_at,
        "expires_at": checkout.expires_at,
        "paid_at": paid_at,
        "is_just_paid": paid_at is not None and now < paid_at + _JUST_PAID,
    }


def typed_amount(amount: Decimal) -> str:
    """Format a token amount for typing: as `readable`, without thousands separators."""
    return number_of(readable(amount))


def return_url(checkout: Checkout) -> str:
    """Return the merchant's redirect_url with `checkout_id` and `status`, which replace its own; empty if there is none."""
    parts = urlsplit(checkout.redirect_url)
    # Checked at creation; checked again, because the page handles money.
    if parts.scheme not in {"http", "https"}:
        return ""
    ours = {"checkout_id": checkout.public_id, "status": checkout.status}
    # The rest of the merchant's query stays byte for byte: it may be signed, or not be a list of pairs.
    kept = [pair for pair in parts.query.split("&") if unquote_plus(pair.partition("=")[0]) not in ours]
    given = "&".join(kept)
    query = f"{given}&{urlencode(ours)}" if given else urlencode(ours)
    return urlunsplit(parts._replace(query=query))


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
    return [spec for name, spec in known_chains().items() if name in checkout.offers]


def _networks(
    checkout: Checkout, conditions: Conditions, choice: PageQuery, standing: Sequence[TransferRow]
) -> tuple[NetworkCard, ...]:
    cards = [_card(checkout, spec, conditions) for spec in _offered(checkout)]
    # By priority, which does not change: what a buyer sees first must not become another address because gas did.
    chosen = _chosen(cards, conditions, choice, standing)
    shown = (replace(card, is_chosen=card.chain == chosen, language=choice.language) for card in cards)
    return tuple(sorted(shown, key=cost_of))


def cost_of(card: NetworkCard) -> Decimal:
    """Return what a network's transfer costs its sender, in USD, to sort by; without a known fee, by its tier."""
    return Decimal(card.fee) if card.fee else _TIER_USD.get(card.gas_tier, _TIER_USD["high"])


def shown_fee(usd: Decimal | None) -> str:
    """Return an estimate in USD for people: one digit of it, and at least a cent, such as `0.05`, `0.20` or `7`.

    Empty if there is none.
    """
    if usd is None:
        return ""
    step = max(CENT, Decimal(1).scaleb(usd.adjusted()))
    rounded = max(CENT, (usd / step).to_integral_value(ROUND_HALF_UP) * step)
    return f"{rounded:.0f}" if rounded >= 1 else f"{rounded:.2f}"


def _card(checkout: Checkout, spec: ChainSpec, conditions: Conditions) -> NetworkCard:
    disruption = conditions.disruptions.get(spec.name)
    offer = checkout.offers[spec.name]
    card = network_card(
        spec, tokens=offer["tokens"], is_exact=offer["address"] is None, fee=conditions.fees.get(spec.name)
    )
    return replace(
        card,
        is_down=disruption is not None and disruption.kind in _CLOSING,
        is_slow=disruption is not None and disruption.kind == DisruptionKind.DELAYED,
        told=tell(disruption, Reader.BUYER, is_unpaid=not checkout.amount_received) if disruption else None,
        is_full=card.is_exact and conditions.is_full,
    )


def network_card(spec: ChainSpec, *, tokens: Sequence[str], is_exact: bool, fee: Decimal | None) -> NetworkCard:
    """Return the card of a network that is well and not chosen; `fee` is what a transfer costs its sender, in USD."""
    return NetworkCard(
        chain=spec.name,
        name=spec.title,
        tokens=tuple(tokens),
        confirm_seconds=spec.estimated_confirm_seconds,
        gas_tier=spec.gas_tier,
        badge=spec.badge,
        is_exact=is_exact,
        is_chosen=False,
        fee=shown_fee(fee),
        is_nearly_free=fee is not None and fee < CENT,
    )


def _chosen(
    cards: Sequence[NetworkCard], conditions: Conditions, choice: PageQuery, standing: Sequence[TransferRow]
) -> str | None:
    """Return the chosen card: the chain asked for, else the one already paid on, else the first that can be paid at once.

    Without a chain, a token that was asked for leaves those that take it.
    """
    taking = [card for card in cards if choice.token in card.tokens] or cards
    usable = [card for card in taking if not card.is_closed]
    used = [row.chain for row in reversed(standing)]
    ready = [card for card in usable if not card.is_exact or conditions.reserved]
    wanted = [
        *(card.chain for card in cards if card.chain == choice.chain),
        *(chain for chain in used if chain in {card.chain for card in usable}),
        *(card.chain for card in (*ready, *usable, *taking)),
    ]
    return next(iter(wanted), None)


def _target(
    checkout: Checkout,
    conditions: Conditions,
    networks: Sequence[NetworkCard],
    choice: PageQuery,
    standing: Sequence[TransferRow],
) -> ChosenOption | None:
    network = next((card for card in networks if card.is_chosen), None)
    if network is None:
        return None
    used = [row.token for row in reversed(standing) if row.chain == network.chain]
    token = next(token for token in (choice.token, *used, network.tokens[0]) if token in network.tokens)
    request = (
        None
        if network.is_closed
        else payment_request(checkout, chain_spec(network.chain), token, reserved=conditions.reserved)
    )
    return ChosenOption(network=network, token=token, payment=_payment(checkout, network, request) if request else None)


def _is_same_address(checkout: Checkout, target: ChosenOption | None, standing: Sequence[TransferRow]) -> bool:
    """Return whether the address that is shown, one of the checkout's own, is the one that a part was sent to."""
    if target is None or target.payment is None:
        return False
    shown = checkout.offers[target.chain]["address"]
    used = {offer["address"] for row in standing if (offer := checkout.offers.get(row.chain))}
    return shown is not None and shown in used


def _payment(checkout: Checkout, network: NetworkCard, request: PaymentRequest) -> ShownPayment:
    # The page is drawn anew when the end moves. Links of the API have no end, because a shop may have printed them.
    request = replace(request, until=checkout.expires_at)
    due = from_units(request.units)
    amount = typed_amount(due)
    page_url = checkout_url(checkout.code) + network.link_to(request.token)
    is_real = checkout.mode == Mode.LIVE
    return ShownPayment(
        amount=amount,
        shown_amount=readable(due),
        marked=_decimals(amount) - _PRICE_DECIMALS if network.is_exact else 0,
        address=shown_address(request.address),
        qr_text=qr_text(request),
        memo=request.memo if request.spec.family.carries_memo else "",
        has_reference=request.spec.family.carries_reference,
        page_url=page_url,
        links=wallet_links(request, page_url=page_url, named=settings.WALLET_LINKS) if is_real else (),
        is_local=request.spec.is_local,
        wallet=_wallet_request(checkout, request) if is_real else None,
        # Nobody watches a simulated checkout's address, and no payment to it would be passed on.
        is_own_address=is_real and not network.is_exact,
        explorer_url=(request.spec.address_url(request.address) or "") if is_real else "",
    )


def _decimals(amount: str) -> int:
    return len(amount.partition(".")[2])


def _wallet_request(checkout: Checkout, request: PaymentRequest) -> WalletRequest | None:
    spec = request.spec
    chain_id = spec.family.wallets_chain_id(spec)
    if chain_id is None or request.token not in spec.tokens:
        return None
    is_own_chain = spec.family.wallets_add_chains and spec.is_local and spec.rpc_urls
    return WalletRequest(
        family=spec.family.name,
        chain=spec.name,
        chain_id=chain_id,
        chain_name=spec.title,
        token_contract=spec.tokens[request.token].address,
        to=request.address,
        units=request.contract_units,
        is_free=may_be_free(request, is_allowed=checkout.merchant.is_gas_free),
        rpc_url=spec.rpc_urls[0] if is_own_chain else "",
    )


def _accepted_tokens(checkout: Checkout) -> tuple[str, ...]:
    offers = checkout.offers.values()
    return tuple(sorted({token for offer in offers for token in offer["tokens"]}))


def _unit(standing: Sequence[TransferRow]) -> str:
    """Return the token that was paid with; USD if there are several, or none yet."""
    tokens = {row.token for row in standing}
    return tokens.pop() if len(tokens) == 1 else "USD"


def _money(checkout: Checkout, standing: Sequence[TransferRow]) -> dict[str, Any]:
    """Return what came and what it is of: `received`, `received_number`, `total` and `excess` of the page.

    They are in the token that paid. One of another currency counts in its own units; with others beside it all is in USD.
    """
    unit = _unit(standing)
    due = dues_of(checkout).get(unit)
    received, total = checkout.amount_received, checkout.amount
    if due is not None:
        received, total = from_units(sum(row.units for row in standing)), from_units(due)
    is_over = checkout.exception == CheckoutException.OVERPAID
    return {
        "total": readable(total),
        "received": f"{readable(received)} {unit}",
        "received_number": typed_amount(received),
        "excess": f"{readable(received - total)} {unit}" if is_over else "",
    }


def _remaining(checkout: Checkout, standing: Sequence[TransferRow], target: ChosenOption | None) -> str:
    """Return what is missing: in the token that paid, or USD; where either it or the one asked for is of another currency, in the latter."""
    unit, dues = _unit(standing), dues_of(checkout)
    asked = target.token if target else unit
    if not dues.keys() & {unit, asked}:
        return f"{readable_units(remaining_units(checkout))} {unit}"
    return f"{readable_units(due_units(checkout, asked, standing))} {asked}"


def _returned(checkout: Checkout, standing: Sequence[TransferRow]) -> int:
    return value_of(checkout, (row.sent_back for row in standing))


def _refunded(checkout: Checkout, standing: Sequence[TransferRow]) -> str:
    """Return what was sent back, in the token in which that was done, which need not be the one that paid; in USD if in several."""
    returned = _returned(checkout, standing)
    if not returned:
        return ""
    sums = token_sums(row.sent_back for row in standing if row.returned)
    if len(sums) == 1 and (only := next(iter(sums))) in dues_of(checkout):
        # It goes back in no other token.
        return f"{readable_units(sums[only])} {only}"
    paid_with = _unit(standing)
    refunds_of: Callable[[Sequence[int]], Sequence[Refund]] = import_string(settings.CHECKOUT_REFUNDS)
    refunds = refunds_of([row.transfer_id for row in standing])
    tokens = {refund.token for refund in refunds if refund.paid_at and refund.reversed_at is None} or {paid_with}
    return f"{readable_units(returned)} {tokens.pop() if len(tokens) == 1 else 'USD'}"


def _confirmations(standing: Sequence[TransferRow]) -> Confirmations | None:
    return min(map(_progress, standing), key=lambda progress: -progress.seconds_left, default=None)


def _progress(row: TransferRow) -> Confirmations:
    spec = chain_spec(row.chain)
    count = min(confirmations_of(row), spec.confirmations)
    if row.state == TransferState.CONFIRMED and not row.is_doubted:
        return Confirmations(spec.confirmations, spec.confirmations, 0)
    missing = spec.confirmations - count
    return Confirmations(
        count=count,
        required=spec.confirmations,
        seconds_left=ceil(spec.estimated_confirm_seconds * missing / spec.confirmations),
    )


def _shown(row: TransferRow) -> ReceiptTransfer:
    spec = chain_spec(row.chain)
    # A simulated transfer has no transaction in an explorer.
    url = spec.transaction_url(row.tx_hash) if row.mode == Mode.LIVE else None
    return ReceiptTransfer(
        chain_name=spec.title,
        amount=f"{readable_units(row.units)} {row.token}",
        sender=shown_address(row.sender),
        tx_hash=row.tx_hash,
        url=url,
    )
