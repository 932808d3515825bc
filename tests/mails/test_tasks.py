"""The task that sends mail."""

from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from gateway.core.leases import leases
from mails.outbox import queue_unwritten
from mails.sender import LEASE
from mails.tasks import send_due_mails_task
from mails.words import MailWords
from tests.factories import NOON
from tests.mails.factories import ADA, make_mail

pytestmark = pytest.mark.django_db


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
