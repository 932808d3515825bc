"""Setting a wallet for machines takes two steps and an owner."""

from typing import TYPE_CHECKING, Any

import pytest
from solders.pubkey import Pubkey

from accounts.models import AuditEntry
from accounts.states import Mode
from tests.dashboard.people import Desk, make_desk
from tests.factories import make_wallet
from wallets.models import ReceivingWallet
from x402.payments.addresses import pay_to

if TYPE_CHECKING:
    from localnet.solana.node import SolanaNode

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_chains")]


SOLANA = "3UJQqKq8Xyx4aVRmHgEwpQZiW7toYRQCTy6Bgp1RdKnK"


def test_an_owner_sets_a_wallet_for_machines_in_two_steps(owner: Desk) -> None:
    typed = {"address": SOLANA}
    asked = owner.post("dashboard_x402_wallet", typed, chain="solana")
    assert "Check the bold first and last characters" in asked.text
    assert not ReceivingWallet.objects.exists()
    bad = owner.post("dashboard_set_x402_wallet", typed, chain="solana")
    assert bad.status_code == 422
    done = owner.post("dashboard_set_x402_wallet", typed | {"compared": "on"}, chain="solana")
    assert done["Location"] == owner.url("dashboard_x402_setup")
    assert pay_to(owner.merchant.pk, Mode.LIVE, "solana") == SOLANA
    entry = AuditEntry.objects.get(action="x402.wallet_set")
    assert (entry.actor, entry.address) == (owner.user, "127.0.0.1")


def test_a_wallet_that_buyers_pay_is_refused_for_machines(owner: Desk) -> None:
    make_wallet(owner.merchant, "solana", SOLANA)
    owner = make_desk(owner.merchant, factor=True)
    sent = {"address": SOLANA, "compared": "on"}
    answer = owner.post("dashboard_set_x402_wallet", sent, chain="solana")
    assert answer.status_code == 409
    assert "Machines need a wallet of their own" in answer.text
    # Where forwarders are, there is nothing to set.
    assert owner.get("dashboard_x402_wallet", chain="base").status_code == 404
    assert owner.get("dashboard_x402_wallet", chain="x").status_code == 404


def test_a_token_account_is_no_wallet_for_machines_and_a_vault_one_that_is_confirmed(
    owner: Desk, solana_node: "SolanaNode", settings: Any
) -> None:
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": solana_node.url}
    solana_node.fund(SOLANA, 1)
    sent = {"address": solana_node.token_account(SOLANA), "compared": "on"}
    for name in ("dashboard_x402_wallet", "dashboard_set_x402_wallet"):
        answer = owner.post(name, sent, chain="solana")
        assert answer.status_code == 422
        assert "is a token account" in answer.text
    vault, _ = Pubkey.find_program_address([b"vault"], Pubkey.from_string(SOLANA))
    solana_node.airdrop(str(vault))
    sent = {"address": str(vault), "compared": "on"}
    asked = owner.post("dashboard_set_x402_wallet", sent, chain="solana")
    assert "Type Solana to confirm it" in asked.text
    assert "Sign a message instead" not in asked.text
    assert not ReceivingWallet.objects.exists()
    owner.post("dashboard_set_x402_wallet", sent | {"typed": "Solana"}, chain="solana")
    assert ReceivingWallet.objects.get().address == str(vault)


@pytest.mark.parametrize("nodes", [{}, {"SOLANA_RPC_URLS": "http://127.0.0.1:1"}])
def test_while_no_node_can_say_what_an_address_is_no_wallet_for_machines_is_stored(
    owner: Desk, settings: Any, nodes: dict[str, str]
) -> None:
    settings.CHAIN_SETTINGS = nodes
    for page in ("dashboard_x402_wallet", "dashboard_set_x402_wallet"):
        answer = owner.post(page, {"address": SOLANA, "compared": "on"}, chain="solana")
        assert (answer.status_code, "Nothing was saved" in answer.text) == (503, True)
    assert not ReceivingWallet.objects.exists()
