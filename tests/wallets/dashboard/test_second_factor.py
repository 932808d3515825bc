"""Changes of receiving wallets ask for a fresh second factor, as soon as there is something to lose."""

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.models import Merchant
from tests.dashboard.people import Desk, log_in, make_desk
from tests.factories import WALLET, make_checkout, make_transfer, make_wallet
from tests.gateway.operator.people import log_in_by_factor
from wallets.models import ReceivingWallet, WalletChange, WalletProof
from wallets.receiving.proofs import start_proof

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_chains")]

OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
SOLANA = "3UJQqKq8Xyx4aVRmHgEwpQZiW7toYRQCTy6Bgp1RdKnK"
SENT = {"address": OTHER, "compared": "on"}


def requests_of(desk: Desk) -> dict[str, Any]:
    """Each way to change a wallet on Base, or how long changes wait."""
    proof = start_proof(desk.merchant, chain="base", address=OTHER, actor=Actor(desk.user), now=timezone.now())
    return {
        "form": desk.get("dashboard_receiving_wallet", chain="base"),
        "look": desk.post("dashboard_receiving_wallet", SENT, chain="base"),
        "set": desk.post("dashboard_set_receiving_wallet", SENT, chain="base"),
        "prove": desk.get("dashboard_prove_receiving_wallet", proof_id=proof.pk),
        "wait": desk.post("dashboard_wallet_wait", {"hours": 1}),
    }


def test_an_owner_without_a_second_factor_sets_one_up_before_a_change() -> None:
    desk = make_desk()
    make_wallet(desk.merchant)
    for what, answer in requests_of(desk).items():
        assert answer["Location"] == reverse("account_security"), what
    page = desk.client.get(reverse("account_security")).content.decode()
    assert "need a second factor" in page
    assert not WalletChange.objects.exists()
    assert WalletProof.objects.get().used_at is None
    desk.merchant.refresh_from_db()
    assert desk.merchant.wallet_change_hours == 24


def test_a_machines_wallet_is_changed_by_the_same_rule() -> None:
    desk = make_desk()
    sent = {"address": SOLANA, "compared": "on"}
    first = desk.post("dashboard_set_x402_wallet", sent, chain="solana")
    assert first["Location"] == desk.url("dashboard_x402_setup")
    other = {"address": "A68C3ZW7EYAwVd13uy47ZNFpK5hM5E3SB5xFXmfeqY8M"} | sent
    again = desk.post("dashboard_set_x402_wallet", sent | other, chain="solana")
    assert again["Location"] == reverse("account_security")
    assert ReceivingWallet.objects.get().address == SOLANA


def test_a_merchant_that_was_never_paid_starts_without_a_second_factor() -> None:
    desk = make_desk()
    sent = SENT | {"address": WALLET}
    assert desk.post("dashboard_set_receiving_wallet", sent, chain="base").status_code
    assert ReceivingWallet.objects.get().address == WALLET
    # Whoever stole the password adds no wallet on another chain, nor for machines.
    for route, chain in (("dashboard_set_receiving_wallet", "ethereum"), ("dashboard_set_x402_wallet", "solana")):
        answer = desk.post(route, {"address": SOLANA} | SENT, chain=chain)
        assert answer["Location"] == reverse("account_security"), route
    ReceivingWallet.objects.all().delete()
    make_transfer(make_checkout(desk.merchant))
    answer = desk.post("dashboard_set_receiving_wallet", SENT, chain="ethereum")
    assert answer["Location"] == reverse("account_security")
    assert not ReceivingWallet.objects.filter(chain="ethereum").exists()


def test_a_second_factor_counts_while_it_is_fresh(merchant: Merchant) -> None:
    make_wallet(merchant)
    desk = make_desk(merchant, factor=True)
    desk.client = log_in_by_factor(desk.user, seconds_ago=601)
    for what, answer in requests_of(desk).items():
        assert "/reauthenticate/" in answer["Location"], what
    assert not WalletChange.objects.exists()
    # A fresh password is none.
    desk.client = log_in(desk.user)
    session = desk.client.session
    proofs = session["account_authentication_methods"]
    session["account_authentication_methods"] = [proof for proof in proofs if proof["method"] != "mfa"]
    session.save()
    answer = desk.post("dashboard_set_receiving_wallet", SENT, chain="base")
    assert "/reauthenticate/" in answer["Location"]
    desk.client = log_in_by_factor(desk.user, seconds_ago=540)
    desk.post("dashboard_set_receiving_wallet", SENT, chain="base")
    assert WalletChange.objects.get().address == OTHER


def test_a_developers_own_chains_ask_for_none(base_node: Any, settings: Any) -> None:
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    desk = make_desk()
    make_wallet(desk.merchant)
    desk.post("dashboard_set_receiving_wallet", SENT, chain="base")
    assert WalletChange.objects.get().address == OTHER
