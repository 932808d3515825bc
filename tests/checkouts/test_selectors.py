"""Deep pages of the API's list: whole days are passed over, and each page has the rows it had without."""

from datetime import timedelta
from random import Random

import pytest

from accounts.states import Mode
from checkouts import selectors
from checkouts.selectors import CheckoutFilter, checkout_page
from gateway.core.api.pagination import Page
from tests.factories import NOON, make_checkout, make_merchant

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("jitter", [0, 30])
def test_a_deep_page_has_the_rows_it_had_without_the_days(monkeypatch: pytest.MonkeyPatch, jitter: int) -> None:
    merchant, chance = make_merchant(), Random(1)
    for number in range(40):
        # With jitter, keys and days are in different orders where two days meet.
        hours = number * 4 + chance.randrange(-jitter, jitter + 1)
        make_checkout(merchant, created_at=NOON + timedelta(hours=hours))
        make_checkout(created_at=NOON + timedelta(hours=hours))
    wanted = CheckoutFilter(merchant.pk, Mode.LIVE, None, None, None, {})

    def ids(offset: int, limit: int) -> list[str]:
        page = Page(limit, offset, None, include_total=False)
        return [row["id"] for row in checkout_page(wanted, page)]

    everything = ids(0, 100)
    assert len(everything) == 40
    monkeypatch.setattr(selectors, "_FEW", 1)
    marks = set()
    for offset in range(43):
        assert ids(offset, 7) == everything[offset : offset + 7]
        marks.add(selectors._mark_before(wanted, offset))
    assert len(marks) > 2
