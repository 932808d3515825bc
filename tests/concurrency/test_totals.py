"""The days' sums under writers that work at once: nothing is lost, and nobody waits in a circle."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import OperationalError

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.creation.forms import parse_create
from checkouts.creation.service import create_checkout
from checkouts.models import CheckoutCount, DailyTotal
from checkouts.testmode import play_due_steps
from gateway.core import daily_totals
from gateway.core.outbound import url_policy
from tests.concurrency.races import crew, holding, together
from tests.factories import NOON, make_merchant
from tests.totals import differences, rebuild

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

DAYS = {"since": NOON.date() - timedelta(days=1), "until": NOON.date() + timedelta(days=2)}


def create(merchant: Merchant) -> None:
    """Five test checkouts, which are due to be paid five seconds after noon."""
    for _ in range(5):
        wanted = parse_create({"amount": "1.01", "currency": "USD"}, url_policy())
        create_checkout(merchant.pk, Mode.TEST, wanted, now=NOON)


def race(merchant: Merchant, *others: Callable[[], object]) -> None:
    """Create, pay and fold on several connections at once, beside whatever else."""
    jobs: list[Callable[[], object]] = [lambda: create(merchant)] * 4
    jobs += [lambda: play_due_steps(now=NOON + timedelta(minutes=1))] * 2
    jobs += [daily_totals.fold_all] * 2
    together(*jobs, *others)
    play_due_steps(now=NOON + timedelta(minutes=1))


def test_nothing_is_lost_when_many_write_one_day() -> None:
    merchant = make_merchant()
    race(merchant)
    assert differences(**DAYS) == []
    daily_totals.fold_all()
    assert DailyTotal.objects.filter(merchant=merchant, chain="").count() == 1
    assert differences(**DAYS) == []
    assert sum(DailyTotal.objects.values_list("completed", flat=True)) == 20


def test_a_repair_while_others_write_loses_nothing() -> None:
    merchant = make_merchant()
    race(merchant, lambda: rebuild(**DAYS), lambda: rebuild(**DAYS))
    assert differences(**DAYS) == []


def test_writers_of_one_day_wait_for_nobody() -> None:
    merchant = make_merchant()
    create(merchant)
    daily_totals.fold_all()
    with holding("SELECT FROM checkouts_dailytotal, checkouts_checkoutcount FOR UPDATE"), crew() as threads:
        threads.together(lambda: create(merchant))
    assert differences(**DAYS) == []


def test_a_table_that_a_repair_has_locked_is_left_to_the_next_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daily_totals, "_LONGEST_WAIT", "10ms")
    create(make_merchant())
    with holding("LOCK TABLE checkouts_checkoutcount IN SHARE ROW EXCLUSIVE MODE"):
        with pytest.raises(OperationalError, match="lock timeout"):
            daily_totals.fold_all()
        assert not DailyTotal.objects.filter(is_sum=False).exists()
        assert CheckoutCount.objects.filter(is_sum=False).exists()
    assert daily_totals.fold_all()
    assert not CheckoutCount.objects.filter(is_sum=False).exists()


def test_without_adding_to_what_is_there_something_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: a fold that overwrites a total loses what was folded before."""
    monkeypatch.setitem(daily_totals._MERGED, "sum", "EXCLUDED.{0}")
    merchant = make_merchant()
    for _ in range(2):
        create(merchant)
        play_due_steps(now=NOON + timedelta(minutes=1))
        daily_totals.fold_all()
    assert differences(**DAYS) != []
