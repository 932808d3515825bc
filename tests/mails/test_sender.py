"""Sending: each mail once, the next one whatever became of the last, and never for longer than a task may take."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from email.header import decode_header, make_header
from itertools import pairwise
from types import FrameType
from typing import Any

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings as configured
from django.core import mail
from django.utils import timezone
from structlog.testing import capture_logs

from gateway.core.leases import EPOCH, Lease
from gateway.pages.metrics import measure
from mails import sender
from mails.models import OutgoingMail
from mails.outbox import queue_unwritten
from mails.sender import (
    FIRST_WAIT,
    HELD_SECONDS,
    LONGEST_POSTPONED,
    LONGEST_WAIT,
    MOST_TRIES,
    PAUSE_SECONDS,
    POSTPONED,
    claim_next,
    send_due_mails,
)
from mails.tasks import SOFT_LIMIT, send_due_mails_task
from mails.words import MailWords, TooEarlyError
from tests.factories import NOON
from tests.mails.factories import ADA, make_mail
from tests.mails.servers import REFUSED, running_mail_server

pytestmark = pytest.mark.django_db

SOON = NOON + timedelta(seconds=1)


def fresh(row: OutgoingMail) -> OutgoingMail:
    return OutgoingMail.objects.get(pk=row.pk)


def use_server(settings: Any, port: int) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
    settings.EMAIL_USE_TLS = False


def write_fact(subject: str) -> MailWords | None:
    """A writer of mails, for these tests."""
    if subject == "broken":
        raise LookupError(subject)
    if subject == "later":
        raise TooEarlyError
    return MailWords(f"About\n{subject}", f"{subject}.\n") if subject else None


@pytest.fixture
def _writer(settings: Any) -> None:
    settings.MAIL_WRITERS = {"fact": f"{__name__}.write_fact"}


def test_a_mail_goes_once_in_text_and_html(settings: Any) -> None:
    settings.DEFAULT_FROM_EMAIL = "Florin <pay@example.test>"
    row = make_mail(html="<p>Hello.")
    assert [send_due_mails(now=SOON) for _ in range(2)] == [1, 0]
    [message] = mail.outbox
    assert (message.to, message.subject, message.body) == ([ADA], "News", "Hello.\n")
    assert message.from_email == "Florin <pay@example.test>"
    sent = message.message()
    assert [part.get_content_type() for part in sent.walk()] == ["multipart/alternative", "text/plain", "text/html"]
    assert sent["Auto-Submitted"] == "auto-generated"
    assert sent["Message-ID"].endswith("@example.test>")
    row = fresh(row)
    assert (row.sent_at, row.due_at, row.tries) == (SOON, None, 1)


def test_an_internationalised_address_gets_its_mail_as_it_is_written(settings: Any) -> None:
    make_mail(recipient="ürsula@köln.example", subject="Grüße", html="<p>Hello.")
    with running_mail_server(is_international=True) as server:
        use_server(settings, server.port)
        assert send_due_mails(now=SOON) == 1
    assert server.recipients == [["ürsula@xn--kln-sna.example"]]
    [message] = server.messages
    assert str(make_header(decode_header(message["Subject"]))) == "Grüße"
    assert message.get_content_type() == "multipart/alternative"


def test_a_server_that_takes_no_such_address_gets_the_next_mail_at_once(settings: Any) -> None:
    row = make_mail(recipient="ürsula@example.test", key="first")
    make_mail(key="second", now=SOON)
    with running_mail_server() as server:
        use_server(settings, server.port)
        assert send_due_mails(now=SOON) == 2
    assert server.recipients == [[ADA]]
    assert fresh(row).sent_at is None


def test_what_is_not_due_waits() -> None:
    make_mail(now=SOON)
    assert send_due_mails(now=NOON) == 0
    assert mail.outbox == []


@pytest.mark.usefixtures("_writer")
def test_words_that_are_found_late_are_a_mail_like_any_other() -> None:
    queue_unwritten([("fact:water is wet", ADA)], now=NOON)
    assert send_due_mails(now=SOON) == 1
    [message] = mail.outbox
    assert (message.subject, message.body) == ("About water is wet", "water is wet.\n")
    assert OutgoingMail.objects.get().text == ""


@pytest.mark.usefixtures("_writer")
def test_a_mail_with_nothing_left_to_say_is_forgotten() -> None:
    queue_unwritten([("fact:", ADA)], now=NOON)
    assert send_due_mails(now=SOON) == 1
    assert mail.outbox == []
    assert not OutgoingMail.objects.exists()


@pytest.mark.usefixtures("_writer")
def test_a_mail_whose_reason_is_not_known_yet_waits_and_not_for_ever() -> None:
    queue_unwritten([("fact:later", ADA)], now=NOON)
    for number in range(20):
        assert send_due_mails(now=NOON + number * POSTPONED) == 1
        row = OutgoingMail.objects.get()
        assert (row.tries, row.due_at) == (0, NOON + (number + 1) * POSTPONED)
    send_due_mails(now=NOON + LONGEST_POSTPONED)
    assert not OutgoingMail.objects.exists()
    assert mail.outbox == []


@pytest.mark.usefixtures("_writer")
@pytest.mark.parametrize("key", ["fact:broken", "unknown:1"])
def test_words_that_cannot_be_found_hold_up_nobody(key: str) -> None:
    [poison] = queue_unwritten([(key, ADA)], now=NOON)
    make_mail()
    assert send_due_mails(now=SOON) == 2
    assert len(mail.outbox) == 1
    assert fresh(poison).due_at == SOON + FIRST_WAIT


def test_an_address_the_server_refuses_holds_up_nobody(settings: Any) -> None:
    poison = make_mail("note:0", recipient=REFUSED)
    others = [make_mail(f"note:{number}") for number in (1, 2)]
    with running_mail_server() as server:
        use_server(settings, server.port)
        assert send_due_mails(now=SOON) == 3
    assert server.recipients == [[ADA], [ADA]]
    assert [fresh(row).sent_at for row in others] == [SOON, SOON]
    poison = fresh(poison)
    assert (poison.sent_at, poison.tries) == (None, 1)
    assert poison.due_at == SOON + FIRST_WAIT


def test_many_mails_share_one_connection(settings: Any) -> None:
    for number in range(5):
        make_mail(f"note:{number}")
    with running_mail_server() as server:
        use_server(settings, server.port)
        assert send_due_mails(now=SOON) == 5
    assert (server.connections, len(server.messages)) == (1, 5)


def test_a_mail_nobody_takes_is_tried_twelve_times_and_given_up_visibly(settings: Any) -> None:
    row = make_mail(recipient=REFUSED)
    tried_at = []
    with running_mail_server() as server, capture_logs() as logs:
        use_server(settings, server.port)
        while due := fresh(row).due_at:
            tried_at.append(due)
            assert send_due_mails(now=due) == 1
    waits = [later - earlier for earlier, later in pairwise(tried_at)]
    assert len(tried_at) == MOST_TRIES
    assert waits == sorted(waits)
    assert (waits[0], waits[1], waits[-1]) == (FIRST_WAIT, 2 * FIRST_WAIT, LONGEST_WAIT)
    assert timedelta(days=1) < tried_at[-1] - NOON < timedelta(days=3)
    assert [log["event"] for log in logs if log["log_level"] == "error"] == ["mail given up"]
    assert ADA not in str(logs)
    assert REFUSED not in str(logs)
    assert b"florin_mails_given_up 1.0" in measure(now=NOON)


def test_mail_that_waits_is_seen_in_the_metrics() -> None:
    make_mail()
    told = measure(now=NOON + timedelta(seconds=90)).decode()
    assert "florin_mail_queue_seconds 90.0" in told
    assert "florin_mails_given_up 0.0" in told


def test_a_server_that_is_away_costs_one_mail_a_try_and_has_a_pause(settings: Any) -> None:
    rows = [make_mail(f"note:{number}") for number in range(3)]
    use_server(settings, 1)
    assert [send_due_mails(now=SOON) for _ in range(2)] == [1, 0]
    assert [fresh(row).tries for row in rows] == [1, 0, 0]
    with running_mail_server() as server:
        use_server(settings, server.port)
        assert send_due_mails(now=SOON + timedelta(minutes=1)) == 0
        pause = Lease.objects.get().lease_until - timezone.now()
        assert 50 < pause.total_seconds() <= PAUSE_SECONDS
        Lease.objects.update(lease_until=EPOCH)
        assert send_due_mails(now=SOON + timedelta(minutes=1)) == 2
        assert send_due_mails(now=SOON + FIRST_WAIT) == 1
    assert len(server.messages) == 3


def test_a_server_that_says_nothing_is_waited_for_once(settings: Any) -> None:
    for number in range(3):
        make_mail(f"note:{number}")
    settings.EMAIL_TIMEOUT = 0.2
    with running_mail_server(is_silent=True) as server:
        use_server(settings, server.port)
        assert send_due_mails(now=SOON) == 1
    assert server.connections == 1


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """What Celery does to a task that takes too long."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise SoftTimeLimitExceeded

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_send_that_takes_too_long_is_broken_off_and_counts_as_a_try(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "MOST_SECONDS", 0.1)
    row = make_mail()
    make_mail("note:2")
    settings.EMAIL_TIMEOUT = 60
    with running_mail_server(is_silent=True) as server, time_limit(3):
        use_server(settings, server.port)
        assert send_due_mails(now=SOON) == 1
    row = fresh(row)
    assert (row.tries, row.sent_at, row.due_at) == (1, None, SOON + FIRST_WAIT)


def test_the_limits_leave_no_room_for_two_senders_of_one_mail() -> None:
    longest = configured.CELERY_TASK_TIME_LIMIT
    assert send_due_mails_task.soft_time_limit == SOFT_LIMIT < longest
    assert longest <= HELD_SECONDS
    assert timedelta(seconds=longest) < FIRST_WAIT


def test_no_mail_is_begun_after_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "MOST_SECONDS", 0.0)
    make_mail()
    assert send_due_mails(now=SOON) == 0
    assert mail.outbox == []


def test_a_mail_whose_sender_died_is_tried_again_and_looks_the_same() -> None:
    row = make_mail()
    assert claim_next(SOON) == row
    later = SOON + FIRST_WAIT
    assert send_due_mails(now=later - timedelta(seconds=1)) == 0
    assert send_due_mails(now=later) == 1
    OutgoingMail.objects.update(due_at=later, sent_at=None)
    assert send_due_mails(now=later) == 1
    first, second = (message.message()["Message-ID"] for message in mail.outbox)
    assert first == second


def test_a_mail_that_kills_every_sender_is_given_up_without_another() -> None:
    row = make_mail()
    for _ in range(MOST_TRIES):
        due = fresh(row).due_at
        assert due
        assert claim_next(due)
    due = fresh(row).due_at
    assert due
    with capture_logs() as logs:
        assert send_due_mails(now=due) == 1
    assert mail.outbox == []
    assert fresh(row).due_at is None
    assert [log["event"] for log in logs] == ["mail given up"]
