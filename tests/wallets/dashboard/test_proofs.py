"""The page that proves a receiving wallet: who is led there, what it shows, and what it never says."""

from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Role
from tests.dashboard.people import Desk, make_desk
from tests.factories import make_merchant, make_wallet
from tests.wallets.signing import Signer
from wallets.models import ReceivingWallet, WalletChange, WalletProof
from wallets.receiving.claims import claims_to_release
from wallets.receiving.proofs import message_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_chains")]

SIGNER = Signer("ethereum")


@pytest.fixture
def squatter() -> Merchant:
    """A merchant that says it receives at somebody else's address."""
    squatter = make_merchant("Squatter Ltd")
    make_wallet(squatter, "ethereum", SIGNER.address)
    return squatter


def ask(desk: Desk, signer: Signer = SIGNER) -> Any:
    sent = {"address": signer.address, "compared": "on"}
    return desk.post("dashboard_set_receiving_wallet", sent, chain=signer.chain)


def page_of(desk: Desk, proof: WalletProof) -> Any:
    return desk.get("dashboard_prove_receiving_wallet", proof_id=proof.pk)


def prove(desk: Desk, proof: WalletProof, **sent: str) -> Any:
    return desk.post("dashboard_prove_receiving_wallet", sent, proof_id=proof.pk)


def test_who_gives_an_address_in_use_signs_and_sees_it_pending(owner_by_factor: Desk, squatter: Merchant) -> None:
    assert ask(owner_by_factor).status_code == 302
    proof = WalletProof.objects.get()
    page = page_of(owner_by_factor, proof)
    message = message_of(proof)
    assert message in unescape(page.text)
    assert "Public key" not in page.text
    answer = prove(owner_by_factor, proof, signature=f"  {SIGNER.sign(message)} ")
    assert answer.status_code == 302
    wallets = owner_by_factor.get("dashboard_receiving_wallets").text
    assert "Pending:" in wallets
    assert "once earlier payments to it have run out" in wallets
    for text in (page.text, wallets):
        assert squatter.name not in text
        assert squatter.public_id not in text
        assert "nother merchant" not in text


def test_who_lost_it_sees_so_and_not_to_whom(owner_by_factor: Desk, squatter: Merchant) -> None:
    ask(owner_by_factor)
    proof = WalletProof.objects.get()
    prove(owner_by_factor, proof, signature=SIGNER.sign(message_of(proof)))
    page = make_desk(squatter, Role.VIEWER).get("dashboard_receiving_wallets").text
    assert "was taken over on" in page
    assert owner_by_factor.merchant.public_id not in page


def test_where_every_wallet_is_proven_the_page_is_the_same(
    owner_by_factor: Desk, squatter: Merchant, settings: Any
) -> None:
    settings.REQUIRE_WALLET_PROOF = True
    pages = []
    for signer in (SIGNER, Signer("ethereum", bytes(range(9, 41)))):
        ask(owner_by_factor, signer)
        proof = WalletProof.objects.get()
        text = page_of(owner_by_factor, proof).text
        for part in (signer.address[:8], signer.address[8:-6], signer.address[-6:]):
            text = text.replace(part, "")
        for part in (proof.nonce, f"{proof.expires_at:%Y-%m-%dT%H:%M:%SZ}"):
            text = text.replace(part, "")
        text = text.replace(f"proofs/{proof.pk}/", "")
        pages.append(without_tokens(text.replace(f"{proof.expires_at:%-d %b %Y, %H:%M}", "")))
    assert pages[0] == pages[1]


def without_tokens(text: str) -> list[str]:
    """A page's lines without those that differ with each request."""
    lines = text.split("\n")
    return [line for line in lines if "csrf" not in line and "nonce" not in line]


def test_a_free_wallet_that_was_proven_says_so(owner_by_factor: Desk, settings: Any) -> None:
    settings.REQUIRE_WALLET_PROOF = True
    signer = Signer("ton")
    ask(owner_by_factor, signer)
    proof = WalletProof.objects.get()
    assert "Public key" in page_of(owner_by_factor, proof).text
    signature = signer.sign(message_of(proof))
    assert prove(owner_by_factor, proof, signature=signature).status_code == 422
    sent = {"signature": signature, "public_key": signer.public_key}
    assert prove(owner_by_factor, proof, **sent).status_code == 302
    page = owner_by_factor.get("dashboard_receiving_wallets").text
    assert "proven by a signature" in page
    assert ReceivingWallet.objects.get().address == signer.address


@pytest.mark.parametrize("signature", ["", "0x12", "x" * 201, "a\x00b", "<script>alert(1)</script>", "é"])
def test_a_signature_that_is_none_is_told_in_words(owner_by_factor: Desk, squatter: Merchant, signature: str) -> None:
    ask(owner_by_factor)
    answer = prove(owner_by_factor, WalletProof.objects.get(), signature=signature)
    assert answer.status_code == 422
    assert "<script>alert" not in answer.text
    assert not WalletChange.objects.exists()


def test_an_expired_message_gives_way_to_a_new_one(owner_by_factor: Desk, squatter: Merchant) -> None:
    ask(owner_by_factor)
    proof = WalletProof.objects.get()
    signature = SIGNER.sign(message_of(proof))
    WalletProof.objects.update(expires_at=timezone.now())
    assert prove(owner_by_factor, proof, signature=signature).status_code == 409
    assert "Get a new message" in page_of(owner_by_factor, proof).text
    ask(owner_by_factor)
    assert page_of(owner_by_factor, proof).status_code == 404
    assert WalletProof.objects.get().is_open(now=timezone.now())


@pytest.mark.parametrize("role", [Role.ADMIN, Role.VIEWER])
def test_only_owners_prove(owner_by_factor: Desk, squatter: Merchant, role: Role) -> None:
    ask(owner_by_factor)
    proof = WalletProof.objects.get()
    desk = make_desk(owner_by_factor.merchant, role)
    assert page_of(desk, proof).status_code == 403
    assert prove(desk, proof, signature="0x").status_code == 403


def test_another_merchants_message_is_not_there(owner_by_factor: Desk, squatter: Merchant) -> None:
    ask(owner_by_factor)
    proof = WalletProof.objects.get()
    stranger = make_desk(squatter)
    assert page_of(stranger, proof).status_code == 404
    signature = SIGNER.sign(message_of(proof))
    assert prove(stranger, proof, signature=signature).status_code == 404
    assert WalletProof.objects.get().used_at is None


def test_a_pending_wallet_is_cancelled_by_any_owner(owner_by_factor: Desk, squatter: Merchant) -> None:
    ask(owner_by_factor)
    proof = WalletProof.objects.get()
    prove(owner_by_factor, proof, signature=SIGNER.sign(message_of(proof)))
    change = WalletChange.objects.get()
    second = make_desk(owner_by_factor.merchant)
    second.post("dashboard_cancel_wallet_change", change_id=change.pk)
    page = second.get("dashboard_receiving_wallets").text
    assert "The change is cancelled." in page
    assert "Your wallet stays" not in page
    assert claims_to_release(now=timezone.now() + timedelta(hours=1)) == []


def test_a_wallet_for_machines_is_proven_on_the_same_form(owner_by_factor: Desk, squatter: Merchant) -> None:
    signer = Signer("solana")
    make_wallet(squatter, "solana", signer.address)
    sent = {"address": signer.address, "compared": "on"}
    led = owner_by_factor.post("dashboard_set_x402_wallet", sent, chain="solana")
    proof = WalletProof.objects.get()
    assert led["Location"] == owner_by_factor.url("dashboard_prove_x402_wallet", proof_id=proof.pk)
    # It proves nothing on the page of the wallets that buyers pay.
    assert page_of(owner_by_factor, proof).status_code == 404
    page = owner_by_factor.get("dashboard_prove_x402_wallet", proof_id=proof.pk)
    assert message_of(proof) in unescape(page.text)
    signature = {"signature": signer.sign(message_of(proof))}
    answer = owner_by_factor.post("dashboard_prove_x402_wallet", signature, proof_id=proof.pk)
    assert answer["Location"] == owner_by_factor.url("dashboard_x402_setup")
    setup = owner_by_factor.get("dashboard_x402_setup").text
    assert "You proved that you hold its key" in setup
    assert "Pending:" not in owner_by_factor.get("dashboard_receiving_wallets").text
    assert squatter.name not in setup
    change = WalletChange.objects.get()
    assert owner_by_factor.post("dashboard_cancel_wallet_change", change_id=change.pk).status_code == 404
    owner_by_factor.post("dashboard_cancel_x402_wallet", change_id=change.pk)
    assert "Pending:" not in owner_by_factor.get("dashboard_x402_setup").text
