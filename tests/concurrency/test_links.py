"""Many payers press Pay at the same moment."""

import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest
from django.core import mail
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.states import Mode
from checkouts.models import Checkout, CheckoutCount, TestStep
from checkouts.states import CheckoutStatus
from gateway.core.api.errors import ConflictError
from links.editing.service import change_link, create_link, delete_template
from links.models import LinkCheckout, LinkTemplate, PaymentLink, SubscriberMail, Subscription
from links.page.payment import NotPayableError, PayIntent, pay
from links.selectors import payment_link
from links.serializers import NewLink, read_changes
from links.subscriptions.service import plan_reminders, settle_subscriptions
from mails.models import OutgoingMail
from mails.sender import send_due_mails
from tests.concurrency.races import SECONDS, crew, deadlocks, holding, together, wait_for_waiters
from tests.contract.client import ApiClient, client_of
from tests.links.factories import (
    make_donation,
    make_invoice,
    make_link,
    make_link_checkout,
    make_subscriber,
    make_subscription_link,
    make_template,
)
from wallets.models import DepositAddress

pytestmark = [
    pytest.mark.concurrency,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("chains_are_well"),
]
AT_ONCE = 50
NO_NEW_ATTEMPTS = "LOCK TABLE links_linkcheckout IN SHARE MODE"


def press(link: PaymentLink, intent: PayIntent | None = None) -> str:
    """What a payer gets: a page code, or what kept it from being made."""
    wanted = intent or PayIntent(form=secrets.token_hex(8))
    try:
        return pay(link.pk, wanted, now=timezone.now())
    except NotPayableError:
        return "not payable"
    except ConflictError as error:
        return str(error.code)


def all_press(calls: Sequence[Callable[[], str]]) -> list[str]:
    return together(*calls)


def fifty_press(link: PaymentLink) -> list[str]:
    """What payers get who have all seen that there is no checkout before any of them makes one."""
    with crew(AT_ONCE) as threads:
        with holding(NO_NEW_ATTEMPTS):
            pressing = [threads.start(partial(press, link)) for _ in range(AT_ONCE)]
            wait_for_waiters(AT_ONCE)
        return [one.result(SECONDS) for one in pressing]


def test_fifty_payers_of_an_invoice_get_one_checkout() -> None:
    link = make_invoice()
    broken = deadlocks()
    codes = fifty_press(link)
    assert len(set(codes)) == 1
    assert Checkout.objects.get().code == codes[0]
    # What the losers had begun is gone altogether.
    assert DepositAddress.objects.count() == TestStep.objects.count() == 1
    assert sum(CheckoutCount.objects.values_list("value", flat=True)) == 1
    assert deadlocks() == broken


def test_fifty_presses_of_one_form_make_one_checkout() -> None:
    link = make_donation()
    intent = PayIntent(form="one", amount=Decimal(10))
    assert len(set(all_press([partial(press, link, intent)] * AT_ONCE))) == 1
    assert Checkout.objects.count() == 1


def test_fifty_renewals_of_one_subscriber_make_one_checkout() -> None:
    subscription = make_subscriber(days_ago=27)
    intents = [PayIntent(form=str(number), subscription=subscription) for number in range(AT_ONCE)]
    calls = [partial(press, subscription.link, intent) for intent in intents]
    assert len(set(all_press(calls))) == 1
    assert Checkout.objects.count() == 2


def test_fifty_first_payments_of_one_form_make_one_subscriber() -> None:
    link = make_subscription_link()
    intent = PayIntent(form="one", email="ada@example.test")
    assert len(set(all_press([partial(press, link, intent)] * AT_ONCE))) == 1
    assert Subscription.objects.count() == Checkout.objects.count() == 1


def test_fifty_payers_of_a_link_that_can_be_paid_again_get_a_checkout_each() -> None:
    link = make_link()
    assert len(set(all_press([partial(press, link)] * AT_ONCE))) == AT_ONCE
    assert Checkout.objects.count() == AT_ONCE


def test_an_expired_invoice_is_begun_again_once() -> None:
    link = make_invoice()
    press(link)
    Checkout.objects.update(status=CheckoutStatus.EXPIRED)
    assert len(set(all_press([partial(press, link)] * AT_ONCE))) == 1
    assert Checkout.objects.filter(status=CheckoutStatus.PENDING).count() == 1


@pytest.fixture
def without_the_constraint() -> Iterator[None]:
    """A slot may have several checkouts, as if the database promised nothing."""
    [constraint] = [c for c in LinkCheckout._meta.constraints if c.name == "one_checkout_per_attempt"]
    with connection.schema_editor() as editor:
        editor.remove_constraint(LinkCheckout, constraint)
    yield
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE links_linkcheckout CASCADE")
    with connection.schema_editor() as editor:
        editor.add_constraint(LinkCheckout, constraint)


@pytest.mark.usefixtures("without_the_constraint")
def test_without_the_constraint_an_invoice_has_several() -> None:
    """The negative control: looking first does not carry the promise, the constraint does."""
    assert len(set(fifty_press(make_invoice()))) == AT_ONCE


def test_an_invoice_keeps_its_price_once_somebody_is_paying_it() -> None:
    """An edit waits for the payment being begun, sees its checkout, and is refused."""
    link = make_invoice()
    held = "SELECT FROM links_paymentlink WHERE id = %s FOR SHARE"
    with crew() as threads:
        with holding(held, link.pk):
            edit = threads.start(lambda: reprice(link))
            wait_for_waiters(1)
            press(link)
        assert edit.result(SECONDS) == "state_conflict"
    assert Checkout.objects.get().amount == Decimal(25)


def reprice(link: PaymentLink) -> str:
    found = payment_link(link.merchant_id, link.mode, link.public_id)  # type: ignore[arg-type]
    wanted = read_changes(found, {"amount": "30"})
    try:
        change_link(found, wanted, now=timezone.now())
    except ConflictError as error:
        return str(error.code)
    return "changed"


def seller_of(link: PaymentLink) -> ApiClient:
    return client_of(link.merchant, Mode(link.mode))


def test_two_changes_of_different_fields_at_once_both_stay() -> None:
    """The change that waits begins with the row as the other left it."""
    link = make_link(amount=Decimal(25))
    other = "UPDATE links_paymentlink SET amount = 50 WHERE id = %s"
    with crew() as threads:
        with holding(other, link.pk):
            rename = threads.start(lambda: seller_of(link).send("PATCH", f"/links/{link.public_id}", {"title": "Tea"}))
            wait_for_waiters(1)
        answer = rename.result(SECONDS)
    assert (answer.status, answer.body["amount"]) == (200, "50.00")
    link.refresh_from_db()
    assert (link.title, link.amount) == ("Tea", Decimal(50))
    entry = AuditEntry.objects.get(action="payment_link.changed")
    assert entry.after == {"title": "Tea"}


def test_without_the_lock_before_parsing_the_price_is_put_back() -> None:
    """The negative control of the test above."""
    link = make_link(amount=Decimal(25))
    wanted = read_changes(link, {"title": "Tea"})
    PaymentLink.objects.filter(pk=link.pk).update(amount=50)
    change_link(link, wanted, now=timezone.now())
    link.refresh_from_db()
    assert (link.title, link.amount) == ("Tea", Decimal(25))


def test_no_payment_begins_after_a_link_was_paused() -> None:
    link = make_link()
    with crew() as threads:
        with holding("UPDATE links_paymentlink SET status = 'paused' WHERE id = %s", link.pk):
            payment = threads.start(lambda: press(link))
            wait_for_waiters(1)
        assert payment.result(SECONDS) == "not payable"
    assert not Checkout.objects.exists()


def test_many_sweeps_at_once_count_and_mail_each_thing_once() -> None:
    now = timezone.now()
    link = make_subscription_link(interval="week")
    ending = now - timedelta(days=5)
    for number in range(12):
        subscription = make_subscriber(link, email=f"{number}@example.test", paid=False)
        make_link_checkout(link, subscription=subscription, paid_at=ending)

    def sweep() -> Counter[str]:
        return Counter(
            settled=settle_subscriptions(now=now), planned=plan_reminders(now=now), sent=send_due_mails(now=now)
        )

    together(*[sweep] * 8)
    sweep()
    assert OutgoingMail.objects.filter(sent_at=None).count() == 0
    told = Counter((message.to[0], message.subject[:10]) for message in mail.outbox)
    assert len(mail.outbox) == SubscriberMail.objects.count() == 24
    assert set(Counter(address for (address, _) in told.elements()).values()) == {2}


def forget(template: LinkTemplate) -> None:
    delete_template(template, now=timezone.now())


@transaction.atomic
def forget_unlocked(template: LinkTemplate) -> None:
    """Delete a template as it would be without the lock."""
    template.delete()


def made_while_deleted(delete: Callable[[LinkTemplate], None]) -> tuple[PaymentLink, "Future[None]"]:
    """A link of a template that somebody deletes before the link is committed."""
    template = make_template()
    wanted = NewLink.read({"title": "Workshop", "amount": "40"})
    with crew(2) as threads, transaction.atomic():
        link = create_link(template.merchant_id, Mode.LIVE, wanted, template=template, now=timezone.now())
        deleting = threads.start(partial(delete, template))
        # On a connection of its own: a transaction sees who waits as it was when it first asked.
        threads.start(partial(wait_for_waiters, 1)).result()
    return link, deleting


def test_a_template_is_deleted_while_a_link_is_made_of_it_and_both_are_well() -> None:
    link, deleting = made_while_deleted(forget)
    deleting.result()
    link.refresh_from_db()
    assert link.template is None
    assert not LinkTemplate.objects.exists()


def test_without_the_lock_the_deletion_would_fail() -> None:
    """The negative control of the test above."""
    _, deleting = made_while_deleted(forget_unlocked)
    with pytest.raises(IntegrityError):
        deleting.result()
