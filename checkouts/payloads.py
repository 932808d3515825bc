"""Serializes checkouts for the API and the webhooks. Both use one function, so they always agree."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from operator import itemgetter
from typing import Any

import orjson
from django.conf import settings

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.amounts import needed_units
from checkouts.models import Checkout
from checkouts.pricing import dues_of, token_sums, units_to_send, value_of, value_units
from checkouts.rows import AnyCheckout, TransferRow, credited_transfers
from checkouts.states import CheckoutStatus, EscrowStatus
from gateway.core.currencies import format_price, format_rate
from gateway.core.ids import new_code
from gateway.core.money import format_token, format_units, format_usd, to_units
from gateway.core.times import iso, iso_or_none
from wallets.networks import chain_spec
from wallets.states import TransferState

_WITHOUT_PAYMENT = {CheckoutStatus.PENDING, CheckoutStatus.EXPIRED}


def checkout_url(code: str) -> str:
    """Return the address of the hosted page."""
    return f"{settings.CHECKOUT_HOST}/c/{code}"


def checkout_payload(
    checkout: AnyCheckout,
    transfers: Sequence[TransferRow],
    *,
    replaces: str | None,
    replaced_by: str | None = None,
    released_by: str | None,
) -> dict[str, Any]:
    """Return the checkout object of `GET /checkouts/{id}`.

    `amount` is what the merchant asked for in `currency`; all other amounts are in tokens, one for a dollar: of a token that is
    not one, its worth. `transfers` are those credited to it; `replaces` is the public id of the checkout it succeeds, `replaced_by` that of its
    successor; `released_by` says who released its money, if it is in escrow.
    """
    return {
        "id": checkout.public_id,
        "status": checkout.status,
        "amount": price_text(checkout),
        "currency": checkout.currency,
        **_quoted(checkout),
        **_dues(checkout),
        "description": checkout.description or None,
        "metadata": orjson.Fragment(checkout.metadata),
        "checkout_url": checkout_url(checkout.code),
        "references": references_payload(checkout),
        "payment": _payment(checkout, transfers),
        "expires_at": iso(checkout.expires_at),
        "created_at": iso(checkout.created_at),
        "livemode": checkout.mode == "live",
        "amount_received": format_token(checkout.amount_received),
        "amount_remaining": format_units(remaining_units(checkout)),
        "amount_refunded": format_units(value_of(checkout, (transfer.sent_back for transfer in transfers))),
        "exception": checkout.exception or None,
        "paid_at": iso_or_none(checkout.paid_at),
        "cancelled": checkout.cancelled_at is not None,
        "replaces": replaces,
        "replaced_by": replaced_by,
        "transfers": [_transfer(transfer) for transfer in transfers],
        "escrow": checkout.escrow,
        "escrow_status": escrow_status(checkout, released_by),
        "escrow_released_by": released_by or None,
    }


def price_text(checkout: AnyCheckout) -> str:
    """Return what the merchant asked for, with its currency's decimals."""
    if checkout.price is None:
        return format_usd(checkout.amount)
    return format_price(checkout.price, checkout.currency)


def _quoted(checkout: AnyCheckout) -> dict[str, Any]:
    """Return `quote` of a price that was converted; nothing for one in USD, which no client of the specification sees changed."""
    quote = checkout.quote
    if quote is None:
        return {}
    return {
        "quote": {
            "usd_amount": format_usd(quote.usd_amount),
            "rate": format_rate(quote.rate),
            "margin": f"{quote.margin:.4f}",
            "sources": quote.evidence,
            "taken_at": iso(quote.taken_at),
            "expires_at": iso(checkout.expires_at),
        }
    }


def _dues(checkout: AnyCheckout) -> dict[str, Any]:
    """Return `dues`: the whole price in each token that is not one USD; nothing where all of its tokens are."""
    dues = checkout.dues
    if not dues:
        return {}
    told = {
        token: {
            "amount": format_units(due["units"]),
            "currency": due["currency"],
            "rate": due["rate"],
            "sources": due["sources"],
            "taken_at": due["taken_at"],
        }
        for token, due in dues.items()
    }
    return {"dues": told}


def escrow_status(checkout: AnyCheckout, released_by: str | None) -> str | None:
    """Return whether a checkout's money is still held; None without escrow."""
    if not checkout.escrow:
        return None
    return EscrowStatus.RELEASED if released_by else EscrowStatus.HELD


def status_text(checkout: AnyCheckout) -> str:
    """Return a checkout's status for sentences: `cancelled` where its merchant ended it, else the status."""
    return str(checkout.status) if checkout.cancelled_at is None else "cancelled"


def references_payload(checkout: AnyCheckout) -> dict[str, Any]:
    """Return the references object."""
    return {
        "customer_ref": checkout.customer_ref or None,
        "product_ref": checkout.product_ref or None,
        "order_ref": checkout.order_ref or None,
        "ambiguity_resolution_armed": bool(checkout.customer_ref and checkout.product_ref),
    }


def remaining_units(checkout: AnyCheckout) -> int:
    """Return the amount due in base units; 0 once the rest is within the tolerance, or accepted."""
    received = to_units(checkout.amount_received)
    if received >= needed_units(checkout.amount, checkout.accepted_amount):
        return 0
    return to_units(checkout.amount) - received


def due_units(checkout: AnyCheckout, token: str, standing: Sequence[TransferRow] | None = None) -> int:
    """Return the amount due in a token's base units; 0 once the rest is within the tolerance, or accepted.

    `standing` are the credited transfers that are on their chains. They are read where they are needed and not given: for what
    is left of a price in a token of another currency.
    """
    rest, dues = remaining_units(checkout), dues_of(checkout)
    if not rest or token not in dues:
        return rest
    if standing is None:
        credited = credited_transfers([checkout.id]).get(checkout.id, []) if checkout.amount_received else []
        standing = [row for row in credited if row.state != TransferState.ORPHANED]
    money = [row.money for row in standing]
    return units_to_send(token, money, price_units=to_units(checkout.amount), dues=dues)


def _payment(checkout: AnyCheckout, transfers: Sequence[TransferRow]) -> dict[str, Any] | None:
    shown = _representative(checkout, transfers)
    if checkout.status in _WITHOUT_PAYMENT or shown is None:
        return None
    return {
        "amount_crypto": _amount_in(shown.token, checkout, transfers),
        "crypto_currency": shown.token,
        "network": shown.chain,
        "tx_hash": shown.tx_hash,
        "sender_address": shown.sender,
        "confirmed_at": iso_or_none(shown.confirmed_at),
    }


def _amount_in(token: str, checkout: AnyCheckout, transfers: Sequence[TransferRow]) -> str:
    """Return what was received in a token: all of it, unless some came in a token of another currency; then what came in this one."""
    standing = [transfer for transfer in transfers if transfer.state != TransferState.ORPHANED]
    if not dues_of(checkout).keys() & {transfer.token for transfer in standing}:
        return format_token(checkout.amount_received)
    return format_units(token_sums(transfer.money for transfer in standing)[token])


def _representative(checkout: AnyCheckout, transfers: Sequence[TransferRow]) -> TransferRow | None:
    """Return the transfer that completed the checkout; before completion, the latest one credited."""
    standing = [t for t in transfers if t.state != TransferState.ORPHANED] or list(transfers)
    if checkout.status != CheckoutStatus.COMPLETED:
        return standing[-1] if standing else None
    final = [(t.confirmed_at, t) for t in standing if t.confirmed_at is not None]
    final.sort(key=itemgetter(0))
    needed, price, dues = (
        needed_units(checkout.amount, checkout.accepted_amount),
        to_units(checkout.amount),
        dues_of(checkout),
    )
    paid: Counter[str] = Counter()
    for _, transfer in final:
        paid[transfer.token] += transfer.units
        if value_units(paid.items(), price_units=price, dues=dues) >= needed:
            return transfer
    return standing[-1] if standing else None


def _transfer(transfer: TransferRow) -> dict[str, Any]:
    return {
        "chain": transfer.chain,
        "token": transfer.token,
        "amount": format_units(transfer.units),
        "tx_hash": transfer.tx_hash,
        "position": transfer.position,
        "sender_address": transfer.sender,
        "confirmations": confirmations_of(transfer),
        "required_confirmations": chain_spec(transfer.chain).confirmations,
        "status": transfer.state,
        "in_doubt": transfer.is_doubted,
        "detected_at": iso(transfer.detected_at),
        "confirmed_at": iso_or_none(transfer.confirmed_at),
    }


def confirmations_of(transfer: TransferRow) -> int:
    """Return the number of blocks on a transfer, its own included; simulated ones have no chain to count on."""
    required = chain_spec(transfer.chain).confirmations
    # A halted chain contradicts what was read: nothing is known to be on top of it.
    if transfer.state == TransferState.ORPHANED or transfer.is_doubted:
        return 0
    if transfer.mode == "test" or transfer.head is None:
        return required if transfer.state == TransferState.CONFIRMED else 1
    counted = max(transfer.head - transfer.block_height + 1, 0)
    return max(counted, required) if transfer.state == TransferState.CONFIRMED else counted


def sample_payload(public_id: str, merchant: Merchant, now: datetime) -> dict[str, Any]:
    """Return a completed test checkout that exists nowhere, for test events."""
    created_at, amount = now - timedelta(minutes=2), Decimal("25.00")
    checkout = Checkout(
        public_id=public_id,
        code=new_code(),
        mode=Mode.TEST,
        status=CheckoutStatus.COMPLETED,
        amount=amount,
        description=f"Test event for {merchant.name}",
        metadata='{"sample":true}',
        order_ref="test-event",
        amount_received=amount,
        expires_at=created_at + timedelta(hours=1),
        created_at=created_at,
        paid_at=now,
    )
    # No transaction has this hash, and no key exists for the sender's address.
    paid = TransferRow(
        checkout_id=0,
        transfer_id=0,
        chain="base",
        token="USDC",  # noqa: S106 - a kind of money
        units=to_units(amount),
        tx_hash="0x" + "00" * 32,
        position=0,
        sender="0x" + "00" * 20,
        state=TransferState.CONFIRMED,
        mode=Mode.TEST,
        block_height=0,
        head=None,
        detected_at=now,
        confirmed_at=now,
        orphaned_at=None,
    )
    # It lists no transfer, because none exists.
    return checkout_payload(checkout, [paid], replaces=None, released_by=None) | {"transfers": []}
