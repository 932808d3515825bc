"""Promising mail: once, in the caller's transaction, and nothing that would be another header."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as product
from django.core import mail
from django.db import transaction
from django.utils import timezone

from gateway.core import valkey
from gateway.core.leases import leases
from mails import sender
from mails.models import SUBJECT_LENGTH, OutgoingMail
from mails.outbox import queue_mail, queue_unwritten
from mails.sender import LEASE, prune_mails, send_due_mails
from mails.tasks import send_due_mails_task
from mails.words import MailWords, one_line, words_of
from tests.factories import NOON
from tests.mails.factories import ADA, make_mail

pytestmark = pytest.mark.django_db


def promise(key: str = "note:1", **overrides: Any) -> OutgoingMail | None:
    values = {"recipient": ADA, "subject": "News", "text": "Hello."} | overrides
    return queue_mail(key=key, now=NOON, **values)


def test_the_same_is_promised_once_whatever_it_says_the_second_time() -> None:
    first = promise()
    assert first
    assert promise(subject="Other news") is None
    assert queue_unwritten([("note:1", ADA)], now=NOON) == []
    assert OutgoingMail.objects.get() == first
    assert OutgoingMail.objects.get().subject == "News"


def test_a_promise_is_dropped_with_the_transaction_it_was_made_in() -> None:
    with transaction.atomic():
        assert promise()
        transaction.set_rollback(True)
    assert not OutgoingMail.objects.exists()


@pytest.mark.parametrize(
    "recipient",
    [
        "",
        "ada",
        "ada@example.test\nBcc: eve@example.test",
        "ada@example.test\r\n\r\nhello",
        "ada@example.test, eve@example.test",
        "Ada <ada@example.test>",
        f"{'x' * 250}@example.test",
        "a\x00da@example.test",
    ],
)
def test_an_address_nobody_can_have_promises_nothing_and_breaks_nothing(recipient: str) -> None:
    assert promise(recipient=recipient) is None
    assert queue_unwritten([("note:2", recipient)], now=NOON) == []
    assert not OutgoingMail.objects.exists()


@pytest.mark.parametrize(
    ("subject", "kept"),
    [
        ("News\nBcc: eve@example.test", "News Bcc: eve@example.test"),
        ("News\r\n\r\n<p>hello", "News <p>hello"),
        ("News\x0b\x0c\x1c\x85\u2028and more", "News and more"),
        ("Ne\x00ws\x1b[2J", "News[2J"),
        ("x" * 500, "x" * 200),
    ],
)
def test_a_subject_is_one_line_and_makes_no_second_header(subject: str, kept: str) -> None:
    promised = promise(subject=subject)
    assert promised
    assert promised.subject == kept
    assert send_due_mails(now=NOON) == 1
    [message] = mail.outbox
    assert message.subject == kept
    assert message.recipients() == [ADA]
    assert message.message()["Bcc"] is None


def test_text_that_the_database_could_not_keep_is_kept_without_it() -> None:
    promise(text="Hel\0lo", html="<p>Hel\0lo")
    row = OutgoingMail.objects.get()
    assert (row.text, row.html) == ("Hello", "<p>Hello")


def test_many_promises_in_one_transaction_ring_once_and_only_when_it_is_kept(
    django_capture_on_commit_callbacks: Any,
) -> None:
    with django_capture_on_commit_callbacks() as callbacks:
        for number in range(3):
            make_mail(f"note:{number}")
    assert len(callbacks) == 1
    with django_capture_on_commit_callbacks() as callbacks:
        assert promise("note:0") is None
    assert callbacks == []


def test_the_bell_asks_the_broker_for_the_sender(django_capture_on_commit_callbacks: Any) -> None:
    before = count_rings()
    with django_capture_on_commit_callbacks(execute=True):
        make_mail()
    assert count_rings() == before + 1


def count_rings() -> int:
    """How many wait in this process's own queue."""
    prefix = product.CELERY_BROKER_TRANSPORT_OPTIONS["global_keyprefix"]
    waiting = valkey.client().lrange(f"{prefix}florin", 0, -1)
    return sum(b"mails.send_due_mails" in entry for entry in waiting)


@pytest.mark.parametrize("url", ["", "redis://127.0.0.1:1/0"], ids=["no broker", "broker is away"])
def test_without_a_broker_the_promise_stands_and_the_caller_goes_on(
    settings: Any, django_capture_on_commit_callbacks: Any, url: str
) -> None:
    settings.REDIS_URL = url
    valkey.client.cache_clear()
    try:
        with django_capture_on_commit_callbacks(execute=True):
            make_mail()
    finally:
        valkey.client.cache_clear()
        valkey._breaker.closed_again_at = 0.0
    assert OutgoingMail.objects.get().due_at == NOON


# How long what was said to people is kept.


def test_mails_are_kept_for_thirty_days_and_longer_only_while_they_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "_BATCH", 2)
    for days in (40, 35, 31, 29):
        make_mail(f"sent:{days}", now=NOON - timedelta(days=days))
    make_mail("given up", now=NOON - timedelta(days=33))
    OutgoingMail.objects.filter(key="given up").update(due_at=None)
    assert send_due_mails(now=NOON) == 4
    make_mail("waits", now=NOON - timedelta(days=50))
    assert prune_mails(now=NOON) == 4
    assert set(OutgoingMail.objects.values_list("key", flat=True)) == {"sent:29", "waits"}


# What a mail says.


def written(subject: str) -> MailWords | None:
    return MailWords(f"About {subject}", "Text") if subject else None


def test_what_was_promised_with_its_words_keeps_them() -> None:
    mail = OutgoingMail(key="alarm:7", subject="An alarm", text="It rang.", html="<p>")
    assert words_of(mail) == MailWords("An alarm", "It rang.", "<p>")


@pytest.mark.parametrize(("key", "words"), [("late:7", MailWords("About 7", "Text")), ("late:", None)])
def test_the_words_of_others_are_found_when_they_are_sent(settings: Any, key: str, words: MailWords | None) -> None:
    settings.MAIL_WRITERS = {"late": f"{__name__}.written"}
    assert words_of(OutgoingMail(key=key)) == words


def test_a_subject_is_no_further_header() -> None:
    assert one_line("Paid\r\nBcc: x@y.example\x00") == "Paid Bcc: x@y.example"
    assert len(one_line("x" * 1_000)) == SUBJECT_LENGTH


# The task that sends mail.


def write_and_promise(subject: str) -> MailWords:
    """A writer that is slow enough for somebody else to promise a mail, whose bell finds somebody sending."""
    now = timezone.now()
    make_mail(now=now)
    assert leases.take(LEASE, "another", seconds=1) is None
    return MailWords("First", subject)


def test_the_task_sends_what_is_due_and_what_was_promised_meanwhile(settings: Any) -> None:
    settings.MAIL_WRITERS = {"fact": f"{__name__}.write_and_promise"}
    queue_unwritten([("fact:1", ADA)], now=NOON)
    assert send_due_mails_task() == 2
    assert len(mail.outbox) == 2
