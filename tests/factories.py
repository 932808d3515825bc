"""Rows for tests, each with as few defaults as it can do with."""

import secrets
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson
from django.db import connection
from django.db.models import F
from django.utils import timezone

from accounts import services as accounts_services
from accounts.models import ApiKey, Merchant, User
from accounts.states import Mode
from checkouts.models import Checkout, CheckoutCount
from checkouts.services.counts import DayChange, DayKey, add_to_days, day_of
from checkouts.states import CheckoutStatus
from gateway.core.ids import new_code, new_id
from settlements.models import Hold
from wallets.addresses import address_key
from wallets.forwarder import checksum, deposit_key
from wallets.models import (
    ChainCursor,
    DepositAddress,
    ReceivingWallet,
    Transfer,
)
from wallets.networks import chain_spec
from wallets.selectors import forget

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
WALLET = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
# Nodes nobody calls: a chain needs one configured to be offered.
LOCAL_NODES = {
    "BASE_RPC_URLS": "http://127.0.0.1:1",
    "POLYGON_RPC_URLS": "http://127.0.0.1:2",
    "ETHEREUM_RPC_URLS": "http://127.0.0.1:3",
}
USDC_ON_BASE = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"


def make_user(email: str | None = None) -> User:
    """A person of a team."""
    return User.objects.create_user(
        email or f"{secrets.token_hex(6)}@example.test", "a password"
    )


def make_merchant(name: str = "Halden Roasters", **overrides: Any) -> Merchant:
    """A merchant with nothing yet."""
    return Merchant.objects.create(name=name, **overrides)


def make_key(merchant: Merchant, mode: Mode = Mode.LIVE) -> tuple[ApiKey, str]:
    """An API key and its secret."""
    return accounts_services.create_api_key(merchant, mode=mode, name="test", now=NOON)


def make_wallet(
    merchant: Merchant, chain: str = "base", address: str = WALLET
) -> ReceivingWallet:
    """The merchant's own wallet on a chain."""
    return ReceivingWallet.objects.create(
        merchant=merchant,
        chain=chain,
        address=address,
        key=address_key(address, family=chain_spec(chain).family),
    )


def make_live_chain(chain: str, **overrides: Any) -> ChainCursor:
    """A chain that was read to its head just now and has the factory, so that live checkouts offer it.

    `settings.CHAIN_SETTINGS` must name a node for it: `LOCAL_NODES` does.
    """
    values = {"height": 10, "head": 10, "head_at": timezone.now(), "factory_ok": True}
    cursor, _ = ChainCursor.objects.update_or_create(
        chain=chain, defaults=values | overrides
    )
    forget()
    return cursor


def make_checkout(merchant: Merchant | None = None, **overrides: Any) -> Checkout:
    """A live checkout of 25 USD with a deposit address on Base and Polygon."""
    merchant = merchant or make_merchant()
    mode = overrides.pop("mode", Mode.LIVE)
    nonce = secrets.token_bytes(32)
    destination = bytes.fromhex(WALLET[2:])
    key = deposit_key(destination, nonce)
    offers = {
        "base": {"tokens": ["USDC"], "address": checksum(key)},
        "polygon": {"tokens": ["USDC", "USDT"], "address": checksum(key)},
    }
    created_at = overrides.pop("created_at", NOON)
    values: dict[str, Any] = {
        "public_id": new_id(f"chk_{mode}"),
        "code": new_code(),
        "amount": Decimal("25.00"),
        "offers": offers,
        "created_at": created_at,
        "expires_at": created_at + timedelta(minutes=30),
    }
    values |= overrides
    if values.get("status") == CheckoutStatus.COMPLETED:
        values.setdefault("paid_at", created_at)
    checkout = Checkout.objects.create(
        merchant=merchant, mode=mode, deposit_nonce=nonce, **values
    )
    DepositAddress.objects.create(
        key=key,
        destination=destination,
        nonce=nonce,
        merchant=merchant,
        mode=mode,
        watched_until=values["expires_at"] + timedelta(days=30),
    )
    if checkout.escrow:
        Hold.objects.create(
            merchant=merchant,
            mode=mode,
            subject_id=checkout.public_id,
            nonce=nonce,
            created_at=created_at,
        )
    _count(checkout)
    return checkout


def _count(checkout: Checkout) -> None:
    """Count a checkout, as creating it through the service does."""
    slot, _ = CheckoutCount.objects.get_or_create(
        merchant=checkout.merchant, mode=checkout.mode, status=checkout.status, slot=0
    )
    CheckoutCount.objects.filter(pk=slot.pk).update(value=F("value") + 1)
    today = DayKey(checkout.merchant_id, checkout.mode, day_of(checkout.created_at))
    add_to_days({today: DayChange(made=checkout.pk)})


def make_transfer(
    checkout: Checkout, units: int = 25_000_000, **overrides: Any
) -> Transfer:
    """A transfer to a checkout's address, as the watcher would have queued it."""
    deposit = DepositAddress.objects.get(nonce=checkout.deposit_nonce)
    values: dict[str, Any] = {
        "chain": "base",
        "tx_hash": f"0x{secrets.token_hex(32)}",
        "position": 0,
        "token": "USDC",
        "token_address": USDC_ON_BASE,
        "sender": f"0x{secrets.token_hex(20)}",
        "recipient": checksum(bytes(deposit.key)),
        "block_height": 100,
        "block_hash": "0x" + "ab" * 32,
        "block_time": NOON + timedelta(minutes=1),
        "detected_at": NOON + timedelta(minutes=1),
        "queued_at": NOON + timedelta(minutes=1),
    }
    values |= overrides
    return Transfer.objects.create(
        deposit=deposit,
        merchant_id=checkout.merchant_id,
        mode=checkout.mode,
        units=units,
        **values,
    )


def checkout_counts(merchant: Merchant, mode: Mode = Mode.LIVE) -> dict[str, int]:
    """The kept counts behind `total`, by status; zero ones left out."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT status, sum(value)::bigint FROM checkouts_checkoutcount"
            " WHERE merchant_id = %s AND mode = %s GROUP BY status",
            [merchant.pk, mode],
        )
        return {status: int(value) for status, value in cursor if value}


def body_of(event_body: bytes) -> dict[str, Any]:
    """The JSON of an event."""
    parsed: dict[str, Any] = orjson.loads(bytes(event_body))
    return parsed
