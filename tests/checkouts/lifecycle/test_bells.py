"""The bell of checkout pages: any number of them, and nothing that is none."""

from collections.abc import Callable, Iterator
from itertools import takewhile

import psycopg
import pytest
from django.conf import settings as django_settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from checkouts.lifecycle.bells import PAGES, ring_pages, rung_ids
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def hear(transactional_db: None) -> Iterator[Callable[[Callable[[], None]], list[str]]]:
    """Run something, and return the notices that a connection of its own heard of it."""
    where = make_conninfo(django_settings.DATABASE_DIRECT_URL, dbname=connection.settings_dict["NAME"])
    with psycopg.connect(where, autocommit=True) as ear:
        ear.execute(f"LISTEN {PAGES}")

        def heard(act: Callable[[], None]) -> list[str]:
            act()
            # Notices come in the order of their transactions.
            with connection.cursor() as cursor:
                cursor.execute(f"NOTIFY {PAGES}, 'end'")
            heard = ear.notifies(timeout=PATIENCE_SECONDS)
            payloads = (notice.payload for notice in heard)
            return list(takewhile(lambda payload: payload != "end", payloads))

        yield heard


@pytest.mark.parametrize("count", [0, 1, 390, 391, 2_000])
def test_any_number_of_checkouts_fits_into_notices(count: int, hear: Callable[[Callable[[], None]], list[str]]) -> None:
    ids = [2**63 - 1 - number for number in range(count)]
    notices = hear(lambda: ring_pages(ids))
    assert [one for notice in notices for one in rung_ids(notice)] == ids


@pytest.mark.parametrize("notice", ["", ",", "x", "1;2", "-1", "²", "1.5", "9" * 5_000])
def test_a_notice_that_names_no_checkout_rings_nothing(notice: str) -> None:
    assert rung_ids(notice) == []


def test_the_bells_name_needs_no_quoting() -> None:
    assert PAGES.isidentifier()
    assert PAGES.islower()
