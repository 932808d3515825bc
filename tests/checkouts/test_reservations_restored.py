"""After a restore no exact amount is given that a lost checkout may have."""

from datetime import timedelta

import pytest

from accounts.models import Merchant
from checkouts.amounts import GIVEN_BEFORE_RESTORES, KEPT_FOR_RESTORES, KEPT_FROM_LINKS
from checkouts.models import AmountReservation
from checkouts.reservations import choose_exact_amount
from gateway.core.api.errors import ConflictError
from gateway.core.restores import Restore
from tests.checkouts.crowds import make_exact_checkout, make_holders
from tests.factories import NOON

pytestmark = pytest.mark.django_db

SOON = NOON + timedelta(minutes=1)
KEPT = set(KEPT_FOR_RESTORES)


def give(merchant: Merchant, count: int = 1) -> set[int]:
    """The suffixes that so many new checkouts get."""
    return {choose_exact_amount(make_exact_checkout(merchant).pk, now=SOON).suffix for _ in range(count)}


def restored(minutes: int = 10, days: int = 4) -> None:
    """The database lost the last minutes."""
    Restore.objects.create(
        lost_from=SOON - timedelta(minutes=minutes), restored_at=SOON, amounts_until=SOON + timedelta(days=days)
    )


def test_every_suffix_is_either_kept_for_restores_or_given_before() -> None:
    assert KEPT.isdisjoint(GIVEN_BEFORE_RESTORES)
    assert len(KEPT) + len(GIVEN_BEFORE_RESTORES) == 9_999
    of_links = len(KEPT - set(KEPT_FROM_LINKS))
    assert abs(of_links - len(KEPT) / 2) < 20


def test_what_may_have_been_given_is_not_given_again(merchant: Merchant) -> None:
    lost = give(merchant, 20)
    AmountReservation.objects.all().delete()
    restored()
    again = give(merchant, 60)
    assert len(again) == 60
    assert again <= KEPT
    assert lost.isdisjoint(again)


def test_without_the_restore_a_lost_one_is_given_again(merchant: Merchant) -> None:
    # The control: a price that has one round suffix left gives it both times.
    make_holders(merchant, [s for s in GIVEN_BEFORE_RESTORES if s != 3_700])
    [lost] = give(merchant)
    AmountReservation.objects.filter(suffix=lost).delete()
    assert give(merchant) == {lost}
    AmountReservation.objects.filter(suffix=lost).delete()
    restored()
    assert lost not in give(merchant)


def test_they_are_given_again_once_lost_checkouts_are_over(merchant: Merchant) -> None:
    restored(days=-1)
    assert give(merchant) <= set(GIVEN_BEFORE_RESTORES)


def test_they_are_the_last_ones_of_a_full_price(merchant: Merchant) -> None:
    make_holders(merchant, GIVEN_BEFORE_RESTORES)
    assert give(merchant) <= KEPT


def test_after_two_restores_at_once_none_is_given(merchant: Merchant) -> None:
    restored(10)
    restored(20)
    with pytest.raises(ConflictError):
        give(merchant)
