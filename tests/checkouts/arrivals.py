"""Checkouts that are paid in the merchant's own wallet, and money that arrives there."""

import secrets
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import base58

from accounts.models import Merchant
from checkouts.amounts import memo_of
from checkouts.models import AmountReservation, Checkout, InboxItem, Payment
from gateway.core.money import to_units
from tests.checkouts.factories import EXACT_OFFERS
from tests.checkouts.watcher import DOLLAR, SOON, Watcher
from tests.factories import NOON, make_checkout, make_merchant, make_wallet
from wallets.forwarders.addresses import checksum
from wallets.models import ReceivingWallet, Transfer
from wallets.networks import chain_spec
from wallets.states import ClaimKind
from wallets.transfers.service import NewTransfer

PRICE = Decimal("25.00")
SUFFIX = 3_700
TOKENS = {"ethereum": ["USDC", "USDT"], "solana": ["USDC"], "ton": ["USDT"], "tron": ["USDT"]}


class Till:
    """A merchant with wallets on some exact-amount chains, its checkouts, and the money that comes in."""

    def __init__(self, merchant: Merchant | None = None, *, chains: tuple[str, ...] = ("ethereum", "solana")) -> None:
        self.merchant = merchant or make_merchant()
        self.wallets = {chain: make_wallet(self.merchant, chain, _new_address(chain)) for chain in chains}
        self._watchers = {chain: Watcher(chain) for chain in self.wallets}

    def checkout(
        self,
        price: str | Decimal = PRICE,
        suffix: int | None = None,
        *,
        chains: tuple[str, ...] = ("ethereum", "solana"),
        **overrides: Any,
    ) -> Checkout:
        """A checkout offered in the wallets, with an exact amount if `suffix` says so."""
        offers = {chain: self.offer(chain) for chain in chains}
        checkout = make_checkout(self.merchant, **({"amount": Decimal(price), "offers": offers} | overrides))
        if suffix is not None:
            reserve(checkout, suffix)
        return checkout

    def offer(self, chain: str) -> dict[str, Any]:
        """What a checkout says of one of the wallets."""
        wallet = self.wallets[chain].address
        return {"tokens": TOKENS[chain], "address": None, "wallet": wallet}

    def replace_wallet(self, chain: str) -> ReceivingWallet:
        """Give the merchant another wallet; return the one it had."""
        old = self.wallets[chain]
        old.retired_at = SOON
        old.save(update_fields=["retired_at"])
        self.wallets[chain] = make_wallet(self.merchant, chain, _new_address(chain))
        return old

    def sees(
        self,
        units: int = 25 * DOLLAR,
        *,
        at: datetime = SOON,
        chain: str = "ethereum",
        token: str = "USDC",
        labels: tuple[str, ...] = (),
        wallet: ReceivingWallet | None = None,
        purpose: ClaimKind = ClaimKind.CHECKOUT,
    ) -> Transfer:
        """Record money that arrives in one of the wallets in the next block."""
        watcher, wallet = self._watchers[chain], wallet or self.wallets[chain]
        watcher.height += 1
        known = chain_spec(chain).tokens.get(token)
        arriving = NewTransfer(
            chain=chain,
            tx_hash=f"0x{secrets.token_hex(32)}",
            position=0,
            token=token,
            token_address=known.address if known else f"0x{'ee' * 20}",
            units=units,
            sender=f"0x{'5e' * 20}",
            recipient=wallet.address,
            deposit_id=None,
            wallet_id=wallet.pk,
            labels=labels,
            purpose=purpose,
            merchant_id=self.merchant.pk,
            mode="live",
            block_height=watcher.height,
            block_hash=f"0x{secrets.token_hex(32)}",
            block_time=at,
        )
        return watcher.records([arriving])[0]

    def watcher(self, chain: str = "ethereum") -> Watcher:
        """Whoever reads a chain."""
        return self._watchers[chain]

    def confirms(self) -> None:
        """Make everything final."""
        for watcher in self._watchers.values():
            watcher.confirms()


def _new_address(chain: str) -> str:
    if chain == "solana":
        return base58.b58encode(secrets.token_bytes(32)).decode()
    if chain in ("ton", "tron"):
        # One till in a test has wallets there.
        return str(EXACT_OFFERS[chain]["wallet"])
    return checksum(secrets.token_bytes(20))


def reserve(
    checkout: Checkout,
    suffix: int = SUFFIX,
    *,
    price: Decimal | None = None,
    reserved_at: datetime | None = None,
    released_at: datetime | None = None,
) -> AmountReservation:
    """An exact amount of a checkout, held since it was made."""
    reference = secrets.token_bytes(32)
    return AmountReservation.objects.create(
        checkout=checkout,
        merchant=checkout.merchant,
        mode=checkout.mode,
        price=checkout.amount if price is None else price,
        suffix=suffix,
        reference=reference,
        memo=memo_of(reference),
        reserved_at=reserved_at or checkout.created_at,
        released_at=released_at,
    )


def exact(checkout: Checkout) -> int:
    """The exact amount that the checkout's page shows, in base units."""
    reservation = checkout.reservations.latest("reserved_at", "pk")
    return to_units(reservation.price) + reservation.suffix


def reference_of(checkout: Checkout) -> str:
    """The Solana Pay reference of the checkout's exact amount."""
    key = bytes(checkout.reservations.latest("reserved_at", "pk").reference)
    return base58.b58encode(key).decode()


def memo(checkout: Checkout) -> str:
    """The TON comment of the checkout's exact amount."""
    return checkout.reservations.latest("reserved_at", "pk").memo


def payer_of(transfer: Transfer) -> Checkout | None:
    """The checkout that the transfer was credited to."""
    payment = Payment.objects.filter(transfer=transfer).first()
    return payment.checkout if payment else None


def inbox_item(transfer: Transfer) -> InboxItem:
    """Why the transfer waits for a person."""
    return InboxItem.objects.get(transfer=transfer)


def ago(minutes: float, *, lasting: int = 30) -> dict[str, Any]:
    """The times of a checkout that ended so many minutes before `SOON`, having lasted half an hour."""
    ended = SOON - timedelta(minutes=minutes)
    return {"created_at": ended - timedelta(minutes=lasting), "expires_at": ended}


def early(minutes: float) -> dict[str, Any]:
    """The times of a live checkout made so many minutes before noon."""
    return {"created_at": NOON - timedelta(minutes=minutes)}
