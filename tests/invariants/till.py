"""The part of the machine's world in which everybody pays a merchant's one wallet."""

import secrets
from datetime import datetime

from accounts.models import Merchant
from checkouts.exact_amounts import memo_of
from checkouts.models import AmountReservation, Checkout
from gateway.core.money import round_up_to_cent, to_units
from tests.checkouts.watcher import Watcher
from wallets.models import ReceivingWallet
from wallets.transfers.service import NewTransfer

TOKEN = "USDT"


def _exact(checkout: Checkout) -> int:
    held = AmountReservation.objects.filter(checkout=checkout).order_by("pk").last()
    return to_units(held.price) + held.suffix if held else _price(checkout)


def _price(checkout: Checkout) -> int:
    return to_units(checkout.amount)


# What arrives, for a checkout whose buyer means to pay.
WALLET_SENDS = {
    "the exact amount": _exact,
    "the exact amount, as always": _exact,
    "the round price": _price,
    "cut to four decimals": lambda checkout: _exact(checkout) // 100 * 100,
    "less a fee of a dollar": lambda checkout: max(_exact(checkout) - 1_000_000, 1),
    "what is near": lambda checkout: _price(checkout) - 40_000,
    "dust": lambda _: 9_999,
}


class TronTill:
    """A merchant's wallet on Tron. Amounts are held for ever: nothing in these examples lasts long enough to cool."""

    def __init__(self, merchant: Merchant) -> None:
        self.merchant = merchant
        key = secrets.token_bytes(20)
        self.wallet = ReceivingWallet.objects.create(merchant=merchant, chain="tron", address=f"T{key.hex()}", key=key)

    def is_offered_by(self, checkout: Checkout) -> None:
        """Have a new checkout offer the wallet too."""
        offer = {"tokens": [TOKEN], "address": None, "wallet": self.wallet.address}
        checkout.offers = {**checkout.offers, "tron": offer}
        checkout.save(update_fields=["offers"])

    def reserve_what_is_due(self, checkout: Checkout, *, now: datetime) -> None:
        """Hold an exact amount, as choosing an option does while there is something to pay."""
        checkout.refresh_from_db()
        is_over = checkout.is_final or now >= checkout.expires_at
        if is_over or checkout.amount_received >= checkout.amount:
            return
        price = round_up_to_cent(checkout.amount - checkout.amount_received)
        place = {"merchant": self.merchant, "mode": checkout.mode, "price": price}
        if AmountReservation.objects.filter(checkout=checkout, price=price).exists():
            return
        taken = AmountReservation.objects.filter(**place).count()
        reference = secrets.token_bytes(32)
        AmountReservation.objects.create(
            checkout=checkout,
            suffix=3_700 + 42 * taken,
            reference=reference,
            memo=memo_of(reference),
            reserved_at=now,
            **place,
        )

    def transfer(self, watcher: Watcher, units: int, *, at: datetime, label_of: Checkout | None) -> NewTransfer:
        """Return money that arrives in the wallet, in a block of its own."""
        watcher.height += 1
        held = AmountReservation.objects.filter(checkout=label_of).last()
        return NewTransfer(
            chain="tron",
            tx_hash=secrets.token_hex(32),
            position=0,
            token=TOKEN,
            token_address="a token",
            units=units,
            sender="anybody",
            recipient=self.wallet.address,
            deposit_id=None,
            wallet_id=self.wallet.pk,
            labels=(held.memo,) if held else (),
            merchant_id=self.merchant.pk,
            mode="live",
            block_height=watcher.height,
            block_hash=secrets.token_hex(32),
            block_time=at,
        )
