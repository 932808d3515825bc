"""What was sent back pays no successor, and what a successor took is not sent back."""

from typing import Any

import pytest
from django.utils import timezone

from accounts.audit.actors import Actor
from checkouts.inbox import successors
from checkouts.inbox.service import apply_decisions
from checkouts.inbox.successors import late_units
from checkouts.lifecycle.endings import note_refund
from checkouts.models import Checkout, RefundNote
from checkouts.states import InboxAct
from gateway.core.api.errors import ConflictError
from tests.checkouts.dashboard.opened import SENT_BACK
from tests.checkouts.inboxes import DONE, decide, late_item
from tests.checkouts.watcher import DOLLAR, received
from tests.dashboard.people import make_member

pytestmark = pytest.mark.django_db


def test_what_was_sent_back_pays_no_successor() -> None:
    item = late_item(before=10 * DOLLAR, late=25 * DOLLAR)
    expired = item.checkout
    assert expired is not None
    noted(expired)
    assert late_units(item) == 25 * DOLLAR
    decide(item, InboxAct.ACCEPT_LATE)
    assert apply_decisions(now=DONE) == 1
    assert received(Checkout.objects.get(replaces=expired)) == 25 * DOLLAR


def test_what_a_successor_took_is_not_sent_back() -> None:
    item = late_item(before=10 * DOLLAR, late=15 * DOLLAR)
    decide(item, InboxAct.ACCEPT_LATE)
    assert apply_decisions(now=DONE) == 1
    assert item.checkout is not None
    with pytest.raises(ConflictError, match="no money"):
        noted(item.checkout)


def test_a_refund_noted_while_late_money_is_accepted_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    item = late_item(before=10 * DOLLAR, late=15 * DOLLAR)
    expired, lock = item.checkout, successors._lock_expired
    assert expired is not None

    def lock_late(of: Any) -> Checkout:
        noted(expired)
        return lock(of)

    monkeypatch.setattr(successors, "_lock_expired", lock_late)
    decide(item, InboxAct.ACCEPT_LATE)
    assert apply_decisions(now=DONE) == 0
    assert "marked as refunded" in item.decisions.get().failure


def noted(checkout: Checkout) -> RefundNote:
    return note_refund(checkout, SENT_BACK, actor=Actor(make_member(checkout.merchant)), now=timezone.now())
