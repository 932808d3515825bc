"""How many checkouts each merchant and mode has of each status."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command
from django.db import ProgrammingError, connection, transaction
from django.db.models import Max, Min

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.lifecycle.counts import CHECKOUT_COUNTS
from checkouts.lifecycle.moves import expire
from checkouts.models import Checkout, CheckoutCount, DailyTotal
from checkouts.states import CheckoutStatus
from gateway.core import daily_totals
from tests.checkouts.counted import play
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, attribute
from tests.factories import NOON, checkout_counts, make_checkout, make_merchant
from tests.totals import differences, rebuild

pytestmark = pytest.mark.django_db


EXPIRED = CheckoutStatus.EXPIRED


def test_the_counts_follow_every_move():
    merchant = make_merchant()
    paid, short, idle, seen = (make_checkout(merchant) for _ in range(4))
    assert checkout_counts(merchant) == {"pending": 4}
    watcher = Watcher()
    watcher.sees(paid)
    watcher.sees(short, 3 * DOLLAR)
    watcher.confirms()
    watcher.sees(seen)
    attribute()
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=idle.pk)), now=SOON)
    assert checkout_counts(merchant) == {"completed": 1, "underpaid": 1, "expired": 1, "processing": 1}
    watcher.loses(seen.payments.get().transfer)
    attribute()
    assert checkout_counts(merchant)["pending"] == 1
    assert "processing" not in checkout_counts(merchant)


def test_counts_are_kept_apart_by_merchant_and_mode():
    ours, theirs = make_merchant(), make_merchant()
    mine, yours = make_checkout(ours), make_checkout(theirs)
    trial = make_checkout(ours, mode=Mode.TEST)
    watcher = Watcher()
    watcher.sees(mine)
    watcher.sees(yours, 3 * DOLLAR)
    watcher.confirms()
    attribute()
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=trial.pk)), now=SOON)
    assert checkout_counts(ours) == {"completed": 1}
    assert checkout_counts(ours, Mode.TEST) == {"expired": 1}
    assert checkout_counts(theirs) == {"underpaid": 1}


def test_counts_are_folded_without_being_changed():
    merchant = make_merchant()
    checkouts = [make_checkout(merchant) for _ in range(3)]
    for checkout in checkouts:
        with transaction.atomic():
            expire(list(Checkout.objects.locked().filter(pk=checkout.pk)), now=SOON)
    rows = CheckoutCount.objects.filter(merchant=merchant, status=EXPIRED)
    assert list(rows.values_list("value", "is_sum")) == [(1, False)] * 3
    assert checkout_counts(merchant) == {"expired": 3}
    daily_totals.fold_all()
    assert list(rows.values_list("value", "is_sum")) == [(3, True)]
    assert checkout_counts(merchant) == {"expired": 3}
    assert daily_totals.fold_all() == 0


# The days' sums: kept by whoever writes what they sum up, and compared with it to the cent.


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
    monkeypatch.setattr(daily_totals, "_tables", [broken, *daily_totals._tables])
    with pytest.raises(ProgrammingError, match="no_such_table"):
        daily_totals.fold_all()
    kept_rows = DailyTotal.objects.filter(merchant=merchant).order_by("chain")
    assert [row.is_sum for row in kept_rows] == [True, True]


def test_a_cent_too_much_is_reported_and_repaired() -> None:
    merchant = make_merchant()
    play("completed", merchant)
    daily_totals.fold_all()
    row = DailyTotal.objects.get(merchant=merchant, chain="base")
    row.volume += Decimal("0.01")
    row.save()
    [found] = differences(since=TODAY, until=TOMORROW)
    assert (found.key["merchant_id"], found.key["chain"]) == (merchant.pk, "base")
    assert (found.off["created"], found.off["volume"]) == (0, Decimal("0.01"))
    assert daily_totals.check(today=TOMORROW) == 1
    assert daily_totals.check(today=TODAY) == 0
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
    daily_totals.fold_all()
    row.update(last_id=max(made) - 1)
    [found] = differences(since=TODAY, until=TOMORROW)
    assert (found.off["created"], found.off["volume"]) == (0, 0)


# `manage.py check_totals` compares the days' sums with their rows.


TODAY = NOON.date()


def test_the_command_tells_and_repairs(capsys: pytest.CaptureFixture[str]) -> None:
    play("completed", make_merchant())
    days = {"since": TODAY, "until": TODAY}
    call_command("check_totals", **days)
    DailyTotal.objects.filter(chain="base").update(completed=3)
    with pytest.raises(CommandError, match="1 totals"):
        call_command("check_totals", **days)
    assert "chain=base token=USDC: kept less raw created +0 completed +2" in capsys.readouterr().out
    call_command("check_totals", **days, repair=True)
    call_command("check_totals", **days)
    assert "All totals agree with their rows." in capsys.readouterr().out
