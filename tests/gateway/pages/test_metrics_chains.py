"""What an operator watches of the watchers: how much they ask, and how old their knowledge is."""

from datetime import timedelta

import pytest

from gateway.pages.metrics import measure
from tests.factories import NOON, make_live_chain, make_merchant
from wallets.models import AccountCursor, ReceivingWallet

pytestmark = pytest.mark.django_db


def test_what_watchers_ask_of_nodes_is_told_by_chain() -> None:
    make_live_chain("solana", requests=1_000, requests_minute=60, reads=300)
    told = measure(now=NOON).decode()
    assert 'florin_chain_requests_total{chain="solana"} 1000.0' in told
    assert 'florin_chain_requests_minute{chain="solana"} 60.0' in told
    assert 'florin_chain_reads_total{chain="solana"} 300.0' in told


def test_the_age_of_what_is_known_of_expected_accounts_is_told() -> None:
    for number, (is_expected, seconds, error) in enumerate(
        [(True, 10, ""), (True, 40, ""), (True, 900, "odd"), (False, 50, "")]
    ):
        key = bytes([number]) * 32
        ReceivingWallet.objects.create(
            merchant=make_merchant(),
            chain="solana",
            address=str(number),
            key=key,
            expected_until=NOON if is_expected else None,
        )
        AccountCursor.objects.create(
            chain="solana",
            key=key,
            address=str(number),
            read_through_at=NOON - timedelta(seconds=seconds),
            last_error=error,
        )
    told = measure(now=NOON).decode()
    assert 'florin_account_age_seconds{chain="solana"} 40.0' in told
    assert 'florin_accounts{chain="solana",state="all"} 4.0' in told
    assert 'florin_accounts{chain="solana",state="expected"} 3.0' in told
    assert 'florin_accounts{chain="solana",state="broken"} 1.0' in told
