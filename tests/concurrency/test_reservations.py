"""Thousands of buyers who choose an exact amount at one price at once."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import partial
from itertools import chain

import pytest
from django.db import connection

from accounts.models import Merchant
from accounts.states import Mode
from checkouts import reservations
from checkouts.amounts import CAPACITY
from checkouts.models import AmountReservation, Checkout
from checkouts.reservations import choose_exact_amount, release_amounts
from checkouts.states import CheckoutStatus
from gateway.core.api.errors import ConflictError
from tests.checkouts.crowds import PRICE, make_crowd, make_exact_checkout, make_holders
from tests.concurrency.races import behind, crew, deadlocks, holding, together
from tests.exhaustive import EXHAUSTIVE
from tests.factories import NOON

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

SOON = NOON + timedelta(minutes=1)
THREADS = 12
# Half a minute on two busy cores; more where others test too.
SECONDS = 300.0
NO_NEW_RESERVATIONS = "LOCK TABLE checkouts_amountreservation IN SHARE MODE"
CHOICES = CAPACITY + 1 if EXHAUSTIVE else 600


def choose_all(checkout_ids: Sequence[int]) -> list[int | str | None]:
    """The suffix each checkout got, or the code it was refused with."""
    return [_choose(pk) for pk in checkout_ids]


def _choose(checkout_id: int) -> int | str | None:
    try:
        return choose_exact_amount(checkout_id, now=SOON).suffix
    except ConflictError as error:
        return error.code


def race(checkout_ids: Sequence[int]) -> list[int | str | None]:
    """What all of them got, chosen by many threads at once."""
    with crew(THREADS) as threads:
        shares = [checkout_ids[n::THREADS] for n in range(THREADS)]
        futures = [threads.start(partial(choose_all, share)) for share in shares]
        return list(chain(*(future.result(SECONDS) for future in futures)))


@pytest.mark.slow
def test_choices_at_once_give_every_amount_once_and_then_a_clean_refusal(merchant: Merchant) -> None:
    broken, free = deadlocks(), range(CAPACITY - CHOICES + 2, CAPACITY + 1)
    make_holders(merchant, range(1, free.start), mode=Mode.TEST)
    got = race(make_crowd(merchant, CHOICES, mode=Mode.TEST))
    suffixes = [suffix for suffix in got if isinstance(suffix, int)]
    assert Counter(got)["capacity_exhausted"] == 1
    assert len(suffixes) == len(free)
    assert set(suffixes) == set(free)
    held = AmountReservation.objects.filter(price=PRICE, released_at=None)
    assert held.count() == CAPACITY
    assert deadlocks() == broken


def test_the_last_amounts_go_to_as_many_of_a_crowd(merchant: Merchant) -> None:
    make_holders(merchant, range(1, 9_980), mode=Mode.TEST)
    got = Counter(race(make_crowd(merchant, 60, mode=Mode.TEST)))
    assert got.pop("capacity_exhausted") == 40
    assert got == dict.fromkeys(range(9_980, 10_000), 1)


@pytest.fixture
def without_the_constraint() -> Iterator[None]:
    """Amounts may be given twice, as if the database promised nothing."""
    name = "exact_amount_of_one_checkout"
    definition = f"CREATE UNIQUE INDEX {name} ON checkouts_amountreservation (merchant_id, mode, price, suffix) WHERE released_at IS NULL"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX {name}")
        yield
        cursor.execute("DELETE FROM checkouts_amountreservation")
        cursor.execute(definition)


@pytest.mark.usefixtures("without_the_constraint")
def test_without_the_constraint_amounts_are_given_twice(merchant: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: all have seen the same amounts free, and draw the same one."""
    insert = reservations._INSERT
    unguarded = insert[: insert.index("ON CONFLICT")] + "RETURNING id"
    monkeypatch.setattr(reservations, "_INSERT", unguarded)
    monkeypatch.setattr("secrets.choice", min)
    crowd = make_crowd(merchant, THREADS, mode=Mode.TEST)
    got = set(behind(NO_NEW_RESERVATIONS, works=[partial(_choose, pk) for pk in crowd]))
    assert len(got) == 1


def test_choices_at_once_for_one_checkout_get_one_amount(merchant: Merchant) -> None:
    checkout = make_exact_checkout(merchant)
    got = together(*[lambda: _choose(checkout.pk)] * 16)
    assert len(set(got)) == 1
    assert AmountReservation.objects.count() == 1


LOCK = "SELECT FROM checkouts_checkout WHERE id = %s FOR UPDATE"


def move_while_a_choice_waits(checkout: Checkout, change: str) -> int | str | None:
    """What a choice gets that began while somebody held the checkout, who then changed it."""
    statement = f"WITH held AS ({LOCK}) UPDATE checkouts_checkout SET {change} WHERE id = %s"
    choice: int | str | None
    [choice] = behind(statement, checkout.pk, checkout.pk, works=[partial(_choose, checkout.pk)])
    return choice


def test_a_choice_waits_for_whoever_ends_the_checkout_and_gets_nothing(merchant: Merchant) -> None:
    checkout = make_exact_checkout(merchant)
    assert move_while_a_choice_waits(checkout, "status = 'expired'") == "state_conflict"
    assert AmountReservation.objects.count() == 0


def test_a_choice_waits_for_a_payment_and_gets_the_amount_of_the_rest(merchant: Merchant) -> None:
    checkout = make_exact_checkout(merchant)
    change = "status = 'underpaid', amount_received = 19.5"
    assert isinstance(move_while_a_choice_waits(checkout, change), int)
    assert AmountReservation.objects.get().price == Decimal("5.50")


def test_choices_of_different_checkouts_do_not_wait_for_each_other(merchant: Merchant) -> None:
    one, other = (make_exact_checkout(merchant) for _ in range(2))
    with holding(LOCK, one.pk):
        assert isinstance(_choose(other.pk), int)


def test_releasing_and_choosing_at_once_never_share_an_amount(merchant: Merchant) -> None:
    later = NOON + timedelta(hours=80)
    make_holders(merchant, range(1, 9_990), mode=Mode.TEST)
    make_holders(merchant, range(9_990, 10_000), mode=Mode.TEST, status=CheckoutStatus.EXPIRED)
    ids = make_crowd(merchant, 40, mode=Mode.TEST, expires_at=later)
    Checkout.objects.filter(pk__in=ids).update(expires_at=later + timedelta(hours=1))

    def choose_later(pk: int) -> int | str | None:
        try:
            return choose_exact_amount(pk, now=later).suffix
        except ConflictError as error:
            return error.code

    together(
        *[lambda: release_amounts(now=later)] * 3,
        *[lambda share=ids[n::8]: [choose_later(pk) for pk in share] for n in range(8)],
    )
    held = AmountReservation.objects.filter(released_at=None)
    assert held.count() == held.values("suffix").distinct().count() == CAPACITY
    assert held.filter(checkout__status="expired").count() == 0
