"""How many exact amounts of a price are left."""

import secrets
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts.states import Role
from checkouts.dashboard.capacity import LINK_CAPACITY, PARITY, Capacity
from checkouts.exact_amounts import CAPACITY, KEPT_FROM_LINKS
from checkouts.models import AmountReservation, Checkout
from tests.dashboard.people import Desk, make_desk
from tests.factories import make_checkout

pytestmark = pytest.mark.django_db


def reservation_of(checkout: Checkout, suffix: int, **overrides: Any) -> Any:
    values = {
        "checkout": checkout,
        "merchant": checkout.merchant,
        "mode": checkout.mode,
        "price": Decimal("25.00"),
        "suffix": suffix,
        "reference": secrets.token_bytes(32),
        "memo": secrets.token_hex(8),
        "reserved_at": checkout.created_at,
    }
    return AmountReservation(**values | overrides)


def reserve_many(desk: Desk, many: int) -> None:
    """Hold so many exact amounts of 25.00 USD."""
    checkouts = [make_checkout(desk.merchant) for _ in range(many)]
    AmountReservation.objects.bulk_create(
        reservation_of(checkout, number) for number, checkout in enumerate(checkouts, start=1)
    )


def test_the_meter_and_the_reservations_keep_the_same_amounts_from_links(owner: Desk) -> None:
    checkout = make_checkout(owner.merchant)
    suffixes = {*range(1, 202), *range(9_900, CAPACITY + 1)}
    AmountReservation.objects.bulk_create(
        reservation_of(checkout, suffix, released_at=timezone.now()) for suffix in suffixes
    )
    odd = AmountReservation.objects.alias(parity=PARITY).filter(parity=1)
    assert set(odd.values_list("suffix", flat=True)) == suffixes & {*KEPT_FROM_LINKS}


@pytest.mark.parametrize(
    ("left", "left_for_links", "is_short"),
    [(2_001, 1_001, False), (2_000, 1_001, True), (9_000, 1_000, True), (0, 0, True)],
)
def test_a_fifth_of_all_or_of_what_links_may_have_is_little(left: int, left_for_links: int, is_short: bool) -> None:
    found = Capacity("25.00", CAPACITY - left, left, left_for_links)
    assert found.is_short is is_short


def test_the_meter_shows_what_is_left_of_a_price_and_warns_before_it_runs_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = make_desk(role=Role.VIEWER)
    assert "Exact amounts" not in desk.get("dashboard_overview").text
    reserve_many(desk, 3)
    reserve_many(make_desk(), 5)
    page = desk.get("dashboard_overview")
    [found] = page.context["capacities"]
    # 2 is of the half that links may have.
    assert found == ("25.00", 3, 9_996, LINK_CAPACITY - 1)
    assert "9,996 of 9,999" in page.text
    assert "are left" not in page.text
    monkeypatch.setattr("checkouts.dashboard.capacity.SHORT_FROM", 3)
    page = desk.get("dashboard_overview")
    assert "9,996 exact amounts of 25.00 USD are left" in page.text
    assert "Running short" in page.text
    AmountReservation.objects.update(released_at=timezone.now())
    assert not desk.get("dashboard_overview").context["capacities"]
