"""The bell of checkout pages: any number of them, and nothing that is none."""

from collections.abc import Callable

import pytest

from checkouts.lifecycle.bells import CHANNEL, ring_pages, rung_ids

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("count", [0, 1, 390, 391, 2_000])
def test_any_number_of_checkouts_fits_into_notices(count: int, hear: Callable[[Callable[[], None]], list[str]]) -> None:
    ids = [2**63 - 1 - number for number in range(count)]
    notices = hear(lambda: ring_pages(ids))
    assert [one for notice in notices for one in rung_ids(notice)] == ids


@pytest.mark.parametrize("notice", ["", ",", "x", "1;2", "-1", "²", "1.5", "9" * 5_000])
def test_a_notice_that_names_no_checkout_rings_nothing(notice: str) -> None:
    assert rung_ids(notice) == []


def test_the_bells_name_needs_no_quoting() -> None:
    assert CHANNEL.isidentifier()
    assert CHANNEL.islower()
