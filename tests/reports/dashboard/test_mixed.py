"""Rows of two tables as one list: none is left out or told twice, whichever way somebody turns the pages."""

from datetime import timedelta
from urllib.parse import parse_qsl

import pytest

from accounts.states import Mode
from reports.dashboard.mixed import Source, mixed_page
from tests.dashboard.machines import make_machine_payment
from tests.factories import NOON, make_merchant
from tests.reports.takings import receive
from wallets.models import Transfer
from x402.models import X402Payment

pytestmark = pytest.mark.django_db

Row = Transfer | X402Payment


@pytest.fixture
def sources() -> list[Source]:
    """Nine rows of each, some of one moment, and always two of one key."""
    merchant = make_merchant()
    for number in range(9):
        at = NOON - timedelta(seconds=number // 5)
        transfer = receive(merchant, mode=Mode.TEST, block_time=at)
        make_machine_payment(merchant, pk=transfer.pk, mode=Mode.TEST, now=at)
    return [Source(Transfer.objects.all(), "block_time"), Source(X402Payment.objects.all(), "verified_at")]


def turn(sources: list[Source], query: str, way: str, rows: int) -> list[list[Row]]:
    """All pages from one on."""
    pages = []
    while True:
        page = mixed_page(sources, dict(parse_qsl(query)), rows=rows)
        pages.append(list(page.rows))
        query = getattr(page, way)
        if not query:
            return pages


@pytest.mark.parametrize("rows", [1, 4, 5, 9])
def test_pages_lead_to_and_fro_and_leave_none_out(sources: list[Source], rows: int) -> None:
    whole = mixed_page(sources, {}).rows
    assert len(whole) == 18
    times = [getattr(row, "verified_at", None) or row.block_time for row in whole]
    assert times == sorted(times, reverse=True)
    forth = turn(sources, "", "older", rows)
    assert [row for page in forth for row in page] == whole
    middle = mixed_page(sources, {}, rows=10)
    back = turn(sources, middle.older, "newer", rows)
    first, *others = [page for page in back if page]
    assert [row for page in reversed(others) for row in page] == whole[:10]
    assert first == whole[10 : 10 + rows]


def test_what_names_no_place_shows_the_first_page_and_other_words_are_kept(sources: list[Source]) -> None:
    page = mixed_page(sources, {"before": "x", "after": "1-2", "kind": "x402"}, rows=2)
    assert page.rows == mixed_page(sources, {}, rows=2).rows
    assert page.older.startswith("kind=x402&before=")
