"""Strangers who open payment links take half of a price's exact amounts at most."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.exact.exhaustion import is_exhausted
from checkouts.exact.reservations import choose_exact_amount
from checkouts.exact_amounts import CAPACITY, KEPT_FROM_LINKS
from checkouts.models import AmountReservation, Checkout
from checkouts.states import CheckoutStatus
from gateway.core.api.errors import ConflictError
from tests.checkouts.crowds import PRICE, make_exact_checkout, make_holders
from tests.factories import NOON

pytestmark = pytest.mark.django_db

SOON = NOON + timedelta(minutes=1)
HOUR = timedelta(hours=1)
KEPT = set(KEPT_FROM_LINKS)
FOR_LINKS = sorted(set(range(1, CAPACITY + 1)) - KEPT)


def choose(checkout: Checkout) -> AmountReservation:
    return choose_exact_amount(checkout.pk, now=SOON)


def of_a_link(merchant: Merchant) -> Checkout:
    """A checkout that a stranger made by pressing Pay on a link."""
    checkout = make_exact_checkout(merchant)
    checkout.again_url = "https://pay.example/p/abc"
    checkout.save()
    return checkout


def refusal(checkout: Checkout) -> str | None:
    with pytest.raises(ConflictError) as caught:
        choose(checkout)
    return caught.value.code


def test_links_have_half_of_all_amounts_and_of_those_that_every_wallet_shows() -> None:
    assert len(FOR_LINKS) == CAPACITY // 2
    assert len([suffix for suffix in FOR_LINKS if suffix % 100 == 0]) == 99 // 2
    assert len([suffix for suffix in FOR_LINKS if suffix < 50]) == 49 // 2


def test_links_fill_their_half_and_leave_the_other_to_keys(merchant: Merchant) -> None:
    make_holders(merchant, FOR_LINKS[:-1])
    assert choose(of_a_link(merchant)).suffix == FOR_LINKS[-1]
    assert refusal(of_a_link(merchant)) == "capacity_exhausted"
    assert choose(make_exact_checkout(merchant)).suffix in KEPT


def test_links_that_ran_short_are_noted_for_links_alone(merchant: Merchant) -> None:
    make_holders(merchant, FOR_LINKS)
    refusal(of_a_link(merchant))
    about = (merchant.pk, Mode.LIVE, PRICE)
    assert is_exhausted(*about, now=SOON, for_links=True)
    assert not is_exhausted(*about, now=SOON)
    other = (merchant.pk, Mode.LIVE, Decimal("25.01"))
    assert not is_exhausted(*other, now=SOON, for_links=True)


def test_what_keys_ran_out_of_links_have_not_either(merchant: Merchant) -> None:
    make_holders(merchant, range(1, CAPACITY + 1))
    assert refusal(make_exact_checkout(merchant)) == "capacity_exhausted"
    assert is_exhausted(merchant.pk, Mode.LIVE, PRICE, now=SOON, for_links=True)


def test_a_link_that_runs_short_takes_back_nothing_of_the_keys_half(merchant: Merchant) -> None:
    ended = CheckoutStatus.EXPIRED
    mine, theirs = FOR_LINKS[-1], KEPT_FROM_LINKS[0]
    make_holders(merchant, FOR_LINKS[:-1])
    make_holders(merchant, [theirs], status=ended, expires_at=NOON - 26 * HOUR)
    make_holders(merchant, [mine], status=ended, expires_at=NOON - 25 * HOUR)
    assert choose(of_a_link(merchant)).suffix == mine
    held = AmountReservation.objects.get(suffix=theirs)
    assert held.released_at is None
