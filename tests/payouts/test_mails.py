"""The mail with the link to a claim page."""

from datetime import timedelta

import pytest
from django.core import mail as outbox
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.errors import InvalidRequestError, RateLimitError
from mails.models import OutgoingMail
from payouts.lifecycle.claims import claim_code, claim_url
from payouts.lifecycle.mails import PER_RECIPIENT, claim_words, mail_claim
from payouts.lifecycle.service import cancel_payout
from payouts.models import Payout
from tests.dashboard.people import make_member
from tests.factories import NOON
from tests.payouts.factories import make_paid, refund_of

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
