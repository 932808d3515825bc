"""Checkouts in each state that the hosted page can show, as rows."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.models import Checkout, Payment
from checkouts.reservations import choose_exact_amount
from checkouts.states import CheckoutException, CheckoutStatus
from gateway.core.money import from_units
from tests.factories import make_checkout, make_live_chains, make_transfer
from wallets.models import ChainCursor, Transfer
from wallets.states import TransferState

ADDRESS = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94"
OFFERS: dict[str, Any] = {
    "base": {"tokens": ["USDC"], "address": ADDRESS},
    "polygon": {"tokens": ["USDC", "USDT"], "address": ADDRESS},
}
EXACT_OFFERS: dict[str, Any] = {
    "solana": {"tokens": ["USDC"], "address": None, "wallet": "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV"},
    "ton": {"tokens": ["USDT"], "address": None, "wallet": "EQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAM9c"},
    "tron": {"tokens": ["USDT"], "address": None, "wallet": "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"},
    "ethereum": {"tokens": ["USDC", "USDT"], "address": None, "wallet": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"},
}
RETURN_URL = "https://shop.example/thanks?order=77"
HEAD = 1_000


def make_chains_well(settings: Any) -> None:
    """Give every chain a node, and a watcher that is not due for an hour: pages show no address where nobody reads."""
    names = [*OFFERS, *EXACT_OFFERS]
    settings.CHAIN_SETTINGS = {
        f"{name.upper()}_RPC_URLS": f"http://127.0.0.1:{port}" for port, name in enumerate(names, start=1)
    }
    now = timezone.now()
    later = now + timedelta(hours=1)
    make_live_chains(names, head_time=now, due_at=later, lease_until=later)


def make_page_checkout(merchant: Merchant | None = None, **overrides: Any) -> Checkout:
    """A checkout of 49 USD as a shop would make it a moment ago; what its buyer must never see is in it too."""
    values: dict[str, Any] = {
        "amount": Decimal("49.00"),
        "offers": OFFERS,
        "description": "Ethiopia Guji, 3 × 250 g, whole bean",
        "customer_ref": "secret-customer",
        "product_ref": "secret-product",
        "order_ref": "secret-order",
        "metadata": '{"note": "secret-note"}',
        "customer_email": "secret@buyer.example",
        "redirect_url": RETURN_URL,
        "created_at": timezone.now(),
    }
    return make_checkout(merchant, **(values | overrides))


def make_test_checkout(**overrides: Any) -> Checkout:
    """A test-mode checkout, which offers every chain."""
    return make_page_checkout(mode=Mode.TEST, offers=OFFERS | EXACT_OFFERS, **overrides)


def make_exact_checkout(**overrides: Any) -> Checkout:
    """A live checkout that offers all six chains."""
    return make_page_checkout(offers=OFFERS | EXACT_OFFERS, **overrides)


def make_exact_choice(**overrides: Any) -> Checkout:
    """The same, and an exact amount was chosen."""
    checkout = make_exact_checkout(**overrides)
    choose_exact_amount(checkout.pk, now=timezone.now())
    return checkout


def number_of(checkout: Checkout) -> str:
    """The receipt's number as a person would make it from the id: its first ten random characters."""
    begin = checkout.public_id.rpartition("_")[2][:10].upper()
    return f"{begin[:5]}-{begin[5:]}"


def pay(checkout: Checkout, units: int = 49_000_000, *, confirmations: int = 5, **overrides: Any) -> Transfer:
    """Credit a transfer that has so many of the twelve confirmations, and count its money as received."""
    now = timezone.now()
    is_final = confirmations >= 12
    ChainCursor.objects.update_or_create(chain="base", defaults={"head": HEAD})
    values: dict[str, Any] = {
        "block_height": HEAD - confirmations + 1,
        "state": TransferState.CONFIRMED if is_final else TransferState.DETECTED,
        "confirmed_at": now if is_final else None,
    }
    transfer = make_transfer(checkout, units, **(values | overrides))
    Payment.objects.create(checkout=checkout, transfer=transfer, reason="its deposit address", credited_at=now)
    checkout.amount_received += from_units(units)
    checkout.save(update_fields=["amount_received"])
    return transfer


def move(checkout: Checkout, status: CheckoutStatus, **changes: Any) -> Checkout:
    """Put a checkout into a status, as the services would have."""
    checkout.status = status
    if status == CheckoutStatus.COMPLETED:
        changes.setdefault("paid_at", timezone.now())
    for name, value in changes.items():
        setattr(checkout, name, value)
    checkout.save(update_fields=["status", *changes])
    return checkout


def make_seen(**overrides: Any) -> Checkout:
    """All the money is there and has five of twelve confirmations."""
    checkout = make_page_checkout(**overrides)
    pay(checkout)
    return move(checkout, CheckoutStatus.PROCESSING)


def make_underpaid(**overrides: Any) -> Checkout:
    """Twenty of 49 dollars are there for good."""
    checkout = make_page_checkout(**overrides)
    pay(checkout, 20_000_000, confirmations=12)
    return move(checkout, CheckoutStatus.UNDERPAID, exception=CheckoutException.UNDERPAID)


def make_completed(units: int = 49_000_000, **overrides: Any) -> Checkout:
    """Paid and confirmed."""
    checkout = make_page_checkout(**overrides)
    pay(checkout, units, confirmations=12)
    return move(checkout, CheckoutStatus.COMPLETED)


def make_overpaid(**overrides: Any) -> Checkout:
    """Paid with five dollars too much."""
    checkout = make_completed(54_000_000, **overrides)
    return move(checkout, CheckoutStatus.COMPLETED, exception=CheckoutException.OVERPAID)


def make_closed(**overrides: Any) -> Checkout:
    """Past its time, and the chains are not read that far yet."""
    return make_page_checkout(created_at=_an_hour_ago(), **overrides)


def make_expired(**overrides: Any) -> Checkout:
    """Past its time, and nothing came."""
    checkout = make_closed(**overrides)
    return move(checkout, CheckoutStatus.EXPIRED)


def _an_hour_ago() -> datetime:
    return timezone.now() - timedelta(hours=1)
