"""How long what was said to people is kept."""

from datetime import timedelta

import pytest

from mails import retention
from mails.models import OutgoingMail
from mails.retention import prune_mails
from mails.sender import send_due_mails
from tests.factories import NOON
from tests.mails.factories import make_mail

pytestmark = pytest.mark.django_db


def test_mails_are_kept_for_thirty_days_and_longer_only_while_they_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_BATCH", 2)
    for days in (40, 35, 31, 29):
        make_mail(f"sent:{days}", now=NOON - timedelta(days=days))
    make_mail("given up", now=NOON - timedelta(days=33))
    OutgoingMail.objects.filter(key="given up").update(due_at=None)
    assert send_due_mails(now=NOON) == 4
    make_mail("waits", now=NOON - timedelta(days=50))
    assert prune_mails(now=NOON) == 4
    assert set(OutgoingMail.objects.values_list("key", flat=True)) == {"sent:29", "waits"}
