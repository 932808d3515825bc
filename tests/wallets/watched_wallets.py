"""Watched wallets for tests: how far their history is read, and what they hold. `days.make_movement` moves money."""

import secrets
from datetime import datetime
from typing import Any

from accounts.models import Merchant
from accounts.states import Mode
from tests.factories import NOON
from wallets.forwarders.addresses import checksum
from wallets.models import WatchedBalance, WatchedWallet
from wallets.states import WatchStatus
from wallets.watched.service import watch_wallet


def some_address() -> str:
    """An address on EVM chains that nobody has."""
    return checksum(secrets.token_bytes(20))


def watch(
    merchant: Merchant, *, chain: str = "base", mode: Mode = Mode.LIVE, now: datetime = NOON, **wanted: Any
) -> WatchedWallet:
    """A wallet that is watched as people have it watched, its history read."""
    address = wanted.pop("address", None) or some_address()
    wallet, _ = watch_wallet(merchant, mode=mode, chain=chain, address=address, now=now, **wanted)
    WatchedWallet.objects.filter(pk=wallet.pk).update(status=WatchStatus.ACTIVE)
    wallet.refresh_from_db()
    return wallet


def import_through(wallet: WatchedWallet, percent: int) -> None:
    """Let a wallet's history be read so far."""
    WatchedWallet.objects.filter(pk=wallet.pk).update(
        status=WatchStatus.IMPORTING, history_from=1, history_height=percent, history_until=100
    )


def finish(wallet: WatchedWallet) -> None:
    """Let all of a wallet's history be read."""
    WatchedWallet.objects.filter(pk=wallet.pk).update(status=WatchStatus.ACTIVE)


def hold(wallet: WatchedWallet, units: int, token: str = "USDC", **read: Any) -> None:
    """Let the chain have said what a wallet holds, after all that moved so far."""
    values = {"height": 1_000, "read_at": NOON, "units": units} | read
    WatchedBalance.objects.update_or_create(wallet=wallet, token=token, defaults=values)
