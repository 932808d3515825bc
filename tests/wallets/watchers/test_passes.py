"""Passes of a watcher."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from tests.factories import make_merchant, make_wallet
from tests.wallets.factories import make_deposit, read_all
from wallets.models import ReceivingWallet
from wallets.receiving.service import expect_payments
from wallets.watchers.blocks import Watcher
from wallets.watchers.passes import PassOutcome

pytestmark = pytest.mark.django_db


MINUTE = timedelta(minutes=1)


def test_a_simulated_checkout_wakes_no_chain(idle_watcher: Watcher) -> None:
    make_deposit(mode="test")
    read_all(idle_watcher)
    assert idle_watcher.tick(now=timezone.now()) is PassOutcome.NOT_DUE


def test_an_expectation_grows_and_never_shrinks() -> None:
    now = timezone.now()
    wallet = make_wallet(make_merchant(), "ethereum")

    def expected_after(until: datetime) -> datetime | None:
        expect_payments("ethereum", address=wallet.address, until=until)
        return ReceivingWallet.objects.get().expected_until

    assert expected_after(now) == now
    assert expected_after(now - MINUTE) == now
    assert expected_after(now + MINUTE) == now + MINUTE
