"""Receipts by mail: promised with the completing move, for merchants who want it, and said once."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.core.mail import EmailMultiAlternatives
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.models import Branding, Membership, Merchant
from accounts.states import Mode, Role
from checkouts.inbox.successors import accept_late
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import Checkout, InboxItem, Receipt
from checkouts.page.receipts import receipt_words
from checkouts.payloads import checkout_url
from checkouts.states import CheckoutException, CheckoutStatus
from mails.models import OutgoingMail
from mails.sender import POSTPONED, send_due_mails
from tests.checkouts.factories import number_of
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, attribute, fresh, pay
from tests.factories import make_checkout, make_live_chain, make_merchant, make_user

pytestmark = pytest.mark.django_db

BUYER = "ada@example.test"
LATER = SOON + timedelta(minutes=1)


def make_mailing_merchant(**overrides: Any) -> Merchant:
    return make_merchant(mails_receipts=True, **overrides)


def make_addressed(merchant: Merchant | None = None, **overrides: Any) -> Checkout:
    """A checkout of 25 USD whose buyer left an address, at a merchant who mails receipts."""
    merchant = merchant or make_mailing_merchant()
    return make_checkout(merchant, **({"customer_email": BUYER} | overrides))


def send() -> list[EmailMultiAlternatives]:
    send_due_mails(now=LATER)
    return mail.outbox  # type: ignore[return-value]


def html_of(message: EmailMultiAlternatives) -> str:
    [alternative] = message.alternatives
    return str(alternative[0])


def test_a_completed_checkout_mails_its_receipt_once() -> None:
    checkout = make_addressed(make_mailing_merchant(name="Halden Roasters"), description="Guji, 250 g")
    transfer = pay(checkout)
    attribute()
    assert not Receipt.objects.exists()
    [message] = send()
    assert (message.to, message.subject) == ([BUYER], "Receipt from Halden Roasters")
    # Crediting signs nothing: the process that sends the mail does.
    [(name, content, media_type)] = message.attachments
    assert (name, media_type) == ("receipt.jws", "application/jose")
    assert content == bytes(Receipt.objects.get().jws)
    for words in (message.body, html_of(message)):
        for said in (
            "25.00 USDC",
            "Guji, 250 g",
            "$25.00 USD",
            "20 Nov 2026, 12:01 UTC",
            number_of(checkout),
            "Base",
            transfer.tx_hash,
            f"{checkout_url(checkout.code)}/receipt",
            "Halden Roasters",
        ):
            assert said in words
        assert "Test mode" not in words
        # Of one transfer the sum says it.
        assert "Amount" not in words
    assert [send_due_mails(now=LATER + timedelta(days=1)) for _ in range(2)] == [0, 0]


def test_no_receipt_is_mailed_unless_the_merchant_said_so() -> None:
    pay(make_addressed(make_merchant()))
    assert not OutgoingMail.objects.exists()


def test_no_receipt_is_mailed_to_a_buyer_who_left_no_address() -> None:
    pay(make_addressed(customer_email=""))
    assert not OutgoingMail.objects.exists()


def expire(checkout: Checkout) -> None:
    """Let a checkout end, everything there was having been read."""
    ended = checkout.expires_at + timedelta(hours=25)
    assert expire_due_checkouts(now=ended) == 1


@pytest.mark.parametrize("units", [0, 10 * DOLLAR])
def test_a_checkout_that_expires_mails_nothing(units: int) -> None:
    checkout = make_addressed()
    if units:
        pay(checkout, units)
    expire(checkout)
    assert not OutgoingMail.objects.exists()


def test_a_successor_mails_a_receipt_of_its_own() -> None:
    checkout = make_addressed()
    expire(checkout)
    pay(checkout)
    assert not OutgoingMail.objects.exists()
    with transaction.atomic():
        successor = accept_late(InboxItem.objects.get(), now=SOON)
    [message] = send()
    assert number_of(successor) in message.body
    assert number_of(checkout) not in message.body


def test_the_promise_stands_and_falls_with_the_move() -> None:
    checkout = make_addressed()
    with transaction.atomic():
        pay(checkout)
        assert OutgoingMail.objects.get().key == f"receipt:{checkout.public_id}"
        transaction.set_rollback(True)
    assert not OutgoingMail.objects.exists()
    assert fresh(checkout).status == CheckoutStatus.PENDING


def test_money_taken_back_after_the_receipt_went_sends_no_second_one() -> None:
    checkout, watcher = make_addressed(), Watcher()
    transfer = watcher.sees(checkout)
    watcher.confirms()
    attribute()
    assert len(send()) == 1
    watcher.loses(transfer)
    attribute()
    watcher.finds_again(transfer)
    watcher.confirms()
    attribute()
    assert len(send()) == 1


def test_money_taken_back_before_the_receipt_went_is_not_confirmed() -> None:
    checkout, watcher = make_addressed(), Watcher()
    transfer = watcher.sees(checkout)
    watcher.confirms()
    attribute()
    watcher.loses(transfer)
    attribute()
    assert fresh(checkout).exception == CheckoutException.REVERSED
    assert send() == []
    assert not OutgoingMail.objects.filter(key__startswith="receipt:").exists()
    # The dropped one is queued again with the money, and goes once.
    watcher.finds_again(transfer)
    watcher.confirms()
    attribute()
    for _ in range(2):
        assert len([one for one in send() if one.to == [BUYER]]) == 1


def test_a_receipt_waits_while_its_payment_is_in_doubt() -> None:
    checkout = make_addressed()
    paid = pay(checkout)
    make_live_chain("base", halted_reason="a deep fork", doubted_above=paid.block_height - 1)
    assert send() == []
    waiting = OutgoingMail.objects.get()
    assert (waiting.tries, waiting.due_at) == (0, LATER + POSTPONED)
    make_live_chain("base", halted_reason="", doubted_above=None)
    send_due_mails(now=LATER + POSTPONED)
    assert len(mail.outbox) == 1


def test_several_transfers_and_what_is_too_much_are_told() -> None:
    checkout, watcher = make_addressed(), Watcher()
    first = watcher.sees(checkout, 10 * DOLLAR)
    second = watcher.sees(checkout, 20 * DOLLAR)
    watcher.confirms()
    attribute()
    [message] = send()
    for words in (message.body, html_of(message)):
        assert first.tx_hash in words
        assert second.tx_hash in words
        assert "10.00 USDC" in words
        assert "20.00 USDC" in words
        assert "Overpaid" in words
        assert "5.00 USDC" in words


def test_a_test_key_has_no_strangers_mailed() -> None:
    pay(make_addressed(mode=Mode.TEST))
    assert send() == []


def test_a_test_checkout_says_that_no_money_moved() -> None:
    merchant = make_mailing_merchant()
    member = make_user()
    Membership.objects.create(merchant=merchant, user=member, role=Role.VIEWER)
    address = member.email.upper()
    pay(make_addressed(merchant, mode=Mode.TEST, customer_email=address))
    [message] = send()
    assert message.subject.startswith("Test receipt from")
    for words in (message.body, html_of(message)):
        assert "Test mode: no real money" in words
        assert "basescan" not in words


def test_what_a_merchant_wrote_is_text_and_not_markup() -> None:
    merchant = make_mailing_merchant(name="Beans <b>& Co</b>")
    pay(make_addressed(merchant, description="<img src=x>\nPaid: 1,000 USDC"))
    [message] = send()
    assert message.subject == "Receipt from Beans <b>& Co</b>"
    assert "Receipt from Beans <b>& Co</b>" in message.body
    assert "For: <img src=x> Paid: 1,000 USDC\n" in message.body
    assert "<b>" not in html_of(message)
    assert "<img" not in html_of(message)


def test_a_receipt_is_signed_with_the_name_that_buyers_know() -> None:
    merchant = make_mailing_merchant(name="Halden Holding 3 AS")
    Branding.objects.create(
        merchant=merchant, display_name="Halden Roasters", support_url="https://halden.example/help"
    )
    pay(make_addressed(merchant))
    [message] = send()
    assert message.subject == "Receipt from Halden Roasters"
    for words in (message.body, html_of(message)):
        assert "Holding" not in words
        assert "https://halden.example/help" in words


def test_a_receipt_loads_nothing_when_it_is_opened() -> None:
    pay(make_addressed())
    html = html_of(send()[0])
    assert not re.search(r"\bsrc\s*=|<link|<script|<style|url\(|@import", html)
    links = re.findall(r'href="([^"]*)"', html)
    assert len(links) == 3
    assert all("?" not in link for link in links)


def test_a_receipt_that_cannot_be_written_holds_up_no_money(settings: Any) -> None:
    settings.MAIL_WRITERS = {}
    checkout = make_addressed()
    pay(checkout)
    assert fresh(checkout).status == CheckoutStatus.COMPLETED
    assert send() == []
    assert OutgoingMail.objects.get().tries == 1


def test_words_are_found_for_completed_checkouts_alone() -> None:
    assert receipt_words("chk_live_unknown") is None
    assert receipt_words(make_addressed().public_id) is None


def statements_of_a_payment(checkout: Checkout) -> list[str]:
    watcher = Watcher("polygon")
    watcher.sees(checkout)
    watcher.confirms()
    with CaptureQueriesContext(connection) as queries:
        attribute()
    assert fresh(checkout).status == CheckoutStatus.COMPLETED
    return [query["sql"] for query in queries]


def test_receipts_cost_crediting_nothing_without_an_address_and_one_statement_with() -> None:
    for wants in (False, True):
        merchant = make_merchant(mails_receipts=wants)
        without = statements_of_a_payment(make_addressed(merchant, customer_email=""))
        with_one = statements_of_a_payment(make_addressed(merchant))
        assert not any("mails_" in statement for statement in without)
        assert len(with_one) == len(without) + 1
        assert sum("mails_" in statement for statement in with_one) == 1
    assert OutgoingMail.objects.count() == 1


def test_a_receipt_that_was_mailed_is_taken_back_by_mail_once() -> None:
    watcher, checkout = Watcher(), make_addressed(make_mailing_merchant(name="Halden Roasters"))
    transfer = watcher.sees(checkout)
    watcher.confirms(transfer)
    attribute()
    assert len(send()) == 1
    watcher.loses(transfer)
    attribute()
    _, message = send()
    assert message.to == [BUYER]
    assert message.subject == "Receipt from Halden Roasters: Reversed by the network"
    for said in (
        "This receipt is withdrawn.",
        "Ask Halden Roasters before you send anything again.",
        number_of(checkout),
        f"{checkout_url(checkout.code)}/receipt",
    ):
        assert said in message.body
    again = watcher.finds_again(transfer)
    watcher.confirms(again)
    attribute()
    watcher.loses(again)
    attribute()
    assert len(send()) == 2


def test_a_receipt_whose_money_is_back_before_the_mail_is_not_taken_back() -> None:
    watcher, checkout = Watcher(), make_addressed()
    transfer = watcher.sees(checkout)
    watcher.confirms(transfer)
    attribute()
    assert len(send()) == 1
    watcher.loses(transfer)
    attribute()
    again = watcher.finds_again(transfer)
    watcher.confirms(again)
    attribute()
    assert len(send()) == 1


def test_a_receipt_that_was_not_sent_is_not_taken_back() -> None:
    watcher, checkout = Watcher(), make_addressed()
    transfer = watcher.sees(checkout)
    watcher.confirms(transfer)
    attribute()
    watcher.loses(transfer)
    attribute()
    assert send() == []
