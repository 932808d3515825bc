"""The days' sums under writers that work at once: nothing is lost, and nobody waits in a circle."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.creation.forms import parse_create
from checkouts.creation.service import create_checkout
from checkouts.lifecycle import counts
from checkouts.lifecycle.totals import (
    differences,
    rebuild,
)
from checkouts.models import DailyTotal
from checkouts.testmode.service import play_due_steps
from gateway.core.web_urls import url_policy
from tests.concurrency.races import crew
from tests.factories import NOON, make_merchant

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

DAYS = {
    "since": NOON.date() - timedelta(days=1),
    "until": NOON.date() + timedelta(days=2),
}


def create(merchant: Merchant) -> None:
    """Five test checkouts, which are due to be paid five seconds after noon."""
    for _ in range(5):
        wanted = parse_create({"amount": "1.01", "currency": "USD"}, url_policy())
        create_checkout(merchant.pk, Mode.TEST, wanted, now=NOON)


def race(merchant: Merchant, *others: Callable[[], object]) -> None:
    """Create and pay on several connections at once, beside whatever else."""
    jobs: list[Callable[[], object]] = [lambda: create(merchant)] * 4
    jobs += [lambda: play_due_steps(now=NOON + timedelta(minutes=1))] * 2
    with crew() as threads:
        threads.together(*jobs, *others)
    play_due_steps(now=NOON + timedelta(minutes=1))


def test_nothing_is_lost_when_many_write_one_day(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("secrets.randbelow", lambda _: 0)
    merchant = make_merchant()
    race(merchant)
    assert DailyTotal.objects.filter(merchant=merchant, chain="").count() == 1
    assert differences(**DAYS) == []
    assert sum(DailyTotal.objects.values_list("completed", flat=True)) == 20


def test_a_repair_while_others_write_loses_nothing() -> None:
    merchant = make_merchant()
    race(merchant, lambda: rebuild(**DAYS), lambda: rebuild(**DAYS))
    assert differences(**DAYS) == []


def test_without_adding_in_one_statement_something_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The negative control: whoever reads the sum first and writes it afterwards overwrites the others' part."""
    overwriting = counts._ADD_TO_DAYS
    for name in ("completed", "volume"):
        overwriting = overwriting.replace(f"kept.{name} + ", "")
    monkeypatch.setattr(counts, "_ADD_TO_DAYS", overwriting)
    monkeypatch.setattr("secrets.randbelow", lambda _: 0)
    merchant = make_merchant()
    create(merchant)
    play_due_steps(now=NOON + timedelta(minutes=1))
    create(merchant)
    play_due_steps(now=NOON + timedelta(minutes=1))
    assert differences(**DAYS) != []
