"""Finding whom money may be meant for: by index, however many checkouts are open."""

import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection

from checkouts.attribution import candidates
from checkouts.attribution.candidates import Arrival, Surroundings
from checkouts.attribution.deposit_rules import TransferFacts
from checkouts.models import InboxItem, Payment
from checkouts.states import CheckoutStatus
from tests.checkouts.arrivals import Till, ago, exact, reserve
from tests.checkouts.crowds import make_crowd, make_holders
from tests.checkouts.factories import EXACT_OFFERS
from tests.checkouts.watcher import DOLLAR, SOON, attribute
from tests.factories import NOON, make_merchant, make_wallet

pytestmark = pytest.mark.django_db

SPAN = timedelta(minutes=30)
WALLET = EXACT_OFFERS["ethereum"]["wallet"]


def arrival(till: Till, units: int, **changes: Any) -> Arrival:
    facts: dict[str, Any] = {
        "chain": "ethereum",
        "token": "USDC",
        "accepted": True,
        "units": units,
        "block_time": SOON,
        "recipient": till.wallets["ethereum"].address,
    }
    return Arrival(1, till.merchant.pk, "live", TransferFacts(**(facts | changes)))


def found(till: Till, units: int, **changes: Any) -> set[int]:
    """The checkouts found around a transfer."""
    around = Surroundings([arrival(till, units, **changes)], rival_span=SPAN)
    return {candidate.pk for candidate in around.known(1).candidates}


@pytest.mark.parametrize(
    ("price", "units", "expected"),
    [
        ("25.00", 24_750_000, True),
        ("25.00", 25_250_000, True),
        ("25.00", 24_700_000, False),
        ("25.00", 25_300_000, False),
        ("1.00", 950_000, True),
        ("1.00", 1_050_000, True),
        ("0.10", 50_000, True),
        ("1000000.00", 990_000_000_000, True),
        ("1000000.00", 1_010_000_000_000, True),
    ],
)
def test_every_price_within_tolerance_is_found_and_no_far_one(till, price, units, expected):
    checkout = till.checkout(price)
    assert (checkout.pk in found(till, units)) is expected


def test_what_a_partly_paid_checkout_still_needs_is_found(till):
    checkout = till.checkout(status=CheckoutStatus.UNDERPAID, amount_received=Decimal("10.003700"))
    assert found(till, 15 * DOLLAR) == {checkout.pk}
    expired = till.checkout(status=CheckoutStatus.EXPIRED, amount_received=Decimal("10.003700"), **ago(10))
    assert found(till, 15 * DOLLAR) == {checkout.pk, expired.pk}


def test_digits_find_all_that_ask_for_money_and_rivals_with_these_digits(till):
    wanted = till.checkout(suffix=3_700)
    rival = till.checkout("30.00", suffix=3_700, status=CheckoutStatus.EXPIRED, **ago(10))
    till.checkout(suffix=200)
    cheaper = till.checkout("15.00", suffix=3_700)
    till.checkout("40.00", suffix=3_700, status=CheckoutStatus.COMPLETED)
    till.checkout("50.00", suffix=3_700, status=CheckoutStatus.PROCESSING)
    assert found(till, 20_003_700) == {wanted.pk, rival.pk, cheaper.pk}


def test_neither_other_merchants_nor_the_other_mode_are_looked_at(till):
    Till(make_merchant()).checkout(suffix=3_700)
    till.checkout(suffix=3_700, mode="test")
    assert found(till, 25_003_700) == found(till, 25 * DOLLAR) == set()


def test_who_expired_long_ago_is_not_looked_at(till):
    till.checkout(suffix=100, status=CheckoutStatus.EXPIRED, **ago(31))
    assert found(till, 25 * DOLLAR) == set()


def test_the_last_holder_of_an_amount_is_known_when_nobody_holds_it(till):
    older, old = (till.checkout(status=CheckoutStatus.EXPIRED, **ago(minutes)) for minutes in (20_000, 10_000))
    for checkout in (older, old):
        reserve(checkout, 4_200, released_at=SOON)
    around = Surroundings([arrival(till, 25_004_200)], rival_span=SPAN)
    former = around.known(1).former
    assert former is not None
    assert former.pk == old.pk


@pytest.fixture
def crowd() -> Till:
    """Twenty thousand live checkouts at twenty prices of one merchant, and some history of itself and others."""
    till = Till()
    till.wallets["ethereum"] = make_wallet(make_merchant(), "ethereum", WALLET)
    till.wallets["ethereum"].merchant = till.merchant
    for step in range(20):
        price = Decimal(25 + step)
        make_holders(till.merchant, range(1, 9_001, 9), price=price)
        make_crowd(till.merchant, 100, price=price, status=CheckoutStatus.EXPIRED, expires_at=NOON - SPAN * 3)
    make_holders(make_merchant(), range(1, 5_001))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE checkouts_checkout, checkouts_amountreservation")
    return till


def plans(monkeypatch: pytest.MonkeyPatch, till: Till) -> Iterator[str]:
    """The plans of every statement that a transfer which nothing names leads to."""
    asked: list[tuple[str, Any]] = []
    real = candidates._rows

    def rows(statement: str, parameters: Any) -> Any:
        asked.append((statement, parameters))
        return real(statement, parameters)

    monkeypatch.setattr(candidates, "_rows", rows)
    labels = ("0123456789abcdef", "1" * 32)
    Surroundings([arrival(till, 24_500_010, labels=labels)], rival_span=SPAN)
    with connection.cursor() as cursor:
        for statement, parameters in asked:
            cursor.execute("EXPLAIN " + statement, parameters)
            yield "\n".join(line for (line,) in cursor)


def test_every_question_is_answered_from_an_index(monkeypatch, crowd):
    told = "\n".join(plans(monkeypatch, crowd))
    assert "Seq Scan on checkouts" not in told
    for index in (
        "exact_amount_of_one_checkout",
        "reservation_released",
        "reservation_by_suffix",
        "checkout_live_by_amount",
        "checkout_partly_paid",
        "checkout_expired_lately",
    ):
        assert index in told, told


@pytest.mark.slow
@pytest.mark.unmeasured
def test_two_hundred_payments_among_twenty_thousand_open_checkouts_take_a_moment(crowd, capsys):
    """Round ones, shortened ones, short ones: what the exact amount does not decide."""
    for number in range(200):
        price = (25 + number % 20) * DOLLAR
        crowd.sees(price + (0, 3_000, -1_500_000 + 10)[number % 3])
    started = time.perf_counter()
    assert attribute() == 200
    took = time.perf_counter() - started
    with capsys.disabled():
        sys.stdout.write(f"\n{took * 5:.1f} ms a transfer among 20,000 open checkouts\n")
    assert InboxItem.objects.count() + Payment.objects.count() == 200
    assert took < 60


@pytest.mark.slow
def test_exact_payments_among_twenty_thousand_open_checkouts(crowd, capsys):
    wanted = [crowd.checkout(Decimal(100 + n), suffix=100) for n in range(200)]
    transfers = [crowd.sees(exact(checkout)) for checkout in wanted]
    started = time.perf_counter()
    assert attribute() == 200
    took = time.perf_counter() - started
    with capsys.disabled():
        sys.stdout.write(f"\n{took * 5:.1f} ms an exact transfer\n")
    paid = dict(Payment.objects.values_list("transfer_id", "checkout_id"))
    assert paid == {t.pk: c.pk for t, c in zip(transfers, wanted, strict=True)}
