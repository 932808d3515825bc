"""Cancelling an unpaid checkout in the dashboard."""

from typing import Any

import pytest

from accounts.models import AuditEntry
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from tests.checkouts.dashboard.opened import page_of
from tests.checkouts.watcher import fresh, pay
from tests.dashboard.people import Desk
from tests.factories import make_checkout

pytestmark = pytest.mark.django_db

QUESTION = "Cancel this checkout?"


def cancel(desk: Desk, checkout: Checkout) -> Any:
    return desk.post("dashboard_cancel", checkout_id=checkout.public_id)


def test_an_admin_cancels_what_nobody_paid(admin: Desk) -> None:
    checkout = make_checkout(admin.merchant)
    assert QUESTION in page_of(admin, checkout)
    assert cancel(admin, checkout).status_code == 302
    assert fresh(checkout).status == CheckoutStatus.EXPIRED
    entry = AuditEntry.objects.get(action="checkout.cancelled")
    assert (entry.actor, entry.object_id) == (admin.user, checkout.public_id)
    page = page_of(admin, checkout)
    assert "Checkout cancelled." in page
    assert "Money that still comes waits in the inbox" in page
    assert QUESTION not in page
    listed = admin.get("dashboard_checkouts").context["page"].rows
    assert [row.badge.label for row in listed] == ["Cancelled"]


def test_what_was_paid_meanwhile_stays_and_says_why(owner: Desk) -> None:
    checkout = make_checkout(owner.merchant)
    pay(checkout)
    assert QUESTION not in page_of(owner, checkout)
    cancel(owner, checkout)
    assert "already" in page_of(owner, checkout)
    assert fresh(checkout).status == CheckoutStatus.COMPLETED


def test_a_viewer_cancels_nothing(viewer: Desk) -> None:
    checkout = make_checkout(viewer.merchant)
    assert QUESTION not in page_of(viewer, checkout)
    assert cancel(viewer, checkout).status_code == 403
    assert fresh(checkout).status == CheckoutStatus.PENDING


def test_a_stranger_finds_nothing_to_cancel(stranger: Desk) -> None:
    checkout = make_checkout(stranger.merchant)
    assert cancel(stranger, checkout).status_code == 404
    assert fresh(checkout).status == CheckoutStatus.PENDING
