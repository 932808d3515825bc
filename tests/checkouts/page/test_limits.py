"""Nobody may take all the good digits of a price: how many exact amounts one client may reserve of a merchant's."""

from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.utils import timezone

from accounts.models import Merchant
from checkouts.models import AmountReservation, Checkout
from checkouts.page.limits import count_exact_choice
from tests.checkouts.factories import make_exact_checkout
from tests.factories import make_merchant

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]


def choose(client: Client, checkout: Checkout, chain: str = "tron", **options: Any) -> int:
    """The status that a choice is answered with."""
    answer = client.post(f"/c/{checkout.code}/choose", {"chain": chain}, **options)
    return int(answer.status_code)


def test_twenty_checkouts_a_minute_get_their_amounts_and_the_next_one_waits(
    client: Client, merchant: Merchant, time_machine: Any
) -> None:
    now = timezone.now().replace(minute=10, second=30)
    time_machine.move_to(now, tick=False)
    checkouts = [make_exact_checkout(merchant=merchant) for _ in range(21)]
    statuses = [choose(client, checkout) for checkout in checkouts]
    assert statuses == [303] * 20 + [429]
    assert AmountReservation.objects.count() == 20
    assert choose(client, checkouts[0]) == 303
    assert choose(client, checkouts[-1], chain="base") == 303
    assert choose(client, checkouts[-1], REMOTE_ADDR="192.0.2.9") == 303
    assert choose(client, make_exact_checkout(merchant=make_merchant())) == 303
    time_machine.shift(60)
    assert choose(client, make_exact_checkout(merchant=merchant)) == 303


def test_a_hundred_an_hour_get_their_amounts(
    client: Client, merchant: Merchant, rf: RequestFactory, time_machine: Any
) -> None:
    time_machine.move_to(timezone.now().replace(minute=0, second=1), tick=False)
    for count in range(99):
        if count and count % 20 == 0:
            time_machine.shift(60)
        count_exact_choice(rf.post("/"), merchant.pk)
    time_machine.shift(60)
    last = [make_exact_checkout(merchant=merchant) for _ in range(2)]
    assert [choose(client, checkout) for checkout in last] == [303, 429]


def test_who_goes_back_and_forth_on_one_page_takes_one_amount_and_is_counted_once(
    client: Client, merchant: Merchant
) -> None:
    first = make_exact_checkout(merchant=merchant)
    chains = ["tron", "ton", "solana", "ethereum"] * 10
    assert {choose(client, first, chain) for chain in chains} == {303}
    others = [make_exact_checkout(merchant=merchant) for _ in range(19)]
    assert {choose(client, checkout) for checkout in others} == {303}
