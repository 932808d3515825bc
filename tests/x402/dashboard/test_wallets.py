"""Setting a wallet for machines takes two steps and an owner."""

from typing import Any

import pytest

from accounts.models import AuditEntry, Merchant
from accounts.states import Mode, Role
from tests.dashboard.people import Desk, make_desk
from tests.factories import make_wallet
from wallets.models import ReceivingWallet
from x402.payments.addresses import pay_to

pytestmark = pytest.mark.django_db


SOLANA = "3UJQqKq8Xyx4aVRmHgEwpQZiW7toYRQCTy6Bgp1RdKnK"


def test_an_owner_sets_a_wallet_for_machines_in_two_steps(
    owner: Desk, settings: Any
) -> None:
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": "http://127.0.0.1:1"}
    typed = {"address": SOLANA}
    asked = owner.post("dashboard_x402_wallet", typed, chain="solana")
    assert "Check the bold first and last characters" in asked.text
    assert not ReceivingWallet.objects.exists()
    bad = owner.post("dashboard_set_x402_wallet", typed, chain="solana")
    assert bad.status_code == 422
    done = owner.post(
        "dashboard_set_x402_wallet", typed | {"compared": "on"}, chain="solana"
    )
    assert done["Location"] == owner.url("dashboard_x402_setup")
    assert pay_to(owner.merchant.pk, Mode.LIVE, "solana") == SOLANA
    entry = AuditEntry.objects.get(action="x402.wallet_set")
    assert (entry.actor, entry.address) == (owner.user, "127.0.0.1")


def test_a_wallet_that_buyers_pay_is_refused_for_machines(owner: Desk) -> None:
    make_wallet(owner.merchant, "solana", SOLANA)
    sent = {"address": SOLANA, "compared": "on"}
    answer = owner.post("dashboard_set_x402_wallet", sent, chain="solana")
    assert answer.status_code == 409
    assert "Machines need a wallet of their own" in answer.text
    # Where forwarders are, there is nothing to set.
    assert owner.get("dashboard_x402_wallet", chain="base").status_code == 404
    assert owner.get("dashboard_x402_wallet", chain="x").status_code == 404


def test_only_an_owner_who_proved_it_lately_sets_a_wallet(
    merchant: Merchant, admin: Desk
) -> None:
    assert admin.get("dashboard_x402_wallet", chain="solana").status_code == 403
    stale = make_desk(merchant, Role.OWNER, fresh=False)
    assert stale.get("dashboard_x402_wallet", chain="solana").status_code == 302
