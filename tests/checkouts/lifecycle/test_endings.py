"""What is sent back pays no successor, and what a successor took is not sent back."""

from typing import Any

import pytest

from checkouts.inbox import successors
from checkouts.inbox.service import apply_decisions
from checkouts.inbox.successors import late_units
from checkouts.models import Checkout
from checkouts.states import InboxAct
from gateway.core.api.errors import ConflictError
from tests.checkouts.inboxes import DONE, decide, late_item
from tests.checkouts.watcher import DOLLAR, received
from tests.payouts.factories import refund_of

pytestmark = pytest.mark.django_db


def refund_first(expired: Checkout, units: int | None = None) -> None:
    """Ask for a refund of what came before a checkout expired."""
    refund_of(expired, units, transfer=expired.payments.get().transfer)


def test_what_was_sent_back_pays_no_successor() -> None:
    item = late_item(before=10 * DOLLAR, late=25 * DOLLAR)
    expired = item.checkout
    assert expired is not None
    refund_first(expired)
    assert late_units(item) == 25 * DOLLAR
    decide(item, InboxAct.ACCEPT_LATE)
    assert apply_decisions(now=DONE) == 1
    assert received(Checkout.objects.get(replaces=expired)) == 25 * DOLLAR


def test_what_is_sent_back_in_part_stops_the_successor() -> None:
    item = late_item(before=10 * DOLLAR, late=25 * DOLLAR)
    assert item.checkout is not None
    refund_first(item.checkout, 4 * DOLLAR)
    decide(item, InboxAct.ACCEPT_LATE)
    assert apply_decisions(now=DONE) == 0
    assert "A refund of this money was asked for." in item.decisions.get().failure


def test_what_a_successor_took_is_not_sent_back() -> None:
    item = late_item(before=10 * DOLLAR, late=15 * DOLLAR)
    decide(item, InboxAct.ACCEPT_LATE)
    assert apply_decisions(now=DONE) == 1
    assert item.checkout is not None
    with pytest.raises(ConflictError, match="no money"):
        refund_of(item.checkout)


def test_a_refund_that_is_asked_for_while_late_money_is_accepted_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    item = late_item(before=10 * DOLLAR, late=15 * DOLLAR)
    expired, lock = item.checkout, successors._lock_expired
    assert expired is not None

    def lock_late(of: Any) -> Checkout:
        refund_first(expired)
        return lock(of)

    monkeypatch.setattr(successors, "_lock_expired", lock_late)
    decide(item, InboxAct.ACCEPT_LATE)
    assert apply_decisions(now=DONE) == 0
    assert "A refund of its first payment was asked for." in item.decisions.get().failure
