"""Proofs of receiving wallets: who is asked, what a signature is good for, and how a wallet goes to who proved it."""

from datetime import timedelta

import pytest

from accounts.audit.actors import Actor
from accounts.models import AuditEntry, Merchant
from gateway.core.api.errors import ConflictError, InvalidRequestError
from mails.models import OutgoingMail
from tests.dashboard.people import make_member
from tests.factories import NOON, WALLET, make_merchant, make_wallet
from tests.wallets.proving import ETHEREUM, ask, owner_of, prove, start
from tests.wallets.signing import Signer
from wallets.chains.registry import CHAINS
from wallets.models import ReceivingWallet, WalletChange, WalletProof
from wallets.receiving.changes import apply_wallet_changes, cancel_change
from wallets.receiving.claims import (
    MACHINES_MAY_STILL_PAY,
    RELEASE_AFTER,
    ProofRequiredError,
    claims_to_release,
    release_claim,
)
from wallets.receiving.proofs import message_of
from wallets.selectors import owners_of, receiving_wallets
from wallets.states import ClaimKind

EXACT_AMOUNT_CHAINS = [one.name for one in CHAINS if one.exact_amount_required]

pytestmark = pytest.mark.django_db

LATER = NOON + timedelta(minutes=11)
OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"


@pytest.fixture
def squatter() -> Merchant:
    """A merchant that says it receives at the other one's address."""
    squatter = make_merchant("Squatter Ltd")
    make_member(squatter)
    make_wallet(squatter, "ethereum", ETHEREUM.address)
    return squatter


def take(merchant: Merchant) -> WalletChange:
    answer = prove(start(merchant))
    assert isinstance(answer, WalletChange)
    return answer


def present(merchant: Merchant) -> list[str]:
    wallets = merchant.receiving_wallets.filter(retired_at=None)
    return list(wallets.values_list("address", flat=True))


@pytest.mark.parametrize("chain", EXACT_AMOUNT_CHAINS)
def test_an_address_that_another_merchant_uses_takes_a_proof_on_every_such_chain(
    owned_merchant: Merchant, chain: str
) -> None:
    signer = Signer(chain)
    make_wallet(make_merchant("Squatter Ltd"), chain, signer.address)
    with pytest.raises(ProofRequiredError) as caught:
        ask(owned_merchant, signer)
    assert caught.value.code == "proof_required"
    answer = prove(start(owned_merchant, signer), signer)
    assert isinstance(answer, WalletChange)
    assert answer.is_open


@pytest.mark.parametrize("chain", EXACT_AMOUNT_CHAINS)
def test_where_every_wallet_is_proven_a_free_one_is_there_at_once(
    owned_merchant: Merchant, settings: object, chain: str
) -> None:
    settings.REQUIRE_WALLET_PROOF = True  # type: ignore[attr-defined]
    signer = Signer(chain)
    with pytest.raises(ProofRequiredError):
        ask(owned_merchant, signer)
    wallet = prove(start(owned_merchant, signer), signer)
    assert isinstance(wallet, ReceivingWallet)
    assert present(owned_merchant) == [signer.address]
    assert wallet.proof == WalletProof.objects.get()


def test_where_addresses_are_deposit_addresses_nobody_is_asked(
    owned_merchant: Merchant, squatter: Merchant, settings: object
) -> None:
    settings.REQUIRE_WALLET_PROOF = True  # type: ignore[attr-defined]
    make_wallet(squatter, "base", ETHEREUM.address)
    assert isinstance(ask(owned_merchant, Signer("base")), ReceivingWallet)


def test_the_answer_is_the_same_whatever_the_reason(
    owned_merchant: Merchant, squatter: Merchant, settings: object
) -> None:
    told = []
    for is_required in (False, True):
        settings.REQUIRE_WALLET_PROOF = is_required  # type: ignore[attr-defined]
        for free in (False, True):
            if not (is_required or not free):
                continue
            ReceivingWallet.objects.filter(merchant=squatter).update(address=OTHER if free else ETHEREUM.address)
            with pytest.raises(ProofRequiredError) as caught:
                ask(owned_merchant)
            told.append(caught.value.body())
    assert len(told) == 3
    assert told[0] == told[1] == told[2]
    assert "another" not in str(told[0]).lower()


def test_the_message_names_where_who_what_and_until_when(owned_merchant: Merchant) -> None:
    proof = start(owned_merchant)
    message = message_of(proof)
    for line in (
        f"Merchant: {owned_merchant.public_id}",
        "Network: ethereum",
        f"Address: {ETHEREUM.address}",
        f"Nonce: {proof.nonce}",
        "Expires: 2026-11-20T12:10:00Z",
    ):
        assert line in message.split("\n")
    assert "http" in message


def test_a_taken_wallet_is_nobodys_to_offer_and_its_old_money_stays_where_it_was(
    owned_merchant: Merchant, squatter: Merchant
) -> None:
    old = squatter.receiving_wallets.get()
    change = take(owned_merchant)
    assert change.is_open
    assert receiving_wallets(squatter.pk) == {}
    assert present(owned_merchant) == []
    owner = owners_of("ethereum", {bytes(old.key)})[bytes(old.key)]
    assert (owner.wallet_id, owner.merchant_id) == (old.pk, squatter.pk)
    old.refresh_from_db()
    assert old.taken_over_at == old.retired_at == NOON


def test_who_lost_it_is_told_and_never_by_whom(owned_merchant: Merchant, squatter: Merchant) -> None:
    take(owned_merchant)
    [mail] = OutgoingMail.objects.filter(recipient=owner_of(squatter).email)
    assert ETHEREUM.address in mail.text
    entry = AuditEntry.objects.get(action="receiving_wallet.taken_over")
    assert (entry.merchant, entry.actor, entry.address) == (squatter, None, None)
    theirs = AuditEntry.objects.filter(merchant=squatter).values()
    for text in (mail.subject + mail.text, str(list(theirs))):
        assert owned_merchant.public_id not in text
        assert owner_of(owned_merchant).email not in text
    mine = OutgoingMail.objects.filter(recipient=owner_of(owned_merchant).email)
    ours = AuditEntry.objects.filter(merchant=owned_merchant).values()
    told = str([*mine.values(), *ours])
    assert squatter.name not in told
    assert squatter.public_id not in told


def test_it_is_handed_over_once_it_was_released(owned_merchant: Merchant, squatter: Merchant) -> None:
    take(owned_merchant)
    assert apply_wallet_changes(now=LATER) == 0
    [old] = claims_to_release(now=LATER)
    assert release_claim(old, now=LATER)
    assert not release_claim(old, now=LATER)
    assert apply_wallet_changes(now=LATER) == 1
    assert present(owned_merchant) == [ETHEREUM.address]
    assert owners_of("ethereum", {bytes(old.key)})[bytes(old.key)].merchant_id == (owned_merchant.pk)
    with pytest.raises(ProofRequiredError):
        ask(squatter)


def test_nothing_is_released_while_processes_may_still_offer_it(owned_merchant: Merchant, squatter: Merchant) -> None:
    take(owned_merchant)
    assert claims_to_release(now=NOON + RELEASE_AFTER - timedelta(seconds=1)) == []


def test_a_wallet_retired_without_a_proof_is_not_released(squatter: Merchant) -> None:
    squatter.receiving_wallets.update(retired_at=NOON)
    assert claims_to_release(now=LATER) == []


def test_after_31_days_a_proof_waits_for_nothing(owned_merchant: Merchant, squatter: Merchant) -> None:
    take(owned_merchant)
    assert apply_wallet_changes(now=NOON + timedelta(days=31)) == 1


def test_machines_of_others_are_waited_for_a_day(owned_merchant: Merchant, squatter: Merchant) -> None:
    squatter.receiving_wallets.update(purpose=ClaimKind.X402)
    take(owned_merchant)
    almost = NOON + MACHINES_MAY_STILL_PAY - timedelta(seconds=1)
    assert apply_wallet_changes(now=almost) == 0
    assert apply_wallet_changes(now=NOON + MACHINES_MAY_STILL_PAY) == 1


def test_who_has_a_wallet_already_waits_as_for_any_change(owned_merchant: Merchant, squatter: Merchant) -> None:
    make_wallet(owned_merchant, "ethereum", WALLET)
    change = take(owned_merchant)
    assert change.effective_at == NOON + timedelta(hours=24)
    assert receiving_wallets(squatter.pk) == {}
    [old] = claims_to_release(now=LATER)
    release_claim(old, now=LATER)
    assert apply_wallet_changes(now=LATER) == 0
    assert apply_wallet_changes(now=change.effective_at) == 1
    assert present(owned_merchant) == [ETHEREUM.address]


def test_while_one_waits_others_are_asked_for_a_proof(owned_merchant: Merchant, squatter: Merchant) -> None:
    take(owned_merchant)
    third = make_merchant()
    make_member(third)
    for who in (squatter, third):
        with pytest.raises(ProofRequiredError):
            ask(who)


def test_the_latest_proof_wins_and_who_was_first_is_told(owned_merchant: Merchant, squatter: Merchant) -> None:
    first = take(owned_merchant)
    assert isinstance(prove(start(squatter)), ReceivingWallet)
    first.refresh_from_db()
    assert first.failed_at == NOON
    assert "proved later" in first.failure
    assert squatter.name not in first.failure
    assert present(squatter) == [ETHEREUM.address]
    assert present(owned_merchant) == []


def test_a_cancelled_claim_lets_the_other_merchant_have_it_back(owned_merchant: Merchant, squatter: Merchant) -> None:
    cancel_change(take(owned_merchant), actor=Actor(owner_of(owned_merchant)), now=NOON)
    assert isinstance(ask(squatter), ReceivingWallet)


def test_who_asked_and_is_no_owner_any_more_gets_nothing(owned_merchant: Merchant, squatter: Merchant) -> None:
    change = take(owned_merchant)
    owned_merchant.memberships.all().delete()
    assert apply_wallet_changes(now=LATER) == 0
    change.refresh_from_db()
    assert change.failed_at == LATER


def test_with_a_change_that_waits_no_address_tells_anything(owned_merchant: Merchant, squatter: Merchant) -> None:
    make_wallet(owned_merchant, "ethereum", WALLET)
    ask(owned_merchant, Signer("ethereum", bytes(range(3, 35))))
    with pytest.raises(ConflictError) as caught:
        ask(owned_merchant)
    assert caught.value.code == "state_conflict"


def test_a_proof_proves_once(owned_merchant: Merchant, squatter: Merchant) -> None:
    proof = start(owned_merchant)
    cancel_change(_changed(prove(proof)), actor=Actor(owner_of(owned_merchant)), now=NOON)
    with pytest.raises(ConflictError, match="used or has expired"):
        prove(proof)


def _changed(answer: ReceivingWallet | WalletChange) -> WalletChange:
    assert isinstance(answer, WalletChange)
    return answer


def test_a_proof_expires_after_ten_minutes(owned_merchant: Merchant, squatter: Merchant) -> None:
    proof = start(owned_merchant)
    with pytest.raises(ConflictError, match="has expired"):
        prove(proof, now=NOON + timedelta(minutes=10))
    prove(proof, now=NOON + timedelta(minutes=9, seconds=59))
    proof.refresh_from_db()
    assert proof.used_at is not None


def test_a_new_message_makes_the_one_before_worthless(owned_merchant: Merchant) -> None:
    proof = start(owned_merchant)
    start(owned_merchant)
    with pytest.raises(ConflictError):
        prove(proof)


def test_another_merchant_cannot_use_a_signature(owned_merchant: Merchant, squatter: Merchant) -> None:
    signature = ETHEREUM.sign(message_of(start(owned_merchant)))
    with pytest.raises(InvalidRequestError):
        prove(start(squatter), signature=signature)
    assert receiving_wallets(squatter.pk) == {"ethereum": ETHEREUM.address}
