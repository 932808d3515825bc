"""The overview is its merchant's own, and shows what strangers write as text."""

import pytest
from django.utils import timezone

from tests.checkouts.factories import make_page_checkout
from tests.dashboard.people import Desk

pytestmark = pytest.mark.django_db


def test_strangers_see_nothing(stranger: Desk) -> None:
    assert stranger.get("dashboard_overview").status_code == 404


def test_what_strangers_write_is_shown_as_text(owner: Desk) -> None:
    hostile = "<script>alert(1)</script>"
    checkout = make_page_checkout(owner.merchant, description=hostile, order_ref="")
    checkout.status, checkout.paid_at = "completed", timezone.now()
    checkout.save()
    page = owner.get("dashboard_overview").text
    assert "&lt;script&gt;alert" in page
    assert hostile not in page
