"""Whom the nodes are asked for: every address ever given out, as long as they can be named."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.states import Mode
from tests.factories import make_merchant, make_wallet
from tests.wallets.days import make_watched
from tests.wallets.factories import address_of, make_deposit
from tests.wallets.watching import watch
from wallets import selectors
from wallets.chains.base import Hint
from wallets.models import DepositAddress
from wallets.selectors import watched_keys
from wallets.transfers.service import NewTransfer, record_transfers
from wallets.watched.service import remove_watched_wallet

pytestmark = pytest.mark.django_db


def test_an_address_is_asked_for_however_long_ago_it_was_given_out() -> None:
    old = make_deposit(watched_until=timezone.now() - timedelta(days=3_000))
    new = make_deposit()
    assert watched_keys("base") == Hint(frozenset({bytes(old.key), bytes(new.key)}))


def test_addresses_of_simulated_payments_are_never_asked_for() -> None:
    make_deposit(mode=Mode.TEST)
    assert watched_keys("base") == Hint(frozenset())


def test_when_there_are_too_many_to_name_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors, "MOST_RECIPIENTS", 1)
    make_deposit()
    assert watched_keys("base") is not None
    make_deposit(watched_until=timezone.now() - timedelta(days=366))
    assert watched_keys("base") is None


def give(deposit: DepositAddress, chain: str) -> None:
    """Let a deposit address have been paid on a chain."""
    paid = NewTransfer(
        chain=chain,
        tx_hash="0x01",
        position=0,
        token="USDC",
        token_address="0x02",
        units=25,
        sender="0x03",
        recipient=address_of(deposit),
        deposit_id=deposit.pk,
        merchant_id=deposit.merchant_id,
        mode=Mode.LIVE,
        block_height=1,
        block_hash="0x04",
        block_time=timezone.now(),
    )
    record_transfers([paid], now=timezone.now())


def test_as_senders_are_asked_for_watched_wallets_and_what_was_ever_paid_there() -> None:
    make_deposit()
    paid, elsewhere = make_deposit(), make_deposit()
    give(paid, "base")
    give(elsewhere, "polygon")
    wallet = watch("0x90F79bf6EB2c4f870365E785982E1f101E93b906")
    hint = watched_keys("base")
    assert hint is not None
    assert hint.senders == {bytes(paid.key), bytes(wallet.key)}
    assert hint.senders < hint.recipients


def test_a_merchants_own_wallet_is_asked_for_by_what_it_receives_alone() -> None:
    wallet = make_wallet(make_merchant(), "ethereum")
    assert watched_keys("ethereum") == Hint(frozenset({bytes(wallet.key)}))


def test_watched_wallets_are_asked_for_on_their_chain_once_and_until_removed() -> None:
    address = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
    one, two = watch(address), watch(address)
    make_watched(address=address, mode=Mode.TEST)
    keys = frozenset({bytes(one.key)})
    assert watched_keys("base") == Hint(keys, keys)
    assert watched_keys("polygon") == Hint(frozenset())
    remove_watched_wallet(one, now=timezone.now())
    assert watched_keys("base") == Hint(keys, keys)
    remove_watched_wallet(two, now=timezone.now())
    assert watched_keys("base") == Hint(frozenset())
