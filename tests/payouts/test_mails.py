"""Mails to who receives a payout: the link to its claim page, and that it was paid."""

from datetime import timedelta

import pytest
from django.core import mail as outbox
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.errors import InvalidRequestError, RateLimitError
from mails.models import OutgoingMail
from mails.words import words_of
from payouts.following.service import follow_movements
from payouts.lifecycle.claims import claim_code, claim_url
from payouts.lifecycle.mails import PER_RECIPIENT, claim_words, mail_claim, promise_paid
from payouts.lifecycle.service import cancel_payout, conclude_payout, set_address
from payouts.models import Payout
from payouts.states import AddressBy, PayoutException
from tests.dashboard.people import make_member
from tests.factories import NOON
from tests.payouts.factories import BUYER, approved, make_paid, make_payout, outflow_for, refund_of, status_of
from wallets.models import WatchedMovement
from wallets.states import TransferState

pytestmark = pytest.mark.django_db

ANN = "ann@example.test"


def refund(merchant: Merchant, email: str = ANN) -> Payout:
    return refund_of(make_paid(merchant), 5_000_000, email=email, reason="Broken mug").payout


def test_the_link_is_in_the_mail_and_in_no_row(merchant: Merchant) -> None:
    payout = refund(merchant)
    mail_claim(payout, now=NOON)
    stored = OutgoingMail.objects.get()
    code = claim_code(payout)
    assert code
    assert code not in f"{stored.key}{stored.subject}{stored.text}{stored.html}"
    words = claim_words(payout.public_id)
    assert words
    assert claim_url(code) in words.text
    assert "5.00 USDC" in words.subject
    assert "Broken mug" in words.text
    assert not outbox.outbox


def test_a_link_that_takes_no_address_is_not_mailed(merchant: Merchant) -> None:
    payout = refund(merchant)
    cancel_payout(payout, now=NOON)
    assert claim_words(payout.public_id) is None
    assert claim_words("po_live_none") is None


def test_without_an_address_nothing_is_mailed(merchant: Merchant) -> None:
    mail_claim(refund(merchant, ""), now=NOON)
    assert not OutgoingMail.objects.exists()


def test_in_test_mode_only_the_team_gets_mail(merchant: Merchant) -> None:
    payout = refund(merchant)
    Payout.objects.update(mode=Mode.TEST)
    payout.refresh_from_db()
    with pytest.raises(InvalidRequestError):
        mail_claim(payout, now=NOON)
    payout.email = make_member(merchant).email
    mail_claim(payout, now=NOON)
    assert OutgoingMail.objects.get().recipient == payout.email


@pytest.mark.usefixtures("still_window")
def test_no_stranger_is_flooded(merchant: Merchant) -> None:
    payout = refund(merchant)
    now = timezone.now()
    for _ in range(PER_RECIPIENT.most):
        mail_claim(payout, now=now)
    with pytest.raises(RateLimitError):
        mail_claim(payout, now=now + timedelta(seconds=1))


def test_the_mail_of_a_refund_for_who_paid_asks_for_a_signature(merchant: Merchant) -> None:
    payout = refund_of(make_paid(merchant), 5_000_000, email=ANN, requires_proof=True).payout
    words = claim_words(payout.public_id)
    assert words
    assert "Sign a message with that wallet, until" in words.text
    assert "Say which of your addresses" not in words.text


def paid_refund(merchant: Merchant, email: str = ANN) -> Payout:
    """A refund of 5 USDC whose recipient gave an address, and that an outflow paid."""
    payout = set_address(refund(merchant, email), address=BUYER, by=AddressBy.CLAIM, now=NOON)
    return conclude_payout(approved(payout), outflow_for(payout), now=NOON)


def paid_mails() -> list[OutgoingMail]:
    return list(OutgoingMail.objects.filter(key__startswith="claim:", key__endswith=":paid"))


def test_who_is_paid_reads_the_amount_the_address_and_the_transaction(merchant: Merchant) -> None:
    payout = paid_refund(merchant)
    [mail] = paid_mails()
    assert (mail.recipient, mail.text) == (ANN, "")
    words = words_of(mail)
    assert words
    assert words.subject == "Halden Roasters refunded 5.00 USDC"
    assert payout.movement
    for said in ("5.00 USDC", "on Base", BUYER, payout.movement.tx_hash, "Broken mug"):
        assert said in words.text, said


def test_a_payout_that_is_no_refund_was_sent(merchant: Merchant) -> None:
    payout = make_payout(merchant, email=ANN)
    conclude_payout(approved(payout), outflow_for(payout), now=NOON)
    [mail] = paid_mails()
    words = words_of(mail)
    assert words
    assert words.subject == "Halden Roasters sent 5.00 USDC"


def test_what_a_person_accepted_is_told_in_the_amount_that_was_sent(merchant: Merchant) -> None:
    payout = approved(make_payout(merchant, email=ANN))
    conclude_payout(payout, outflow_for(payout, 4_980_000), now=NOON, exception=PayoutException.WRONG_AMOUNT)
    words = claim_words(f"{payout.public_id}:paid")
    assert words
    assert "4.98 USDC" in words.text
    assert "5.00" not in words.text


def test_it_is_mailed_once_however_often_the_network_takes_it_back(merchant: Merchant) -> None:
    payout = paid_refund(merchant)
    WatchedMovement.objects.update(state=TransferState.ORPHANED, orphaned_at=NOON, queued_at=NOON)
    follow_movements(now=NOON)
    [mail] = paid_mails()
    assert words_of(mail) is None, "the money is not there"
    WatchedMovement.objects.update(state=TransferState.CONFIRMED, orphaned_at=None, queued_at=NOON)
    follow_movements(now=NOON)
    [mail] = paid_mails()
    assert words_of(mail)
    assert status_of(payout) == "paid"


def test_nobody_is_told_who_left_no_address_or_is_no_member_in_test_mode(merchant: Merchant) -> None:
    paid_refund(merchant, "")
    assert not paid_mails()
    payout = Payout.objects.get()
    for email, count in ((ANN, 0), (make_member(merchant).email, 1)):
        payout.email, payout.mode = email, Mode.TEST
        promise_paid(payout, now=NOON)
        assert len(paid_mails()) == count


def test_what_is_not_paid_says_nothing_of_it(merchant: Merchant) -> None:
    payout = refund(merchant)
    assert claim_words(f"{payout.public_id}:paid") is None
    assert claim_words(f"{payout.public_id}:something") is None
