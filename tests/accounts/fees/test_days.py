"""The days of fees: kept by triggers, the same as the entries to the cent, and compared with them at night."""

from collections import Counter
from datetime import UTC, date, timedelta
from decimal import Decimal
from random import Random

import pytest

from accounts.fees.service import charge, unvoid, void
from accounts.models import FeeDay, FeeEntry
from accounts.states import FeeKind
from checkouts.tasks import check_totals_task
from gateway.core.money import to_units
from tests.accounts.fee_entries import charged, completed
from tests.factories import NOON, make_merchant
from wallets.transfers.totals import check_days, day_differences, fold_days, rebuild_days

pytestmark = pytest.mark.django_db

Sums = dict[tuple[int, date, str], int]


def kept() -> Sums:
    """What the days say, in base units."""
    sums: Counter[tuple[int, date, str]] = Counter()
    for row in FeeDay.objects.all():
        sums[row.merchant_id, row.day, row.chain] += to_units(row.amount)
    return {key: units for key, units in sums.items() if units}


def raw() -> Sums:
    """What the entries add up to."""
    sums: Counter[tuple[int, date, str]] = Counter()
    for entry in FeeEntry.objects.all():
        day = entry.charged_at.astimezone(UTC).date()
        sums[entry.merchant_id, day, entry.chain] += to_units(entry.amount)
    return {key: units for key, units in sums.items() if units}


def test_whatever_is_charged_and_taken_back_the_days_are_what_the_entries_add_up_to() -> None:
    chance, merchants = Random(3), [make_merchant() for _ in range(2)]
    for _ in range(60):
        now = NOON + timedelta(hours=chance.randrange(-60, 60))
        some = [
            completed(
                chance.choice(merchants),
                str(Decimal(chance.randrange(1, 10**9)).scaleb(-6)),
                chain=chance.choice(("base", "polygon")),
            )
            for _ in range(chance.randrange(1, 4))
        ]
        charge(some, now=now)
        entries = list(FeeEntry.objects.values_list("subject_id", flat=True))
        void(FeeKind.CHECKOUT, chance.sample(entries, 2 % len(entries)), now=now)
        unvoid(FeeKind.CHECKOUT, chance.sample(entries, 1), now=now)
        chance.choice((fold_days, list))()
        assert day_differences() == []
    assert kept() == raw()
    FeeDay.objects.all().delete()
    rebuild_days()
    assert kept() == raw()


def test_a_cent_too_much_is_reported_at_night_and_mended() -> None:
    charged(make_merchant())
    assert check_totals_task() == 0
    FeeDay.objects.update(amount=Decimal("0.385056"))
    [found] = day_differences()
    assert str(found).endswith("chain=base: kept less raw count +0 amount +0.010000")
    assert check_totals_task() == 1
    rebuild_days()
    assert check_days() == 0
