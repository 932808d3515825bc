"""Proofs of the wallets that machines pay: the same rules as for the wallets that buyers pay."""

from datetime import timedelta
from typing import Any

import pytest

from accounts.audit.actors import Actor
from accounts.models import Merchant
from gateway.core.api.errors import ConflictError, InvalidRequestError
from mails.models import OutgoingMail
from tests.dashboard.people import make_member
from tests.factories import NOON, make_merchant, make_wallet
from tests.wallets.proving import owner_of, prove
from tests.wallets.signing import SEED, Signer
from wallets.models import ReceivingWallet, WalletChange, WalletProof
from wallets.receiving.changes import apply_wallet_changes, cancel_change, request_wallet
from wallets.receiving.claims import MACHINES_MAY_STILL_PAY, ProofRequiredError, claims_to_release, release_claim
from wallets.receiving.proofs import start_proof
from wallets.receiving.service import set_machine_wallet
from wallets.states import ClaimKind

pytestmark = pytest.mark.django_db

CHAINS = ("solana", "ton", "tron")
LATER = NOON + timedelta(minutes=11)


@pytest.fixture
def squatter() -> Merchant:
    """Another merchant with an owner."""
    squatter = make_merchant("Squatter Ltd")
    make_member(squatter)
    return squatter


def squat(squatter: Merchant, signer: Signer, purpose: ClaimKind = ClaimKind.X402) -> ReceivingWallet:
    wallet = make_wallet(squatter, signer.chain, signer.address)
    ReceivingWallet.objects.filter(pk=wallet.pk).update(purpose=purpose)
    return wallet


def _asked(merchant: Merchant, signer: Signer) -> dict[str, Any]:
    return {
        "chain": signer.chain,
        "address": signer.address,
        "actor": Actor(owner_of(merchant)),
        "now": NOON,
        "purpose": ClaimKind.X402,
    }


def ask(merchant: Merchant, signer: Signer) -> ReceivingWallet | WalletChange:
    return request_wallet(merchant, **_asked(merchant, signer))


def start(merchant: Merchant, signer: Signer) -> WalletProof:
    return start_proof(merchant, **_asked(merchant, signer))


def present(merchant: Merchant) -> list[tuple[str, str]]:
    rows = merchant.receiving_wallets.filter(retired_at=None)
    return list(rows.values_list("purpose", "address"))


@pytest.mark.parametrize("purpose", ClaimKind)
@pytest.mark.parametrize("chain", CHAINS)
def test_an_address_that_another_merchant_uses_is_set_by_a_proof(
    owned_merchant: Merchant, squatter: Merchant, chain: str, purpose: ClaimKind
) -> None:
    signer = Signer(chain)
    old = squat(squatter, signer, purpose)
    with pytest.raises(ProofRequiredError):
        ask(owned_merchant, signer)
    assert present(squatter)
    change = prove(start(owned_merchant, signer), signer)
    assert isinstance(change, WalletChange)
    assert change.is_open
    assert present(squatter) == present(owned_merchant) == []
    [mail] = OutgoingMail.objects.filter(recipient=owner_of(squatter).email)
    assert owned_merchant.name not in mail.text
    if purpose == ClaimKind.CHECKOUT:
        assert apply_wallet_changes(now=LATER) == 0
        assert claims_to_release(now=LATER) == [old]
        assert release_claim(old, now=LATER)
        now = LATER
    else:
        now = NOON + MACHINES_MAY_STILL_PAY
        assert apply_wallet_changes(now=now - timedelta(seconds=1)) == 0
    assert apply_wallet_changes(now=now) == 1
    assert present(owned_merchant) == [("x402", signer.address)]


@pytest.mark.parametrize("chain", CHAINS)
def test_where_every_wallet_is_proven_a_free_one_is_set_by_a_proof_at_once(
    owned_merchant: Merchant, settings: Any, chain: str
) -> None:
    settings.REQUIRE_WALLET_PROOF = True
    signer = Signer(chain)
    with pytest.raises(ProofRequiredError):
        ask(owned_merchant, signer)
    wallet = prove(start(owned_merchant, signer), signer)
    assert isinstance(wallet, ReceivingWallet)
    assert wallet.proof == WalletProof.objects.get()
    assert present(owned_merchant) == [("x402", signer.address)]


def test_the_answer_is_that_of_any_other_wallet_and_the_same_whatever_the_reason(
    owned_merchant: Merchant, squatter: Merchant, settings: Any
) -> None:
    signer = Signer("solana")
    told = []
    for is_required in (True, False):
        settings.REQUIRE_WALLET_PROOF = is_required
        for purpose in ClaimKind:
            with pytest.raises(ProofRequiredError) as caught:
                request_wallet(owned_merchant, **_asked(owned_merchant, signer) | {"purpose": purpose})
            told.append(caught.value.body())
            if is_required:
                ReceivingWallet.objects.all().delete()
                squat(squatter, signer)
    assert told == [told[0]] * 4


def test_the_present_wallet_is_replaced_at_once_by_a_proven_one(owned_merchant: Merchant, settings: Any) -> None:
    old, new = Signer("solana", SEED[::-1]), Signer("solana")
    ask(owned_merchant, old)
    settings.REQUIRE_WALLET_PROOF = True
    assert isinstance(prove(start(owned_merchant, new), new), ReceivingWallet)
    assert present(owned_merchant) == [("x402", new.address)]


def test_a_signature_for_machines_is_none_for_buyers(owned_merchant: Merchant, squatter: Merchant) -> None:
    signer = Signer("solana")
    squat(squatter, signer)
    prove(start(owned_merchant, signer), signer)
    with pytest.raises(ConflictError) as caught:
        request_wallet(owned_merchant, **_asked(owned_merchant, signer) | {"purpose": ClaimKind.CHECKOUT})
    assert caught.value.code == "duplicate"
    apply_wallet_changes(now=NOON + timedelta(days=2))
    assert present(owned_merchant) == [("x402", signer.address)]


def test_what_the_merchants_own_buyers_pay_no_proof_gives_to_machines(owned_merchant: Merchant) -> None:
    signer = Signer("solana")
    make_wallet(owned_merchant, "solana", signer.address)
    with pytest.raises(ConflictError) as caught:
        prove(start(owned_merchant, signer), signer)
    assert caught.value.code == "duplicate"
    assert WalletProof.objects.get().used_at is None


def test_anothers_signature_proves_nothing(owned_merchant: Merchant, squatter: Merchant) -> None:
    signer = Signer("solana")
    squat(squatter, signer)
    with pytest.raises(InvalidRequestError):
        prove(start(owned_merchant, signer), Signer("solana", SEED[::-1]))
    assert present(squatter)


def test_a_claim_that_waits_can_be_cancelled_and_holds_no_other_wallet_up(
    owned_merchant: Merchant, squatter: Merchant
) -> None:
    signer = Signer("solana")
    squat(squatter, signer)
    change = prove(start(owned_merchant, signer), signer)
    assert isinstance(change, WalletChange)
    with pytest.raises(ConflictError, match="waits on this chain"):
        ask(owned_merchant, Signer("solana", SEED[::-1]))
    # That of buyers on the same chain is another matter.
    make = _asked(owned_merchant, Signer("solana", bytes(range(7, 39))))
    request_wallet(owned_merchant, **make | {"purpose": ClaimKind.CHECKOUT})
    cancel_change(change, actor=Actor(owner_of(owned_merchant)), now=NOON)
    assert apply_wallet_changes(now=NOON + timedelta(days=2)) == 0


def test_two_merchants_who_set_a_wallet_for_machines_are_told_the_same(
    owned_merchant: Merchant, squatter: Merchant
) -> None:
    signer = Signer("tron")
    ask(squatter, signer)
    with pytest.raises(ProofRequiredError):
        set_machine_wallet(
            owned_merchant, chain="tron", address=signer.address, actor=Actor(owner_of(owned_merchant)), now=NOON
        )
