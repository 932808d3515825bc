"""The tasks that run now and then."""

from datetime import timedelta

import pytest

from accounts.merchants.wallet_waits import set_wallet_change_hours
from accounts.models import Merchant
from tests.factories import NOON
from tests.wallets.wallet_changes import ask_for_change, make_owned_merchant
from wallets.models import WalletChange
from wallets.tasks import apply_wallet_changes_task


@pytest.mark.django_db
def test_the_sweep_carries_out_changes_and_shorter_waits() -> None:
    merchant = make_owned_merchant()
    ask_for_change(merchant)
    set_wallet_change_hours(merchant, hours=1, now=NOON)
    WalletChange.objects.update(effective_at=NOON - timedelta(days=365))
    Merchant.objects.update(next_wallet_change_hours_at=NOON - timedelta(days=365))
    assert apply_wallet_changes_task() == 2
    assert apply_wallet_changes_task() == 0
