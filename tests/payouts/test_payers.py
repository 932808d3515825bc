"""Refunds that go only to an address that paid, and whose key signs our message."""

from datetime import timedelta

import pytest

from accounts.audit.actors import Actor
from accounts.models import AuditEntry, Merchant
from accounts.states import Mode
from gateway.core.api.errors import ConflictError, InvalidRequestError
from payouts.lifecycle.payers import open_proof, payers_of, prove_payer, start_payer_proof
from payouts.lifecycle.service import Terms, request_refund, set_address
from payouts.lifecycle.sources import Source
from payouts.models import Payout
from payouts.states import AddressBy, PayoutStatus
from tests.checkouts.watcher import DOLLAR
from tests.factories import NOON
from tests.payouts.factories import BUYER, approved, make_paid, refund_of
from tests.wallets.signing import SEED, Signer
from wallets.models import Transfer, WalletProof
from wallets.receiving.proofs import LASTS, message_of, start_proof
from wallets.states import ProofPurpose

pytestmark = pytest.mark.django_db

PAYER, STRANGER = Signer("base"), Signer("base", SEED[::-1])


def paid_by(signer: Signer = PAYER, merchant: Merchant | None = None) -> Payout:
    """A refund that requires a proof, of 5 USDC of a checkout that a signer paid."""
    checkout = make_paid(merchant)
    # As nodes write it: in lower case.
    Transfer.objects.filter(payment__checkout=checkout).update(sender=signer.address.lower())
    return refund_of(checkout, 5 * DOLLAR, requires_proof=True).payout


def proof_of(payout: Payout, signer: Signer = PAYER) -> WalletProof:
    """The message that a payer was given for a refund."""
    return start_payer_proof(payout, address=signer.address, now=NOON)


def prove(payout: Payout, proof: WalletProof, signer: Signer = PAYER, **changes: str) -> Payout:
    """Sign a message and hand it in."""
    sent = {"nonce": proof.nonce, "signature": signer.sign(message_of(proof))} | changes
    return prove_payer(payout, now=NOON, **sent)


def test_the_payers_signature_says_where_a_refund_goes() -> None:
    payout = paid_by()
    assert payers_of(payout) == [PAYER.address]
    proof = proof_of(payout)
    assert open_proof(payout, now=NOON) == proof
    after = prove(payout, proof)
    assert (after.status, after.address, after.address_by) == (PayoutStatus.REQUESTED, PAYER.address, AddressBy.CLAIM)
    assert after.proved_at == NOON
    proof.refresh_from_db()
    assert (proof.used_at, proof.purpose, proof.requested_by) == (NOON, ProofPurpose.REFUND, None)
    assert proof.signature == PAYER.sign(message_of(proof))
    entry = AuditEntry.objects.get(action="payout.address_set")
    assert entry.after
    assert entry.after["proof"] == proof.nonce
    assert approved(after).status == PayoutStatus.APPROVED


def test_the_message_says_that_it_is_about_a_refund_and_moves_no_money() -> None:
    payout = paid_by()
    message = message_of(proof_of(payout))
    assert message.startswith("Refund address proof")
    for words in ("moves no money", f"Address: {PAYER.address}", f"Merchant: {payout.merchant.public_id}"):
        assert words in message
    assert payout.public_id not in message
    assert "Receiving wallet" not in message


def test_who_did_not_pay_gets_no_message() -> None:
    payout = paid_by()
    with pytest.raises(InvalidRequestError, match="did not pay"):
        proof_of(payout, STRANGER)
    assert not WalletProof.objects.exists()


def test_another_key_or_message_proves_nothing() -> None:
    payout = paid_by()
    proof = proof_of(payout)
    wrong = [STRANGER.sign(message_of(proof)), PAYER.sign(message_of(proof) + "\n"), "", "0x", "0x" + "00" * 65, "é"]
    for signature in wrong:
        with pytest.raises(InvalidRequestError):
            prove(payout, proof, signature=signature)
    payout.refresh_from_db()
    assert (payout.status, payout.address) == (PayoutStatus.OPEN, "")
    # A refusal leaves it usable.
    assert prove(payout, proof).status == PayoutStatus.REQUESTED


def test_a_message_is_used_once_within_its_time_and_a_new_one_ends_it() -> None:
    payout = paid_by()
    first, second = proof_of(payout), proof_of(payout)
    with pytest.raises(ConflictError, match="Get a new one"):
        prove(payout, first)
    signature = PAYER.sign(message_of(second))
    with pytest.raises(ConflictError, match="Get a new one"):
        prove_payer(payout, nonce=second.nonce, signature=signature, now=NOON + LASTS + timedelta(seconds=1))
    prove(payout, second)
    with pytest.raises(ConflictError, match="Get a new one"):
        prove(payout, second)


def test_a_signature_for_one_refund_says_nothing_about_another(merchant: Merchant) -> None:
    one, other = paid_by(merchant=merchant), paid_by(merchant=merchant)
    proof = proof_of(one)
    with pytest.raises(ConflictError):
        prove(other, proof)
    assert prove(one, proof).address == PAYER.address
    other.refresh_from_db()
    assert other.address == ""


def test_messages_of_receiving_wallets_and_of_refunds_do_not_end_each_other(owned_merchant: Merchant) -> None:
    payout = paid_by(merchant=owned_merchant)
    proof = proof_of(payout)
    person = owned_merchant.memberships.get().user
    theirs = start_proof(owned_merchant, chain="base", address=STRANGER.address, actor=Actor(person), now=NOON)
    again = proof_of(payout)
    assert set(WalletProof.objects.values_list("pk", flat=True)) == {theirs.pk, again.pk}
    assert proof.pk != again.pk


@pytest.mark.parametrize("by", [AddressBy.API, AddressBy.PERSON, AddressBy.CLAIM])
def test_nobody_gives_another_address(by: AddressBy) -> None:
    payout = paid_by()
    with pytest.raises(ConflictError, match="goes only to an address that paid"):
        set_address(payout, address=BUYER, by=by, now=NOON)
    payout.refresh_from_db()
    assert payout.address == ""


def test_a_refund_that_asks_for_none_takes_no_proof() -> None:
    payout = refund_of(make_paid()).payout
    with pytest.raises(ConflictError, match="takes no proof"):
        start_payer_proof(payout, address=PAYER.address, now=NOON)


def test_the_payer_may_get_it_on_another_network_of_the_same_keys() -> None:
    checkout = make_paid()
    Transfer.objects.update(sender=PAYER.address)
    choices = [("base", "USDC"), ("polygon", "USDT")]
    payout = refund_of(checkout, choices=choices, requires_proof=True).payout
    proof = start_payer_proof(payout, address=PAYER.address, chain="polygon", token="USDT", now=NOON)
    assert "Network: polygon" in message_of(proof)
    after = prove(payout, proof, token="USDT")
    assert (after.chain, after.token, after.address) == ("polygon", "USDT", PAYER.address)


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"address": BUYER}, "Leave address out"),
        ({"choices": [("base", "USDC"), ("tron", "USDT")]}, "is not known on each of these chains"),
    ],
)
def test_what_no_payer_can_prove_is_refused(terms: dict[str, object], words: str) -> None:
    checkout = make_paid()
    with pytest.raises(InvalidRequestError, match=words) as caught:
        request_refund(
            checkout.merchant,
            mode=Mode.LIVE,
            source=Source(checkout=checkout.public_id),
            terms=Terms(requires_proof=True, **terms),  # type: ignore[arg-type]
            now=NOON,
        )
    assert caught.value.param == "requires_payer_proof"
    assert not Payout.objects.exists()
