"""Several senders of mail."""

from collections import Counter

import pytest
from django.core import mail

from mails import sender as sending
from mails.models import OutgoingMail
from tests.concurrency.races import SECONDS, behind, crew, holding, together
from tests.factories import NOON
from tests.mails.factories import make_mail

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

HELD = "SELECT id FROM mails_outgoingmail WHERE id = %s FOR UPDATE"


def send() -> int:
    """What a sender does, did it not wait for its turn."""
    run = sending._Run(NOON)
    run.send()
    return run.taken


def test_many_senders_send_each_mail_once() -> None:
    for number in range(40):
        make_mail(f"note:{number}", subject=str(number))
    taken = together(*[send] * 8)
    assert sum(taken) == 40
    assert Counter(message.subject for message in mail.outbox) == {str(number): 1 for number in range(40)}


def test_a_mail_that_somebody_is_claiming_is_passed_over() -> None:
    row = make_mail()
    other = make_mail("note:2", subject="Other news")
    with crew() as threads:
        with holding(HELD, row.pk):
            assert threads.start(send).result(SECONDS) == 1
        assert [message.subject for message in mail.outbox] == [other.subject]
        assert threads.start(send).result(SECONDS) == 1
    assert len(mail.outbox) == 2


def test_without_the_lock_two_senders_send_one_mail_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: the same claim that locks nothing."""
    unlocked = sending._CLAIM.replace("FOR UPDATE SKIP LOCKED", "")
    assert unlocked != sending._CLAIM
    monkeypatch.setattr(sending, "_CLAIM", unlocked)
    row = make_mail()
    assert behind(HELD, row.pk, works=[send] * 2) == [1, 1]
    assert len(mail.outbox) == 2
    assert OutgoingMail.objects.count() == 1
