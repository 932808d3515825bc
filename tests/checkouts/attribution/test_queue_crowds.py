"""One merchant's rush: it must neither hold up the others nor keep locks for long."""

import sys
import time
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection

from checkouts.attribution import candidates, decisions, queue
from checkouts.attribution.exact_rules import MOST_CANDIDATES
from checkouts.models import Checkout, InboxItem
from checkouts.states import InboxReason
from tests.checkouts.arrivals import Till, exact, inbox_item, payer_of
from tests.checkouts.crowds import hold, make_crowd
from tests.checkouts.factories import EXACT_OFFERS
from tests.checkouts.watcher import DOLLAR, attribute
from tests.factories import NOON, make_merchant, make_wallet

pytestmark = pytest.mark.django_db

# Times the longest transaction for as many payments to few checkouts, in the same run: a busy machine slows both down. A rush
# takes the time for looking around besides, whatever the machine.
MOST_TIMES_CALM = 8


def rush(count: int, *, held: int) -> Till:
    """So many live checkouts of one price, some of which hold an exact amount."""
    till = Till(make_merchant())
    wallet = make_wallet(make_merchant(), "ethereum", EXACT_OFFERS["ethereum"]["wallet"])
    wallet.merchant = till.merchant
    till.wallets["ethereum"] = wallet
    crowd = make_crowd(till.merchant, count)
    hold(crowd[:held], range(100, 100 + held))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE checkouts_checkout, checkouts_amountreservation")
    return till


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each transaction of the queue's consumer took, in seconds."""
    took: list[float] = []
    real = queue._attribute

    def measured(*args: Any, **kwargs: Any) -> int:
        started = time.perf_counter()
        try:
            return real(*args, **kwargs)
        finally:
            took.append(time.perf_counter() - started)

    monkeypatch.setattr(queue, "_attribute", measured)
    return took


@pytest.mark.parametrize("step", [0, 97])
@pytest.mark.parametrize("size", [1_000, 5_000])
def test_a_rush_at_one_price_keeps_no_other_merchant_waiting(batches, capsys, size, step):
    """Round payments, and amounts each of which is another."""
    calm = Till(make_merchant())
    make_crowd(calm.merchant, 10)
    for number in range(500):
        calm.sees(25 * DOLLAR + step * (number - 250))
    attribute()
    longest_calm = max(batches)
    till, longest = rush(size, held=900), []
    # Three, because something else may hold up the machine during one.
    for _ in range(3):
        batches.clear()
        for number in range(500):
            till.sees(25 * DOLLAR + step * (number - 250))
        quiet = Till(make_merchant())
        wanted = quiet.checkout(Decimal("40.00"), suffix=100)
        transfer = quiet.sees(exact(wanted))
        assert attribute() == 501
        longest.append(max(batches))
        assert payer_of(transfer) == wanted
        assert InboxItem.objects.filter(merchant=till.merchant).count() > 200
    with capsys.disabled():
        times = ", ".join(f"{seconds:.2f}" for seconds in longest)
        sys.stdout.write(
            f"\nthe longest batches of 501 transfers among {size:,} checkouts of their price: {times} s;"
            f" {longest_calm:.2f} s among ten\n"
        )
    most = MOST_TIMES_CALM * longest_calm + 2 * decisions._LOOKING_SECONDS
    assert min(longest) < most


def test_those_who_wait_for_a_chain_to_be_read_are_passed_over_by_an_index(monkeypatch):
    till = rush(10, held=0)
    make_crowd(till.merchant, 20_000, expires_at=NOON - timedelta(hours=2))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE checkouts_checkout")
    asked: dict[str, Any] = {}
    real = candidates._rows

    def rows(statement: str, parameters: Any) -> Any:
        asked[statement] = parameters
        return real(statement, parameters)

    monkeypatch.setattr(candidates, "_rows", rows)
    till.sees()
    attribute()
    assert "expires_at >=" in condition_of("checkout_live_by_amount", candidates._PRICED, asked[candidates._PRICED])


def condition_of(index: str, statement: str, parameters: Any) -> str:
    """By what the database looks into an index to answer a question."""
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN " + statement, parameters)
        plan: list[str] = [line for (line,) in cursor]
    place = next(number for number, line in enumerate(plan) if index in line)
    return plan[place + 1]


def test_when_time_is_up_the_rest_stays_in_the_queue(monkeypatch, batches):
    monkeypatch.setattr(decisions, "_LOOKING_SECONDS", 0)
    till = Till()
    wanted = [till.checkout(suffix=100 * number) for number in range(1, 61)]
    transfers = [till.sees(exact(checkout)) for checkout in wanted]
    assert attribute() == 60
    assert [payer_of(transfer) for transfer in transfers] == wanted
    assert len(batches) == 4


@pytest.fixture
def crowd() -> Till:
    """More checkouts of 25 USD, each with an exact amount, than are looked at."""
    till = rush(MOST_CANDIDATES + 50, held=0)
    ids = list(Checkout.objects.values_list("pk", flat=True).order_by("pk"))
    hold(ids, range(1_001, 1_001 + len(ids)))
    return till


def judged(till: Till, units: int) -> Checkout | str:
    """Whose the money is, or why it is nobody's."""
    transfer = till.sees(units)
    attribute()
    return payer_of(transfer) or inbox_item(transfer).reason


def test_the_only_one_of_a_price_is_found_beside_a_crowd(crowd):
    assert judged(crowd, 25_010_000) == InboxReason.AMBIGUOUS
    wanted = crowd.checkout("25.01", suffix=8_000)
    assert judged(crowd, 25_010_000) == wanted


def test_digits_that_a_wallet_cut_are_found_in_a_crowd(crowd):
    wanted = crowd.checkout(suffix=8_012)
    assert judged(crowd, 25_008_000) == wanted
    assert judged(crowd, 25_001_000) == InboxReason.AMBIGUOUS


def test_nobody_is_the_only_one_near_a_crowd(crowd):
    assert judged(crowd, 25_100_000) == InboxReason.AMBIGUOUS
    assert judged(crowd, 25_000_070) == InboxReason.AMBIGUOUS


def test_a_crowd_that_hides_somebody_makes_a_near_price_doubtful(crowd):
    """None of them can be paid where the money is, and the one who can may not be the only one."""
    Checkout.objects.update(offers={})
    crowd.checkout(suffix=8_012)
    assert judged(crowd, 25_100_000) == InboxReason.AMBIGUOUS


def test_of_very_many_that_are_alike_nobody_is_credited(crowd):
    Checkout.objects.update(customer_ref="ada", product_ref="beans|1kg")
    assert judged(crowd, 25_000_000) == InboxReason.AMBIGUOUS
