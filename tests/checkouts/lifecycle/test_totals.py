"""The days' sums: kept by whoever writes what they sum up, and compared with it to the cent."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.db import ProgrammingError, connection
from django.db.models import Max, Min

from accounts.models import Merchant
from checkouts.lifecycle import totals
from checkouts.lifecycle.counts import CHECKOUT_COUNTS
from checkouts.lifecycle.totals import check_yesterday, differences, fold_totals, rebuild
from checkouts.models import DailyTotal
from tests.checkouts.counted import play
from tests.factories import NOON, make_merchant

pytestmark = pytest.mark.django_db

TODAY, TOMORROW = NOON.date(), NOON.date() + timedelta(days=1)


def kept(merchant: Merchant) -> dict[str, tuple[int, int, int, Decimal]]:
    """What is kept of noon's day, by chain."""
    sums: dict[str, tuple[int, int, int, Decimal]] = {}
    for row in DailyTotal.objects.filter(merchant=merchant, day=TODAY):
        created, completed, expired, volume = sums.get(row.chain, (0, 0, 0, Decimal(0)))
        sums[row.chain] = (created + row.created, completed + row.completed, expired + row.expired, volume + row.volume)
    return sums


def test_what_happens_is_added_to_its_day() -> None:
    merchant = make_merchant()
    play("completed", merchant)
    play("completed", merchant, "20.00")
    play("expired", merchant)
    assert kept(merchant) == {"": (3, 0, 1, Decimal(0)), "base": (0, 2, 0, Decimal("30.01"))}


def test_the_sums_are_those_of_the_rows() -> None:
    merchant = make_merchant()
    for scenario in ("completed", "underpaid", "overpaid", "late", "expired", "reorg"):
        play(scenario, merchant)
    assert DailyTotal.objects.filter(merchant=merchant).exists()
    assert differences(since=date(2020, 1, 1), until=date(2030, 1, 1)) == []


def test_a_table_that_cannot_be_folded_leaves_the_others_to_be_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    merchant = make_merchant()
    for _ in range(2):
        play("completed", merchant)
    broken = replace(CHECKOUT_COUNTS, name="no_such_table")
    monkeypatch.setattr(totals, "CHECKOUT_COUNTS", broken)
    with pytest.raises(ProgrammingError, match="no_such_table"):
        fold_totals()
    kept_rows = DailyTotal.objects.filter(merchant=merchant).order_by("chain")
    assert [row.is_sum for row in kept_rows] == [True, True]


def test_a_cent_too_much_is_reported_and_repaired() -> None:
    merchant = make_merchant()
    play("completed", merchant)
    fold_totals()
    row = DailyTotal.objects.get(merchant=merchant, chain="base")
    row.volume += Decimal("0.01")
    row.save()
    [found] = differences(since=TODAY, until=TOMORROW)
    assert (found.key["merchant_id"], found.key["chain"]) == (merchant.pk, "base")
    assert (found.off["created"], found.off["volume"]) == (0, Decimal("0.01"))
    assert check_yesterday(today=TOMORROW) == 1
    assert check_yesterday(today=TODAY) == 0
    rebuild(since=TODAY, until=TOMORROW)
    assert differences(since=TODAY, until=TOMORROW) == []


def test_a_checkout_that_nobody_counted_is_reported() -> None:
    play("completed", make_merchant())
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM checkouts_dailytotal WHERE chain = ''")
    [found] = differences(since=TODAY, until=TOMORROW)
    assert found.off["created"] == -1


def test_a_day_knows_the_keys_of_what_it_made() -> None:
    merchant = make_merchant()
    made = [play("completed", merchant).pk for _ in range(3)]
    row = DailyTotal.objects.filter(merchant=merchant, chain="")
    keys = row.aggregate(first=Min("first_id"), last=Max("last_id"))
    assert keys == {"first": min(made), "last": max(made)}
    fold_totals()
    row.update(last_id=max(made) - 1)
    [found] = differences(since=TODAY, until=TOMORROW)
    assert (found.off["created"], found.off["volume"]) == (0, 0)
