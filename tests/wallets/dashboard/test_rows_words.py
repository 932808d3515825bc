"""What owners read once a wallet was set, or waits."""

from datetime import timedelta

import pytest

from tests.factories import NOON, make_merchant, make_wallet
from tests.wallets.wallet_changes import ask_for_change, make_owned_merchant
from wallets.chains.registry import load_chains
from wallets.dashboard.rows import result_message
from wallets.models import ReceivingWallet
from wallets.states import ClaimKind

pytestmark = pytest.mark.django_db
ETHEREUM = load_chains("mainnet", {})["ethereum"]


def test_a_wallet_that_is_set_is_named_with_its_chain() -> None:
    wallet = make_wallet(make_merchant(), "ethereum")
    told = result_message(wallet, ETHEREUM)
    assert told.startswith(f"You receive on Ethereum at {wallet.address} now.")


def test_a_wallet_for_machines_is_said_to_be_theirs() -> None:
    wallet = make_wallet(make_merchant(), "ethereum")
    ReceivingWallet.objects.update(purpose=ClaimKind.X402)
    wallet.refresh_from_db()
    assert result_message(wallet, ETHEREUM).startswith("Machines pay this wallet on Ethereum")


def test_a_change_says_when_it_takes_effect() -> None:
    change = ask_for_change(make_owned_merchant())
    due = NOON + timedelta(hours=24)
    assert f"on {due:%-d %b %Y}, {due:%H:%M} UTC" in result_message(change, ETHEREUM)
