"""A part payment by exact amount is followed by the rest: two parts at once, and several who ask for one rest at once."""

from collections.abc import Iterator
from decimal import Decimal
from functools import partial

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.models import Merchant
from checkouts.attribution import queue
from checkouts.models import AmountReservation, Checkout
from checkouts.reservations import choose_exact_amount, reserve_rest
from checkouts.selectors import reserved_amount
from tests.checkouts.crowds import make_exact_checkout
from tests.checkouts.factories import EXACT_OFFERS
from tests.checkouts.watcher import DOLLAR, SOON, Watcher, fresh
from tests.concurrency.races import behind, together
from tests.concurrency.test_attribution import LOCK_CHECKOUT, meet_after_reading, no_lock
from tests.concurrency.test_reservations import NO_NEW_RESERVATIONS
from tests.factories import make_checkout
from wallets.models import Transfer

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

ASKERS = 4


def two_parts() -> Checkout:
    """A checkout of 25 USD whose buyer chose an exact amount, and then sent 5 and 7 to its address: both are on the queue."""
    checkout, watcher = make_checkout(), Watcher()
    checkout.offers |= EXACT_OFFERS
    checkout.save(update_fields=["offers"])
    choose_exact_amount(checkout.pk, now=SOON)
    for share in (5, 7):
        watcher.sees(checkout, share * DOLLAR)
    watcher.confirms()
    return checkout


def one_part() -> int:
    return queue._attribute(Transfer.objects.queued()[:1], now=SOON)


def asked_for(checkout: Checkout) -> Decimal | None:
    """The price of which the page asks for an exact amount now."""
    held = reserved_amount(fresh(checkout), now=SOON)
    return held.price if held else None


def test_after_two_parts_at_once_the_page_asks_for_what_is_left_of_both() -> None:
    checkout = two_parts()
    assert behind(LOCK_CHECKOUT, checkout.pk, works=[one_part] * 2) == [1, 1]
    assert (fresh(checkout).amount_received, asked_for(checkout)) == (12, 13)


def test_without_the_checkouts_lock_the_buyer_would_be_asked_for_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control of the test above."""
    checkout = two_parts()
    no_lock(monkeypatch)
    meet_after_reading(monkeypatch)
    together(*[one_part] * 2)
    assert asked_for(checkout) in {20, 18}


def part_paid(merchant: Merchant) -> Checkout:
    """A checkout of 25 USD by exact amounts that received 20, and has no amount for the rest yet."""
    checkout = make_exact_checkout(merchant)
    choose_exact_amount(checkout.pk, now=SOON)
    Checkout.objects.filter(pk=checkout.pk).update(status="underpaid", amount_received=20)
    return checkout


def ask(checkout: Checkout) -> bool:
    """Ask for the rest, as whoever credits a part does; whether that worked."""
    try:
        with transaction.atomic():
            reserve_rest([Checkout.objects.locked().get(pk=checkout.pk)], now=SOON)
    except IntegrityError:
        return False
    return True


def rests(checkout: Checkout) -> int:
    """How many amounts are held for the rest."""
    return AmountReservation.objects.filter(checkout=checkout, price=5, released_at=None).count()


def test_several_who_ask_for_one_rest_at_once_hold_one_amount(merchant: Merchant) -> None:
    checkout = part_paid(merchant)
    buyer = partial(choose_exact_amount, checkout.pk, now=SOON)
    together(buyer, *[partial(ask, checkout)] * ASKERS)
    assert rests(checkout) == 1


def all_who_looked_before_any_wrote(checkout: Checkout) -> list[bool]:
    return sorted(behind(NO_NEW_RESERVATIONS, works=[partial(ask, checkout)] * ASKERS))


def test_without_the_checkouts_lock_the_key_still_holds_one_rest(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = part_paid(merchant)
    no_lock(monkeypatch)
    assert all_who_looked_before_any_wrote(checkout) == [*[False] * (ASKERS - 1), True]
    assert rests(checkout) == 1


@pytest.fixture
def without_the_key() -> Iterator[None]:
    """A checkout may hold several amounts at a price, as if the database promised nothing."""
    [key] = [one for one in AmountReservation._meta.constraints if one.name == "one_reservation_per_price"]
    with connection.schema_editor() as editor:
        editor.remove_constraint(AmountReservation, key)
    yield
    AmountReservation.objects.all().delete()
    with connection.schema_editor() as editor:
        editor.add_constraint(AmountReservation, key)


@pytest.mark.usefixtures("without_the_key")
def test_without_the_lock_and_the_constraint_several_rests_would_be_held(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of both tests above."""
    checkout = part_paid(merchant)
    no_lock(monkeypatch)
    assert all_who_looked_before_any_wrote(checkout) == [True] * ASKERS
    assert rests(checkout) == ASKERS
