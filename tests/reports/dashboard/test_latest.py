"""The latest payments of the overview."""

import pytest

from checkouts.states import CheckoutStatus
from tests.checkouts.factories import make_completed, make_page_checkout, make_seen, move
from tests.dashboard.people import Desk

pytestmark = pytest.mark.django_db


def test_the_latest_payments_name_what_may_move_next_and_say_nothing_twice(owner: Desk, stranger: Desk) -> None:
    seen = make_seen(merchant=owner.merchant)
    make_completed(merchant=owner.merchant)
    waiting = [make_page_checkout(owner.merchant) for _ in range(5)]
    latest = owner.get("dashboard_overview").context["latest"]
    assert len(latest.rows) == 2
    followed = [seen, *reversed(waiting)][:4]
    assert latest.streams == [f"/c/{one.code}/stream" for one in followed]
    query = f"?seen={latest.digest()}"
    assert owner.get("dashboard_latest", query).status_code == 204
    move(seen, CheckoutStatus.COMPLETED)
    fresh = owner.get("dashboard_latest", query)
    assert fresh.status_code == 200
    assert seen.code not in fresh.text
    assert stranger.get("dashboard_latest").status_code == 404
