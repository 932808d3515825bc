"""What checkouts cost their merchant: when they complete, once, and not while the network has taken the money back."""

from datetime import timedelta
from decimal import Decimal
from importlib import import_module
from typing import Any

import pytest
from django.core import mail
from django.db import connection, transaction
from django.db.models import Sum
from django.test.utils import CaptureQueriesContext

from accounts.audit.actors import Actor
from accounts.models import FeeEntry, Membership, Merchant
from accounts.states import FeeTier, Mode, Role
from checkouts.inbox.service import apply_decisions, decide_item
from checkouts.lifecycle.moves import expire
from checkouts.models import Checkout, DailyTotal, InboxItem, Payment
from checkouts.states import CheckoutException, CheckoutStatus, InboxAct, InboxStatus
from mails.models import OutgoingMail
from mails.sender import send_due_mails
from tests.accounts.fee_entries import booked
from tests.checkouts.watcher import (
    DOLLAR,
    SOON,
    Watcher,
    attribute,
    events_of,
    fresh,
    in_status,
    inbox_of,
    last_body,
    pay,
    status_of,
)
from tests.factories import make_checkout, make_merchant, make_user
from tests.totals import differences
from wallets.models import Transfer
from wallets.transfers.service import orphan_transfers
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db


def fee_of(checkout: Checkout) -> FeeEntry | None:
    """What was charged for a checkout."""
    return FeeEntry.objects.filter(subject_id=checkout.public_id).first()


def reversed_checkout() -> tuple[Checkout, Watcher, Any]:
    """One that completed, and whose money is gone."""
    checkout, watcher = in_status(CheckoutStatus.PROCESSING)
    transfer = checkout.payments.get().transfer
    watcher.confirms()
    attribute()
    watcher.loses(transfer)
    attribute(now=SOON + timedelta(hours=1))
    return checkout, watcher, transfer


def test_a_completed_checkout_costs_the_rate_of_what_it_received() -> None:
    checkout = make_checkout()
    pay(checkout, 25_003_700)
    entry = FeeEntry.objects.get()
    assert (entry.merchant, entry.subject_id) == (checkout.merchant, checkout.public_id)
    assert (entry.kind, entry.chain, entry.token) == ("checkout", "base", "USDC")
    assert (entry.received, entry.rate, entry.amount) == (Decimal("25.003700"), Decimal("0.015"), Decimal("0.375056"))
    assert entry.charged_at == fresh(checkout).paid_at
    assert fresh(checkout).amount_received == Decimal("25.003700")


def test_test_mode_costs_nothing() -> None:
    checkout = make_checkout(mode=Mode.TEST)
    pay(checkout)
    assert status_of(checkout) == CheckoutStatus.COMPLETED
    assert not FeeEntry.objects.exists()


def test_what_is_not_paid_in_full_costs_nothing() -> None:
    checkout, _ = in_status(CheckoutStatus.UNDERPAID)
    in_status(CheckoutStatus.PROCESSING)
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=SOON)
    assert not FeeEntry.objects.exists()


def test_the_network_of_the_last_payment_is_that_of_the_fee() -> None:
    checkout, _ = in_status(CheckoutStatus.UNDERPAID)
    rest = Watcher("polygon")
    rest.sees(checkout, 15 * DOLLAR, token="USDT")
    rest.confirms()
    attribute()
    entry = FeeEntry.objects.get()
    assert (entry.chain, entry.token) == ("polygon", "USDT")
    assert entry.received == Decimal("25.000000")


def test_a_batch_is_charged_in_one_statement_and_an_idle_one_in_none() -> None:
    checkouts, watcher = [make_checkout() for _ in range(3)], Watcher()
    watcher.records([watcher.transfer_to(checkout) for checkout in checkouts])
    assert _statements() == 0
    watcher.confirms()
    assert _statements() == 1
    assert FeeEntry.objects.count() == 3


def _statements() -> int:
    with CaptureQueriesContext(connection) as asked:
        attribute()
    return sum("feeentry" in query["sql"] for query in asked.captured_queries)


def test_a_fee_is_given_back_while_the_network_has_taken_the_money() -> None:
    checkout, watcher, transfer = reversed_checkout()
    entry = fee_of(checkout)
    assert entry is not None
    lost, found = (SOON + timedelta(hours=number) for number in (1, 2))
    fee = Decimal("0.375")
    assert booked(checkout.public_id) == [(SOON, fee), (lost, -fee)]
    merchant = checkout.merchant
    merchant.fee_tier, merchant.fee_rate = FeeTier.GROWTH, Decimal("0.01")
    merchant.save()
    watcher.finds_again(transfer)
    watcher.confirms()
    attribute(now=SOON + timedelta(hours=2))
    assert fresh(checkout).exception == CheckoutException.NONE
    assert booked(checkout.public_id) == [(SOON, fee), (lost, -fee), (found, fee)]
    assert set(FeeEntry.objects.values_list("rate", flat=True)) == {Decimal("0.015")}


def test_a_checkout_that_completes_reversed_costs_nothing_yet() -> None:
    checkout, watcher = in_status(CheckoutStatus.UNDERPAID)
    watcher.loses(checkout.payments.get().transfer)
    attribute()
    pay(checkout)
    assert fresh(checkout).exception == CheckoutException.REVERSED
    entry = fee_of(checkout)
    assert entry is not None
    assert booked(checkout.public_id) == [(entry.charged_at, entry.amount), (entry.charged_at, -entry.amount)]


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
    for said in ("1,250.0045 USDC on Base", transfer.tx_hash, "A-7", "of 1,250.00 USD", ": 0.00 USD."):
        assert said in message.body
    assert inbox_of(checkout) == ["reversed"]


def test_each_reversal_and_each_return_is_told_once(merchant: Merchant) -> None:
    """Event, mail and alert; also if the money comes, and goes before it is final again."""
    checkout = make_checkout(merchant, webhook_url="https://shop.example/hook")
    watcher = Watcher()
    [transfer] = completed(checkout, watcher)
    for _ in range(2):
        for _ in range(2):
            watcher.loses(transfer)
            attribute()
            attribute()
            assert InboxItem.objects.get().status == InboxStatus.OPEN
            transfer = watcher.finds_again(transfer)
            attribute()
        watcher.confirms()
        attribute()
        assert InboxItem.objects.get().status == InboxStatus.CREDITED
    assert events_of(checkout) == ["completed", *["reversed", "restored"] * 2]
    urls = Delivery.objects.values_list("endpoint__url", flat=True)
    assert list(urls) == ["https://shop.example/hook"] * 5
    send_due_mails(now=LATER)
    told = sorted(message.subject.split(":")[0] for message in mail.outbox)
    assert told == ["Payment restored"] * 2 + ["The network reversed a payment"] * 2


@pytest.mark.parametrize("comes_first", [False, True])
def test_a_reversal_that_the_release_before_told_is_told_no_second_time(merchant: Merchant, comes_first: bool) -> None:
    """That release wrote the alert and the mail, no event, and did not note the time; the money may be back, not final."""
    checkout, watcher = make_checkout(merchant), Watcher()
    [transfer] = completed(checkout, watcher)
    watcher.loses(transfer)
    attribute()
    told = events_of(checkout)
    if comes_first:
        transfer = watcher.finds_again(transfer)
        attribute()
    Payment.objects.update(reversed_at=None)
    with connection.cursor() as cursor:
        cursor.execute(import_module("checkouts.migrations.0002_reversals").TOLD)
    Transfer.objects.update(queued_at=SOON)
    attribute()
    assert events_of(checkout) == told
    if not comes_first:
        watcher.finds_again(transfer)
    watcher.confirms()
    attribute()
    assert InboxItem.objects.get().status == InboxStatus.CREDITED
    assert Payment.objects.get().reversed_at is None
    send_due_mails(now=LATER)
    subjects = sorted(message.subject.split(":")[0] for message in mail.outbox)
    assert subjects == ["Payment restored", "The network reversed a payment"]


def test_a_further_reversal_is_told_and_a_return_in_part_is_not() -> None:
    """Overpaid, then paid exactly, then unpaid: the second loss is the one that matters."""
    checkout, watcher = make_checkout(), Watcher()
    first, second = completed(checkout, watcher, 25 * DOLLAR, 25 * DOLLAR)
    for transfer, left in ((second, 25), (first, 0)):
        watcher.loses(transfer)
        attribute()
        assert last_body(checkout)["data"]["amount_received"] == f"{left}.000000"
    assert events_of(checkout) == ["completed", "reversed", "reversed"]
    watcher.finds_again(first)
    watcher.confirms()
    attribute()
    assert events_of(checkout)[3:] == []
    watcher.finds_again(second)
    watcher.confirms()
    attribute()
    assert events_of(checkout)[3:] == ["restored"]
    assert last_body(checkout)["data"]["exception"] == "overpaid"


def test_without_the_mark_on_the_payment_a_reversal_would_be_told_again() -> None:
    """The negative control: a change of another transfer recomputes a checkout that is reversed."""
    checkout, base = make_checkout(), Watcher()
    [lost] = completed(checkout, base, 25 * DOLLAR)
    base.loses(lost)
    attribute()
    for marked in (True, False):
        if not marked:
            Payment.objects.update(reversed_at=None)
        Transfer.objects.update(queued_at=SOON)
        attribute()
        assert events_of(checkout).count("reversed") == (1 if marked else 2)


def test_an_alarm_that_a_person_dismissed_stays_dismissed(merchant: Merchant) -> None:
    checkout, watcher = make_checkout(merchant), Watcher()
    [transfer] = completed(checkout, watcher)
    watcher.loses(transfer)
    attribute()
    item = InboxItem.objects.get()
    actor = make_user("dismisses@shop.test")
    decide_item(item, act=InboxAct.DISMISS, now=SOON, actor=Actor(actor))
    apply_decisions(now=LATER)
    transfer = watcher.finds_again(transfer)
    watcher.confirms()
    attribute()
    watcher.loses(transfer)
    attribute()
    assert InboxItem.objects.get().status == InboxStatus.DISMISSED
    assert events_of(checkout)[1:] == ["reversed", "restored", "reversed"]


def test_a_reversed_checkout_counts_no_volume_until_it_is_restored() -> None:
    checkout, watcher = make_checkout(), Watcher()
    [transfer] = completed(checkout, watcher)
    volumes = [volume()]
    watcher.loses(transfer)
    attribute()
    volumes.append(volume())
    watcher.finds_again(transfer)
    watcher.confirms()
    attribute()
    assert [*volumes, volume()] == [25, 0, 25]


def volume() -> Decimal:
    """The volume of all days, which is also what their rows say."""
    today = SOON.date()
    assert differences(since=today, until=today + timedelta(days=1)) == []
    total: Decimal = DailyTotal.objects.aggregate(sum=Sum("volume"))["sum"]
    return total


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
