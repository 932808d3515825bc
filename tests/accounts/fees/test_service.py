"""Charging: exact, at the rate of the moment, once, and given back where the network takes the payment."""

from collections import Counter
from datetime import UTC, date, timedelta
from decimal import Decimal
from random import Random

import pytest
from django.db import IntegrityError, connection, connections, transaction

from accounts.audit.actors import Actor
from accounts.fees.service import charge, set_plan, unvoid, void
from accounts.models import AuditEntry, FeeDay, FeeEntry, Merchant
from accounts.states import FeeKind, FeeTier
from checkouts.tasks import check_totals_task
from gateway.core.daily_totals import fold_all
from gateway.core.money import from_units, to_units
from tests.accounts.fee_entries import booked, charged, completed
from tests.checkouts.schema import alter
from tests.dashboard.people import make_member
from tests.factories import NOON, make_merchant, make_user
from tests.totals import differences, rebuild

pytestmark = pytest.mark.django_db


def merchant_at(rate: str) -> Merchant:
    """A merchant whose own rate it is."""
    return make_merchant(fee_tier=FeeTier.CUSTOM, fee_rate=Decimal(rate))


@pytest.mark.parametrize(
    ("received", "rate", "fee"),
    [
        ("25.003700", "0.015", "0.375056"),
        ("2.500000", "0.01", "0.025"),
        ("2.499999", "0.01", "0.025"),
        ("2.499949", "0.01", "0.024999"),
        ("0.010000", "0.015", "0.00015"),
        ("0.000001", "0.4", "0.00"),
        ("25.000000", "0", "0.00"),
    ],
)
def test_a_fee_is_the_rate_of_what_was_received_to_a_millionth_of_a_dollar(received: str, rate: str, fee: str) -> None:
    entry = charged(merchant_at(rate), received)
    assert (entry.amount, entry.rate) == (Decimal(fee), Decimal(rate))
    assert (entry.received, entry.charged_at) == (Decimal(received), NOON)


def test_no_amount_is_too_large_to_be_exact() -> None:
    units = 2**256 - 1
    entry = charged(merchant_at("0.00700"), str(from_units(units)))
    assert to_units(entry.received) == units
    # In units and thousandths of a rate; half of a unit rounds up.
    assert to_units(entry.amount) == (units * 7 + 500) // 1_000


def test_a_payment_is_charged_once_at_the_rate_of_when_it_completed() -> None:
    merchant = make_merchant()
    payment = completed(merchant)
    charge([payment], now=NOON)
    scale, boss = Decimal("0.007"), make_member(merchant)
    set_plan(merchant.pk, tier=FeeTier.SCALE, rate=scale, actor=Actor(boss), now=NOON)
    charge([payment, completed(merchant)], now=NOON + timedelta(days=1))
    first, second = FeeEntry.objects.order_by("pk")
    assert (first.rate, first.amount, first.charged_at) == (Decimal("0.015"), Decimal("0.375056"), NOON)
    assert (second.rate, second.amount) == (Decimal("0.007"), Decimal("0.175026"))


def test_a_checkout_and_a_machine_of_one_name_are_two_payments() -> None:
    merchant = make_merchant()
    for kind in FeeKind:
        charged(merchant, kind=kind, subject_id="same")
    assert FeeEntry.objects.count() == 2


def test_the_database_refuses_a_second_fee_of_a_payment() -> None:
    entry = charged(make_merchant())
    entry.pk = None
    with pytest.raises(IntegrityError, match="fee_booked_once"), transaction.atomic():
        entry.save(force_insert=True)


def test_without_the_constraint_a_payment_would_be_charged_twice() -> None:
    """The negative control of the test above."""
    entry = charged(make_merchant())
    alter("ALTER TABLE accounts_feeentry DROP CONSTRAINT fee_booked_once")
    entry.pk = None
    entry.save(force_insert=True)
    assert FeeEntry.objects.filter(subject_id=entry.subject_id).count() == 2


def test_many_fees_are_one_statement_and_none_is_no_statement(django_assert_num_queries: object) -> None:
    payments = [completed(make_merchant()) for _ in range(3)]
    with django_assert_num_queries(1):  # type: ignore[operator]
        charge(payments, now=NOON)
    with django_assert_num_queries(0):  # type: ignore[operator]
        charge([], now=NOON)
        void(FeeKind.CHECKOUT, [], now=NOON)
        unvoid(FeeKind.CHECKOUT, [], now=NOON)
    assert FeeEntry.objects.count() == 3


def test_a_fee_is_taken_back_once_and_charged_again_as_it_was() -> None:
    merchant = make_merchant()
    entry, other = charged(merchant), charged(merchant)
    hours = [NOON + timedelta(hours=number) for number in range(5)]
    fee, ids = Decimal("0.375056"), [entry.subject_id]
    unvoid(FeeKind.CHECKOUT, ids, now=hours[1])
    void(FeeKind.CHECKOUT, ids, now=hours[1])
    void(FeeKind.CHECKOUT, ids, now=hours[2])
    void(FeeKind.X402, [other.subject_id], now=hours[2])
    assert booked(other.subject_id) == [(NOON, fee)]
    assert booked(entry.subject_id) == [(NOON, fee), (hours[1], -fee)]
    Merchant.objects.update(fee_tier=FeeTier.SCALE, fee_rate=Decimal("0.007"))
    unvoid(FeeKind.CHECKOUT, ids, now=hours[3])
    unvoid(FeeKind.CHECKOUT, ids, now=hours[4])
    void(FeeKind.CHECKOUT, ids, now=hours[4])
    turns = [(NOON, fee), (hours[1], -fee), (hours[3], fee), (hours[4], -fee)]
    assert booked(entry.subject_id) == turns
    again = FeeEntry.objects.get(subject_id=entry.subject_id, number=2)
    assert (again.corrects, again.received) == (entry, entry.received)
    assert (again.rate, again.chain) == (entry.rate, entry.chain)


@pytest.mark.parametrize("change", ["UPDATE {} SET charged_at = now()", "DELETE FROM {}"])
def test_what_is_booked_is_never_changed(change: str) -> None:
    charged(make_merchant())
    statement = change.format("accounts_feeentry")
    with (
        pytest.raises(IntegrityError, match="fee entries are never changed"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    # The control: it is the trigger that refuses.
    alter("ALTER TABLE accounts_feeentry DISABLE TRIGGER fee_append_only")
    with connection.cursor() as cursor:
        cursor.execute(statement)
        assert cursor.rowcount == 1


@pytest.mark.parametrize(
    ("number", "sign", "rule"),
    [(1, 1, "fee_signed_by_number"), (2, -1, "fee_signed_by_number"), (0, 1, "fee_correction_says_of_what")],
)
def test_the_database_knows_which_way_a_correction_goes(number: int, sign: int, rule: str) -> None:
    entry = charged(make_merchant())
    values = {"subject_id": "another", "number": number, "corrects": entry}
    amounts = {"received": sign * entry.received, "amount": sign * entry.amount}
    rest = {name: getattr(entry, name) for name in ("kind", "chain", "token", "rate")}
    with pytest.raises(IntegrityError, match=rule), transaction.atomic():
        FeeEntry.objects.create(merchant=entry.merchant, charged_at=NOON, **values, **amounts, **rest)


@pytest.mark.django_db(transaction=True)
def test_nobody_waits_for_a_plan_that_is_being_changed() -> None:
    merchant = make_merchant()
    other = connections["default"].copy()
    try:
        with transaction.atomic(), other.cursor() as changing:
            changing.execute("BEGIN")
            changing.execute("SELECT FROM accounts_merchant WHERE id = %s FOR NO KEY UPDATE", [merchant.pk])
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '2s'")
            charge([completed(merchant)], now=NOON)
            # What the foreign key locks, it locks now.
            with connection.cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    finally:
        other.close()
    assert FeeEntry.objects.get().rate == Decimal("0.015")


# Putting a merchant on a plan.


def put_on(merchant: Merchant, tier: FeeTier, rate: str) -> None:
    set_plan(merchant.pk, tier=tier, rate=Decimal(rate), actor=Actor(make_user()), now=NOON)
    merchant.refresh_from_db()


def plans_told(merchant: Merchant) -> int:
    return AuditEntry.objects.filter(merchant=merchant, action="merchant.plan_set").count()


def test_a_plan_is_set_and_audited_once() -> None:
    merchant = make_merchant()
    for _ in range(2):
        put_on(merchant, FeeTier.SCALE, "0.007")
    assert (merchant.fee_tier, merchant.fee_rate) == (FeeTier.SCALE, Decimal("0.00700"))
    assert plans_told(merchant) == 1


def test_a_rate_that_is_not_the_plans_is_refused() -> None:
    merchant = make_merchant()
    with pytest.raises(IntegrityError), transaction.atomic():
        put_on(merchant, FeeTier.GROWTH, "0.001")
    merchant.refresh_from_db()
    assert merchant.fee_tier == FeeTier.STARTER
    assert plans_told(merchant) == 0


# The days of fees: kept by triggers, the same as the entries to the cent, and compared with them at night.


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
        chance.choice((fold_all, list))()
        assert differences() == []
    assert kept() == raw()
    FeeDay.objects.all().delete()
    rebuild()
    assert kept() == raw()


def test_a_cent_too_much_is_reported_at_night_and_mended() -> None:
    charged(make_merchant())
    assert check_totals_task() == 0
    FeeDay.objects.update(amount=Decimal("0.385056"))
    [found] = differences()
    assert str(found).endswith("chain=base: kept less raw count +0 amount +0.010000")
    assert check_totals_task() == 1
    rebuild()
    assert check_totals_task() == 0
