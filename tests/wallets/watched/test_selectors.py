"""What a watched wallet held, day by day."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.states import Mode
from tests.wallets.watched.test_passes import SHOP, USDC
from tests.wallets.watching import watch
from wallets.models import WatchedBalance, WatchedMovement, WatchedWallet
from wallets.states import Direction, TransferState
from wallets.watched.selectors import balance_days

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_history")]


def make_movement(wallet: WatchedWallet, units: int, direction: Direction, *, days_ago: int, **values: Any) -> None:
    """A movement some days ago, in block 10 - `days_ago`."""
    time = timezone.now() - timedelta(days=days_ago)
    given = {
        "wallet": wallet,
        "merchant": wallet.merchant,
        "mode": Mode.LIVE,
        "direction": direction,
        "chain": wallet.chain,
        "tx_hash": f"0x{units}",
        "position": 0,
        "token": "USDC",
        "token_address": USDC,
        "units": units,
        "counterparty": SHOP,
        "block_height": 10 - days_ago,
        "block_hash": "0x1",
        "block_time": time,
        "detected_at": time,
    }
    WatchedMovement.objects.create(**(given | values))


def test_what_was_held_is_counted_back_from_the_last_reading() -> None:
    wallet, now = watch(SHOP), timezone.now()
    WatchedBalance.objects.create(wallet=wallet, token="USDC", units=100, height=9, read_at=now)
    make_movement(wallet, 30, Direction.IN, days_ago=1)
    make_movement(wallet, 20, Direction.OUT, days_ago=3)
    # Recorded after the balance was read, and one that a fork took.
    make_movement(wallet, 7, Direction.IN, days_ago=0)
    make_movement(wallet, 500, Direction.IN, days_ago=1, state=TransferState.ORPHANED)
    today = now.date()
    days = balance_days(wallet, days=30, today=today)["USDC"]
    assert [units for _, units in days] == [70, 70, 100, 107]
    assert (days[0][0], days[-1][0]) == (today - timedelta(days=3), today)
    assert balance_days(wallet, days=2, today=today)["USDC"] == days[-2:]
