"""Two people who release the same money at the same moment."""

from typing import Any

import pytest
from django.db.models import QuerySet

from accounts.audit.actors import Actor
from accounts.models import AuditEntry
from settlements.sweeps.escrow import release
from tests.concurrency.races import behind
from tests.factories import NOON, make_checkout

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

HELD = "SELECT FROM settlements_hold WHERE subject_id = %s FOR NO KEY UPDATE"


def race() -> list[bool]:
    """Let two release what somebody else holds the row of until both wait; return what each was told, sorted."""
    subject = make_checkout(escrow=True).public_id

    def let_go() -> bool:
        return release(subject, actor=Actor(label="key"), object_id=subject, now=NOON)

    return sorted(behind(HELD, subject, works=[let_go] * 2))


def entries() -> int:
    return AuditEntry.objects.filter(action="escrow.released").count()


def test_money_is_released_by_one_of_two() -> None:
    assert race() == [False, True]
    assert entries() == 1


def test_without_the_lock_both_release_it(monkeypatch: Any) -> None:
    monkeypatch.setattr(QuerySet, "select_for_update", lambda rows, **options: rows)
    assert race() == [True, True]
    assert entries() == 2
