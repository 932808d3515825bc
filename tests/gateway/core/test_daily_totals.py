"""Totals that are the sums of their rows: folded, compared with what they sum up, and made anew."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import Q

from gateway.core import daily_totals
from gateway.core.daily_totals import Days, SumTable, compare_days, days_of, fold, nightly_days, rebuild_days

pytestmark = pytest.mark.django_db

DAY = date(2026, 11, 20)
DAYS = Days(DAY, DAY + timedelta(days=1))
RAW = f"""
    SELECT (sold_at AT TIME ZONE 'UTC')::date AS day, shop, count(*) AS count, sum(price) AS units,
        max(price) AS dearest
    FROM sales WHERE {days_of("sold_at")} GROUP BY 1, 2
"""
TABLE = SumTable("sale_days", ("day", "shop"), greatest=("dearest",), raw=RAW)
TABLES = """
    CREATE TEMPORARY TABLE sales (shop int, price numeric, sold_at timestamptz) ON COMMIT DROP;
    CREATE TEMPORARY TABLE sale_days (
        id serial, day date, shop int, count numeric, units numeric, dearest numeric, is_sum boolean DEFAULT false
    ) ON COMMIT DROP;
    CREATE UNIQUE INDEX ON sale_days (day, shop) WHERE is_sum;
"""


@pytest.fixture(autouse=True)
def _tables(db: None) -> None:
    run(TABLES)


def run(statement: str, *values: int | str | date) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)


def kept() -> list[tuple[Any, ...]]:
    """The rows of totals: shop, count, units, the dearest, and whether they are folded."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT shop, count, units, dearest, is_sum FROM sale_days ORDER BY id")
        return list(cursor.fetchall())


def sell(shop: int, price: int, *, at: str = "12:00", counted: bool = True) -> None:
    """A sale, and its delta."""
    run("INSERT INTO sales VALUES (%s, %s, %s)", shop, price, f"{DAY}T{at}Z")
    if counted:
        values = "INSERT INTO sale_days (day, shop, count, units, dearest) VALUES"
        run(f"{values} (%s, %s, 1, %s, %s)", DAY, shop, price, price)


def test_folding_leaves_one_row_for_each_key_and_changes_no_total() -> None:
    for shop, price in ((1, 5), (1, 9), (2, 4)):
        sell(shop, price)
    assert fold(TABLE) == 3
    assert kept() == [(1, 2, 14, 9, True), (2, 1, 4, 4, True)]
    sell(1, 7)
    assert fold(TABLE) == 1
    assert sorted(kept()) == [(1, 3, 21, 9, True), (2, 1, 4, 4, True)]
    assert fold(TABLE) == 0
    assert compare_days(TABLE, DAYS) == []


def test_what_nobody_counted_is_reported_and_repaired() -> None:
    sell(1, 5)
    sell(1, 8, counted=False)
    sell(2, 3, counted=False)
    one, two = compare_days(TABLE, DAYS)
    assert one.key == {"day": DAY, "shop": 1}
    assert one.off == {"count": -1, "units": Decimal(-8), "dearest": Decimal(-3)}
    assert str(two) == ("sale_days day=2026-11-20 shop=2: kept less raw count -1 units -3 dearest -3")
    rebuild_days(TABLE, DAYS)
    assert compare_days(TABLE, DAYS) == []
    assert kept() == [(1, 2, 13, 8, True), (2, 1, 3, 3, True)]


def test_days_are_those_of_utc_and_others_are_left_alone() -> None:
    sell(1, 5, at="00:00")
    sell(1, 6, at="23:59:59.999999", counted=False)
    [found] = compare_days(TABLE, DAYS)
    assert found.off["units"] == Decimal(-6)
    yesterday = Days(DAY - timedelta(days=1), DAY)
    assert compare_days(TABLE, yesterday) == []
    rebuild_days(TABLE, yesterday)
    assert kept() == [(1, 1, 5, 5, False)]


def test_every_table_that_is_folded_is_registered() -> None:
    folded = {
        model._meta.db_table
        for model in apps.get_models()
        if any(getattr(rule, "condition", None) == Q(is_sum=True) for rule in model._meta.constraints)
    }
    assert sorted(table.name for table in daily_totals._tables) == sorted(folded)


def test_at_night_checkouts_are_compared_for_the_day_before_and_other_tables_for_all_days() -> None:
    days = {table.name: days for table, days in nightly_days(DAY).items()}
    assert days == {
        "accounts_feeday": Days(),
        "checkouts_dailytotal": Days(DAY - timedelta(days=1), DAY),
        "wallets_transferday": Days(),
        "wallets_watchedday": Days(),
    }
