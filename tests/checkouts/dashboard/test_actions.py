"""Sending a receipt from the page of a checkout: where to, who may, how often, and what is kept of the address."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core import mail
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.models import AuditEntry, Merchant
from accounts.states import Mode
from checkouts.errors import MailLimitError
from checkouts.lifecycle import receipts
from checkouts.lifecycle.receipts import send_receipt
from checkouts.models import Checkout
from checkouts.states import CheckoutException
from gateway.core.api.errors import ConflictError
from gateway.core.api.rate_limits import Limit
from mails.models import OutgoingMail
from mails.sender import send_due_mails
from tests.checkouts.dashboard.opened import page_of
from tests.checkouts.factories import make_completed, make_page_checkout
from tests.checkouts.watcher import Watcher, attribute, fresh, pay
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON, make_checkout, make_live_chain

pytestmark = pytest.mark.django_db

KNOWN = "ada@example.test"
TYPED = "ines.moreau@counter.example"


def form_of(desk: Desk, checkout: Checkout) -> Any:
    return desk.get("dashboard_send_receipt", checkout_id=checkout.public_id)


def send(desk: Desk, checkout: Checkout, email: str = TYPED, nonce: object = None) -> Any:
    """Send the form with a nonce of its own, unless one is said."""
    sent = {"email": email, "nonce": str(nonce or uuid4())}
    return desk.post("dashboard_send_receipt", sent, checkout_id=checkout.public_id)


def mailed() -> list[Any]:
    send_due_mails(now=timezone.now() + timedelta(minutes=1))
    return mail.outbox


@pytest.fixture
def paid(merchant: Merchant) -> Checkout:
    """A completed checkout whose buyer left an address, at a merchant who has no receipts mailed by themselves."""
    return make_completed(merchant=merchant, customer_email=KNOWN, description="Guji, 250 g")


def test_the_form_has_the_buyers_address_and_takes_another(admin: Desk, paid: Checkout) -> None:
    assert admin.url("dashboard_send_receipt", checkout_id=paid.public_id) in page_of(admin, paid)
    assert f'value="{KNOWN}"' in form_of(admin, paid).text
    assert send(admin, paid).status_code == 302
    assert f"The receipt is on its way to {TYPED}." in page_of(admin, paid)
    assert fresh(paid).customer_email == KNOWN
    [message] = mailed()
    assert message.to == [TYPED]
    assert message.subject == f"Receipt from {admin.merchant.name}"
    number = paid.public_id.rpartition("_")[2][:10].upper()
    for said in ("49.00 USDC", "Guji, 250 g", f"{number[:5]}-{number[5:]}", f"{paid.code}/receipt"):
        assert said in message.body


def test_the_form_is_empty_where_the_buyer_left_no_address(owner: Desk) -> None:
    paid = make_completed(merchant=owner.merchant, customer_email="")
    page = form_of(owner, paid)
    assert page.context["form"]["email"].value() == ""
    assert send(owner, paid, "").status_code == 422
    assert not OutgoingMail.objects.exists()


def test_a_receipt_that_went_by_itself_is_sent_again() -> None:
    desk = make_desk()
    Merchant.objects.filter(pk=desk.merchant.pk).update(mails_receipts=True)
    checkout = make_checkout(desk.merchant, customer_email=KNOWN)
    pay(checkout)
    send(desk, checkout, KNOWN)
    first, again = mailed()
    assert first.to == again.to == [KNOWN]
    assert first.body == again.body
    # The same Message-ID would be shown once.
    assert first.extra_headers["Message-ID"] != again.extra_headers["Message-ID"]


def test_a_double_click_sends_one_mail_and_counts_once(
    owner: Desk, paid: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receipts, "PER_CHECKOUT", Limit("receipt.twice", 2, 86_400))
    nonce = form_of(owner, paid).context["form"]["nonce"].value()
    for _ in range(3):
        assert send(owner, paid, nonce=nonce).status_code == 302
    assert f"was already sent to {TYPED}" in page_of(owner, paid)
    assert AuditEntry.objects.filter(action="checkout.receipt_sent").count() == 1
    # Whoever goes back and types another address means another mail.
    assert send(owner, paid, KNOWN, nonce=nonce).status_code == 302
    assert [message.to for message in mailed()] == [[TYPED], [KNOWN]]


def test_the_audit_log_has_who_sent_it_and_not_the_whole_address(admin: Desk, paid: Checkout) -> None:
    send(admin, paid)
    entry = AuditEntry.objects.get(action="checkout.receipt_sent")
    assert (entry.actor, entry.object_id) == (admin.user, paid.public_id)
    assert entry.after == {"email": "i•••@counter.example"}
    assert entry.address == "127.0.0.1"
    assert "Receipt sent" in admin.get("dashboard_audit_log").text


def test_a_viewer_sends_nothing(viewer: Desk, paid: Checkout) -> None:
    page = page_of(viewer, paid)
    assert "View receipt" in page
    assert "Send receipt" not in page
    assert form_of(viewer, paid).status_code == 403
    assert send(viewer, paid).status_code == 403
    assert not OutgoingMail.objects.exists()


def test_what_is_not_paid_has_no_receipt(owner: Desk) -> None:
    checkout = make_page_checkout(owner.merchant)
    assert "Send receipt" not in page_of(owner, checkout)
    for act in (form_of, send):
        assert act(owner, checkout).status_code == 302
        assert "Only a completed checkout has a receipt." in page_of(owner, checkout)
    assert not OutgoingMail.objects.exists()
    with pytest.raises(ConflictError):
        send_to(checkout, owner, now=NOON)


def test_a_payment_in_doubt_has_no_receipt_to_send_until_it_no_longer_is(admin: Desk, paid: Checkout) -> None:
    make_live_chain("base", halted_reason="a deep fork", doubted_above=0)
    page = page_of(admin, paid)
    for offer in ("Send receipt", "View receipt", f"{paid.code}/receipt"):
        assert offer not in page
    for ask in (form_of, send):
        ask(admin, paid)
        assert "This payment is in doubt" in page_of(admin, paid)
    assert mailed() == []
    make_live_chain("base", halted_reason="", doubted_above=None)
    assert "Send receipt" in page_of(admin, paid)


def test_a_payment_that_was_reversed_has_no_receipt_to_send(owner: Desk) -> None:
    checkout, watcher = make_checkout(owner.merchant), Watcher()
    transfer = watcher.sees(checkout)
    watcher.confirms()
    attribute()
    send(owner, checkout)
    watcher.loses(transfer)
    attribute()
    assert fresh(checkout).exception == CheckoutException.REVERSED
    assert "Send receipt" not in page_of(owner, checkout)
    send(owner, checkout)
    assert "there is no receipt to send" in page_of(owner, checkout)
    # What was asked for before is not sent either; the owner is told of the reversal.
    assert [message.to for message in mailed()] == [[owner.user.email]]


@pytest.mark.parametrize("email", ["ines", "a@b@c.test", f"{'a' * 250}@example.test"])
def test_an_impossible_address_is_shown_again_with_what_is_wrong(email: str, owner: Desk, paid: Checkout) -> None:
    answer = send(owner, paid, email)
    assert answer.status_code == 422
    assert f'value="{email}"' in answer.text
    assert "field__errors" in answer.text
    assert not OutgoingMail.objects.exists()


def test_an_address_cannot_add_headers_or_recipients(owner: Desk, paid: Checkout) -> None:
    for email in ("a@b.test, c@d.test", "a@b.test\r\nBcc: c@d.test", "a@b.test\x00"):
        assert send(owner, paid, email).status_code == 422
    assert not OutgoingMail.objects.exists()


def test_a_form_without_its_nonce_is_not_understood(owner: Desk, paid: Checkout) -> None:
    assert send(owner, paid, nonce="17").status_code == 400
    assert not OutgoingMail.objects.exists()


def test_test_receipts_go_to_the_team_alone(merchant: Merchant) -> None:
    desk = make_desk(merchant, mode=Mode.TEST)
    checkout = make_checkout(merchant, mode=Mode.TEST)
    pay(checkout)
    answer = send(desk, checkout)
    assert answer.status_code == 422
    assert "only to e-mail addresses of your team" in answer.text
    assert send(desk, checkout, desk.user.email.upper()).status_code == 302
    [message] = mailed()
    assert message.subject.startswith("Test receipt from")


def send_to(checkout: Checkout, desk: Desk, email: str = TYPED, *, now: datetime, nonce: UUID | None = None) -> bool:
    return send_receipt(checkout, email, nonce=nonce or uuid4(), actor=Actor(desk.user), now=now)


def test_a_receipt_is_sent_three_times_a_day(owner: Desk, paid: Checkout) -> None:
    for _ in range(3):
        assert send_to(paid, owner, now=NOON)
    with pytest.raises(MailLimitError, match="3 times a day"):
        send_to(paid, owner, KNOWN, now=NOON)
    assert OutgoingMail.objects.count() == 3
    assert AuditEntry.objects.filter(action="checkout.receipt_sent").count() == 3
    other = make_completed(merchant=owner.merchant)
    assert send_to(other, owner, now=NOON)
    assert send_to(paid, owner, now=NOON + timedelta(days=1))


def test_an_address_gets_ten_receipts_of_a_merchant_a_day(owner: Desk, stranger: Desk) -> None:
    checkouts = [make_completed(merchant=owner.merchant) for _ in range(4)]
    for number in range(10):
        assert send_to(checkouts[number // 3], owner, now=NOON)
    with pytest.raises(MailLimitError, match="10 receipts from you a day"):
        send_to(checkouts[3], owner, TYPED.upper(), now=NOON)
    assert send_to(checkouts[3], owner, KNOWN, now=NOON)
    assert send_to(make_completed(), stranger, now=NOON)


def test_a_merchant_sends_so_many_receipts_an_hour(
    owner: Desk, stranger: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = Limit("receipt.two", 2, receipts.PER_MERCHANT.seconds)
    monkeypatch.setattr(receipts, "PER_MERCHANT", limit)
    checkouts = [make_completed(merchant=owner.merchant) for _ in range(3)]
    for checkout in checkouts[:2]:
        send_to(checkout, owner, now=NOON)
    # Being refused here uses nothing of the checkout's own three up.
    for _ in range(4):
        with pytest.raises(MailLimitError, match="2 receipts an hour"):
            send_to(checkouts[2], owner, now=NOON)
    assert send_to(make_completed(), stranger, now=NOON)
    assert send_to(checkouts[2], owner, now=NOON + timedelta(hours=1))


def test_a_limit_is_told_beside_what_was_typed(owner: Desk, paid: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipts, "PER_CHECKOUT", Limit("receipt.none", 0, 86_400))
    answer = send(owner, paid)
    assert answer.status_code == 429
    assert "Try again tomorrow." in answer.text
    assert f'value="{TYPED}"' in answer.text
    assert not OutgoingMail.objects.exists()
    assert not AuditEntry.objects.filter(action="checkout.receipt_sent").exists()
