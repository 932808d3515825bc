"""Transfers that a merchant received, in each state."""

from datetime import timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

from accounts.models import Merchant
from checkouts.models import Payment
from tests.factories import NOON, make_checkout, make_transfer
from wallets.models import Transfer, TransferClaim
from wallets.states import ClaimKind, TransferState


def receive(merchant: Merchant | None, units: int = 25_000_000, **facts: Any) -> Transfer:
    """A final transfer to a deposit address of the merchant that no checkout was credited with."""
    assert merchant is not None
    about = {name: facts.pop(name) for name in ("mode", "order_ref") if name in facts} | {
        "created_at": facts.get("block_time", NOON)
    }
    checkout = make_checkout(merchant, **about)
    # Dealt with already: attribution passes it over.
    final = {"state": TransferState.CONFIRMED, "confirmed_at": NOON, "decided_at": NOON, "queued_at": None}
    return make_transfer(checkout, units, **(final | facts))


def earn(merchant: Merchant | None, units: int = 25_000_000, **facts: Any) -> Transfer:
    """The same, credited to the checkout of the address."""
    transfer = receive(merchant, units, **facts)
    assert transfer.deposit is not None
    checkout = transfer.merchant.checkouts.get(deposit_nonce=bytes(transfer.deposit.nonce))
    TransferClaim.objects.create(transfer=transfer, kind=ClaimKind.CHECKOUT, claimed_at=NOON)
    Payment.objects.create(checkout=checkout, transfer=transfer, reason="its address", credited_at=NOON)
    return transfer


def lose(merchant: Merchant | None, units: int = 25_000_000, **facts: Any) -> Transfer:
    """One that its network took back."""
    return receive(merchant, units, **(facts | {"state": TransferState.ORPHANED}))


def see(merchant: Merchant | None, units: int = 25_000_000, **facts: Any) -> Transfer:
    """One that is not final yet."""
    waiting = {"state": TransferState.DETECTED, "confirmed_at": None}
    return receive(merchant, units, **(facts | waiting))


def days_later(days: int) -> dict[str, Any]:
    """The block time of so many days after noon."""
    return {"block_time": NOON + timedelta(days=days)}


_COPIES = """
    INSERT INTO wallets_transfer (chain, tx_hash, position, token, token_address, units, sender, recipient, deposit_id,
        labels, merchant_id, mode, block_height, block_hash, block_time, state, detected_at, confirmed_at)
    SELECT chain, tx_hash || n, position, token, token_address, units, sender, recipient, deposit_id,
        labels, merchant_id, mode, block_height, block_hash, block_time + n * interval '1 second', state, detected_at,
        confirmed_at
    FROM wallets_transfer CROSS JOIN generate_series(1, %s) n WHERE id = %s
"""


def copy(transfer: Transfer, times: int) -> None:
    """Receive a transfer so many times more, a second apart."""
    with connection.cursor() as cursor:
        cursor.execute(_COPIES, [times, transfer.pk])


def now_and(days: int = 0) -> dict[str, Any]:
    """The block time of so many days from now."""
    return {"block_time": timezone.now() + timedelta(days=days)}
