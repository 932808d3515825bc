"""Works out what the hosted page shows, from rows already read: no database, no clock, no HTTP."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from math import ceil
from urllib.parse import urlencode, urlsplit, urlunsplit

from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.page_state import (
    CheckoutPage,
    Choice,
    Confirmations,
    NetworkCard,
    ShownTransfer,
    Stage,
    Target,
    WalletRequest,
)
from checkouts.payloads import confirmations_of, remaining_units
from checkouts.rows import TransferRow
from checkouts.states import CheckoutException, CheckoutStatus, TestScenario
from gateway.core.money import CENT, EXACT, format_token, from_units
from wallets.chains.registry import ChainSpec
from wallets.chains.specs import Family
from wallets.networks import chains
from wallets.states import TransferState


def build_page(
    checkout: Checkout,
    *,
    transfers: Sequence[TransferRow],
    choice: Choice,
    now: datetime,
) -> CheckoutPage:
    """Work out the page of a checkout whose merchant is loaded; `transfers` are those credited to it, oldest first."""
    standing = [row for row in transfers if row.state != TransferState.ORPHANED]
    stage = _stage(checkout, now)
    chosen = _chosen_chain(checkout, choice, standing)
    target = (
        _target(checkout, chosen, choice, standing)
        if stage == Stage.PAY and chosen
        else None
    )
    unit = _unit(standing)
    received = checkout.amount_received
    return CheckoutPage(
        stage=stage,
        status=checkout.status,
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
    ours = urlencode({"checkout_id": checkout.public_id, "status": checkout.status})
    # The merchant's own part stays as it is spelled: it may be signed, or no list of pairs at all.
    query = f"{parts.query}&{ours}" if parts.query else ours
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


def _wallet_request(
    checkout: Checkout, spec: ChainSpec, token: str
) -> WalletRequest | None:
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
    return min(
        map(_progress, standing),
        key=lambda progress: -progress.seconds_left,
        default=None,
    )


def _progress(row: TransferRow) -> Confirmations:
    spec = chains()[row.chain]
    count = min(confirmations_of(row), spec.confirmations)
    if row.state == TransferState.CONFIRMED:
        return Confirmations(spec.confirmations, spec.confirmations, 0)
    missing = spec.confirmations - count
    return Confirmations(
        count=count,
        required=spec.confirmations,
        seconds_left=ceil(
            spec.estimated_confirm_seconds * missing / spec.confirmations
        ),
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
