"""Two people who release the same money at the same moment, and a checkout that completes while its forwarder is flushed."""

from typing import Any

import pytest
from django.db import transaction
from django.db.models import QuerySet

from accounts.audit.actors import Actor
from accounts.models import AuditEntry
from checkouts.lifecycle.escrow import end_flushed
from checkouts.models import Checkout
from settlements.models import Hold
from settlements.sweeps.escrow import release
from tests.checkouts.watcher import DOLLAR, Watcher, attribute, make_outflow
from tests.concurrency.races import behind, holding
from tests.factories import NOON, make_checkout

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

HELD = "SELECT FROM settlements_hold WHERE subject_id = %s FOR NO KEY UPDATE"
COMPLETES = "UPDATE checkouts_checkout SET status = 'completed', paid_at = now() WHERE id = %s"


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


def flushed_checkout() -> Checkout:
    """A checkout that is about to complete, and whose money a third party has sent to the merchant."""
    checkout, watcher = make_checkout(escrow=True), Watcher()
    watcher.sees(checkout)
    attribute()
    watcher.confirms()
    make_outflow(checkout, 25 * DOLLAR)
    return checkout


def note(checkout: Checkout) -> None:
    with transaction.atomic():
        end_flushed([checkout.public_id])


def test_a_flush_that_is_noted_while_its_checkout_completes_ends_the_hold() -> None:
    checkout = flushed_checkout()
    behind(COMPLETES, checkout.pk, works=[lambda: note(checkout)])
    assert Hold.objects.get().released_by == "external"


def test_without_the_lock_nobody_ends_it(monkeypatch: Any) -> None:
    monkeypatch.setattr(QuerySet, "select_for_update", lambda rows, **options: rows)
    checkout = flushed_checkout()
    with holding(COMPLETES, checkout.pk):
        note(checkout)
    assert Hold.objects.get().released_at is None
