"""Statements: each fee in the month it was charged, given back in the month it was taken back, every cent added up."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from accounts.fees.service import unvoid
from accounts.models import FeeEntry, Merchant
from accounts.states import FeeKind, FeeTier
from gateway.core.money import round_to_cent
from reports import statements
from reports.months import Month, month_of, parse_month
from reports.statements import bookings, month_totals, statement_of
from tests.accounts.fee_entries import charged
from tests.factories import make_merchant

pytestmark = pytest.mark.django_db
OCTOBER = Month(2026, 10)
MOMENT = timedelta(microseconds=1)
# Of 25.003700 at 1.5 %.
FEE = Decimal("0.375056")


def october(day: int = 15) -> datetime:
    """Noon of a day."""
    return datetime(2026, 10, day, 12, tzinfo=UTC)


@pytest.mark.parametrize("text", ["2026-13", "2026-00", "2026-1", "26-10", "2026-10-01", "٢٠٢٦-10", "", "x"])
def test_what_is_no_month_is_none(text: str) -> None:
    assert parse_month(text) is None


def test_months_follow_each_other_and_are_those_of_utc() -> None:
    assert parse_month("2026-10") == OCTOBER
    assert OCTOBER.plus(3) == Month(2027, 1)
    assert OCTOBER.plus(-10) == Month(2025, 12)
    assert (OCTOBER.begins, OCTOBER.ends) == (datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC))
    east = datetime.fromisoformat("2026-11-01T01:00+02:00")
    assert month_of(east) == OCTOBER


def test_a_month_has_its_first_moment_and_not_the_next_ones() -> None:
    merchant = make_merchant()
    for at in (OCTOBER.begins, OCTOBER.ends - MOMENT):
        charged(merchant, at=at)
    for at in (OCTOBER.begins - MOMENT, OCTOBER.ends):
        charged(merchant, at=at)
    charged(make_merchant(), at=october())
    [line] = statement_of(merchant.pk, OCTOBER).charged
    assert (line.payments, line.money, line.fees) == (2, Decimal("50.007400"), 2 * FEE)


def test_lines_are_by_kind_network_token_and_rate() -> None:
    merchant = make_merchant()
    charged(merchant, at=october())
    charged(merchant, at=october(), kind=FeeKind.X402)
    charged(merchant, at=october(), chain="ton", token="USDT")
    merchant.fee_tier, merchant.fee_rate = FeeTier.GROWTH, Decimal("0.01")
    merchant.save()
    charged(merchant, at=october())
    found = statement_of(merchant.pk, OCTOBER)
    assert [(line.kind, line.chain, line.token, line.rate) for line in found.charged] == [
        ("checkout", "base", "USDC", Decimal("0.01")),
        ("checkout", "base", "USDC", Decimal("0.015")),
        ("checkout", "ton", "USDT", Decimal("0.015")),
        ("x402", "base", "USDC", Decimal("0.015")),
    ]
    assert found.total == round_to_cent(Decimal("0.250037") + 3 * FEE)


def test_a_fee_is_given_back_in_the_month_that_took_the_payment_back() -> None:
    merchant = make_merchant()
    september = OCTOBER.begins - timedelta(days=1)
    charged(merchant, at=september, voided_at=october())
    charged(merchant, "100.00", at=october(), voided_at=october(16))
    charged(merchant, "200.00", at=october(), voided_at=OCTOBER.ends)
    assert statement_of(merchant.pk, Month(2026, 9)).total == Decimal("0.38")
    found = statement_of(merchant.pk, OCTOBER)
    assert [(line.charged_in, line.fees) for line in found.taken_back] == [
        (Month(2026, 9), -FEE),
        (OCTOBER, Decimal("-1.50")),
    ]
    assert found.total == Decimal("4.50") - Decimal("1.88")
    assert statement_of(merchant.pk, Month(2026, 11)).total == Decimal("-3.00")


def test_a_month_that_is_over_stays_as_it_was_whatever_a_network_does_later() -> None:
    merchant = make_merchant()
    september, october_, november = OCTOBER.plus(-1), OCTOBER, OCTOBER.plus(1)
    entry = charged(merchant, at=september.begins, voided_at=october())
    closed = [statement_of(merchant.pk, month) for month in (september, october_)]
    assert [one.total for one in closed] == [Decimal("0.38"), Decimal("-0.38")]
    unvoid(FeeKind.CHECKOUT, [entry.subject_id], now=november.begins)
    assert closed == [statement_of(merchant.pk, month) for month in (september, october_)]
    found = statement_of(merchant.pk, november)
    [line] = found.charged_again
    assert (line.charged_in, line.payments) == (september, 1)
    assert (found.total, line.fees) == (Decimal("0.38"), FEE)
    assert (found.charged, found.taken_back) == ([], [])


def test_many_small_payments_owe_what_they_owe_together() -> None:
    merchant = make_merchant()
    for number in range(100):
        charged(merchant, "0.01", at=october(1 + number % 28))
    found = statement_of(merchant.pk, OCTOBER)
    assert [line.fees for line in found.charged] == [Decimal("0.015")]
    [listed] = month_totals(merchant.pk, [OCTOBER])
    assert found.total == listed.total == Decimal("0.02")


def test_months_in_a_list_have_the_totals_of_their_statements() -> None:
    merchant = make_merchant()
    charged(merchant, at=OCTOBER.begins - MOMENT, voided_at=october())
    charged(merchant, at=OCTOBER.ends)
    months = [Month(2026, 11), OCTOBER, Month(2026, 9), Month(2026, 8)]
    totals = month_totals(merchant.pk, months)
    assert [found.month for found in totals] == months
    assert [found.total for found in totals] == [statement_of(merchant.pk, month).total for month in months]
    assert [found.payments for found in totals] == [1, 0, 1, 0]
    assert month_totals(merchant.pk, []) == []


def test_every_fee_is_walked_once_in_turns_and_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "CHUNK_ROWS", 3)
    merchant = make_merchant()
    # Seven of one moment, as a batch writes them, and three that are taken back at another.
    for number in range(10):
        voided_at = october(20) if number > 6 else None
        charged(merchant, at=october(1 + number // 7), voided_at=voided_at)
    walked = list(bookings(merchant.pk, OCTOBER))
    assert [found.subject_id for found in walked] == _all(merchant) + _all(merchant)[7:]
    assert [found.number for found in walked] == 10 * [0] + 3 * [1]
    total = sum(found.amount for found in walked)
    assert total == 7 * FEE
    assert statement_of(merchant.pk, OCTOBER).total == Decimal("2.63")


def _all(merchant: Merchant) -> list[str]:
    found = FeeEntry.objects.filter(merchant=merchant, number=0).order_by("pk")
    return list(found.values_list("subject_id", flat=True))


def test_sums_of_any_length_are_exact() -> None:
    merchant = make_merchant()
    large = f"{10**40}.000000"
    charged(merchant, large, at=october())
    charged(merchant, "1.00", at=october(), chain="polygon")
    total = statement_of(merchant.pk, OCTOBER).total
    assert total == Decimal(f"{15 * 10**37}.02")
