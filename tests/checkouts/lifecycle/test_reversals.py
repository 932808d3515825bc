"""Owners are mailed when a network takes back what had paid a completed checkout."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.core import mail
from django.db import transaction

from accounts.models import Membership, Merchant
from accounts.states import Mode, Role
from checkouts.models import Checkout
from mails.models import OutgoingMail
from mails.sender import send_due_mails
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, attribute, inbox_of
from tests.factories import make_checkout, make_merchant, make_user
from wallets.models import Transfer
from wallets.transfers.service import orphan_transfers

pytestmark = pytest.mark.django_db

LATER = SOON + timedelta(minutes=1)


@pytest.fixture
def merchant() -> Merchant:
    """A merchant with a person in each role, and an owner who left."""
    merchant = make_merchant()
    people = {role: make_user(f"{role}@shop.test") for role in Role}
    for role, user in people.items():
        Membership.objects.create(merchant=merchant, user=user, role=role)
    gone = make_user("gone@shop.test")
    gone.is_active = False
    gone.save()
    Membership.objects.create(merchant=merchant, user=gone, role=Role.OWNER)
    return merchant


def completed(checkout: Checkout, watcher: Watcher, *units: int) -> list[Transfer]:
    transfers = [watcher.sees(checkout, share) for share in units or (25 * DOLLAR,)]
    watcher.confirms()
    attribute()
    return transfers


def test_owners_are_mailed_once_and_told_what_is_gone(merchant: Merchant) -> None:
    price = Decimal("1250.00")
    checkout = make_checkout(merchant, amount=price, order_ref="A-7")
    watcher = Watcher()
    [transfer] = completed(checkout, watcher, 1_250_004_500)
    watcher.loses(transfer)
    attribute()
    send_due_mails(now=LATER)
    [message] = mail.outbox
    assert message.to == ["owner@shop.test"]
    assert message.subject == f"The network reversed a payment: {checkout.public_id}"
    for said in (
        "1,250.0045 USDC on Base",
        transfer.tx_hash,
        "A-7",
        "of 1,250.00 USD",
        ": 0.00 USD.",
    ):
        assert said in message.body
    assert inbox_of(checkout) == ["reversed"]


def test_the_same_transfer_lost_twice_is_told_once(merchant: Merchant) -> None:
    checkout, watcher = make_checkout(merchant), Watcher()
    [transfer] = completed(checkout, watcher)
    for _ in range(2):
        watcher.loses(transfer)
        attribute()
        send_due_mails(now=LATER)
        # Whether it was told is asked of the inbox: sent mail is forgotten some day.
        OutgoingMail.objects.all().delete()
        transfer = watcher.finds_again(transfer)
        watcher.confirms()
        attribute()
    assert len(mail.outbox) == 1


def test_transfers_lost_together_are_told_together(merchant: Merchant) -> None:
    checkout, watcher = make_checkout(merchant), Watcher()
    transfers = completed(checkout, watcher, 10 * DOLLAR, 15 * DOLLAR)
    watcher.loses(transfers[0])
    attribute()
    send_due_mails(now=LATER)
    [message] = mail.outbox
    assert all(transfer.tx_hash in message.body for transfer in transfers)
    assert inbox_of(checkout) == ["reversed"] * 2


def test_a_test_checkout_says_so(merchant: Merchant) -> None:
    checkout, watcher = make_checkout(merchant, mode=Mode.TEST), Watcher()
    [transfer] = completed(checkout, watcher)
    orphan_transfers([transfer.pk], now=LATER)
    attribute()
    send_due_mails(now=LATER)
    assert mail.outbox[0].subject.startswith("[test mode] ")


def test_the_mail_stands_and_falls_with_the_alert(merchant: Merchant) -> None:
    checkout, watcher = make_checkout(merchant), Watcher()
    [transfer] = completed(checkout, watcher)
    watcher.loses(transfer)
    with transaction.atomic():
        attribute()
        assert OutgoingMail.objects.count() == 1
        transaction.set_rollback(True)
    assert inbox_of(checkout) == []
    assert not OutgoingMail.objects.exists()
