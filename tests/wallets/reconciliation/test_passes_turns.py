"""Wallets take turns, and those somebody may be paying come first."""

from datetime import timedelta

import pytest

from tests.factories import NOON, make_merchant
from wallets.models import ReceivingWallet
from wallets.reconciliation.passes import Turns

pytestmark = pytest.mark.django_db


def make_wallets(count: int, *, is_expected: bool) -> set[bytes]:
    merchant = make_merchant()
    letter = b"e" if is_expected else b"q"
    wallets = [
        ReceivingWallet(
            merchant=merchant,
            chain="solana",
            address=f"{letter!r}{number}",
            key=letter + bytes([number]),
            expected_until=NOON if is_expected else None,
            retired_at=NOON,
        )
        for number in range(count)
    ]
    ReceivingWallet.objects.bulk_create(wallets)
    return {bytes(wallet.key) for wallet in wallets}


def test_every_wallet_has_its_turn_in_time() -> None:
    wallets = make_wallets(5, is_expected=True) | make_wallets(20, is_expected=False)
    turns = Turns("solana")
    seen = [set(turns.take(4, expected_since=NOON)) for _ in range(20)]
    assert set.union(*seen) == wallets
    assert all(len(part) == 4 for part in seen)


def test_most_places_are_for_wallets_somebody_may_be_paying() -> None:
    expected = make_wallets(5, is_expected=True)
    make_wallets(20, is_expected=False)
    assert len(expected & set(Turns("solana").take(4, expected_since=NOON))) == 3


def test_nobody_is_expected_once_the_time_is_over() -> None:
    make_wallets(5, is_expected=True)
    quiet = make_wallets(5, is_expected=False)
    later = NOON + timedelta(seconds=1)
    taken = [set(Turns("solana").take(10, expected_since=later)) for _ in range(2)]
    assert taken[0] == taken[1] >= quiet
    assert len(taken[0]) == 10


def test_empty_places_go_to_whoever_is_there() -> None:
    wallets = make_wallets(3, is_expected=True)
    assert set(Turns("solana").take(10, expected_since=NOON)) == wallets
    assert Turns("ton").take(10, expected_since=NOON) == []
