"""An address has one place on the waitlist, however many ask at once."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest
from django.db import IntegrityError, connection, connections

from accounts.models import FiatInterest
from accounts.states import Mode
from accounts.waitlist.service import Interest, keep_interest
from tests.contract.client import ApiClient
from tests.factories import NOON

AT_ONCE = 16


def places_after_sixteen_at_once(client: ApiClient) -> list[bool]:
    """Ask for one place over sixteen connections, and return who got a new one."""
    assert client.merchant is not None
    interest = Interest("ines@halden.example", "", "", None)
    keep = partial(keep_interest, client.merchant.pk, Mode.LIVE, interest, now=NOON)
    start = Barrier(AT_ONCE)

    def work(_: int) -> bool:
        start.wait()
        try:
            return keep()[1]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(work, range(AT_ONCE)))


@pytest.mark.concurrency
@pytest.mark.django_db(transaction=True)
def test_of_sixteen_at_once_one_gets_the_place(shop: ApiClient) -> None:
    told = Counter(places_after_sixteen_at_once(shop))
    assert told == {True: 1, False: AT_ONCE - 1}
    assert FiatInterest.objects.count() == 1


@pytest.mark.django_db
def test_without_its_constraint_an_address_would_have_two_places(shop: ApiClient) -> None:
    """The negative control: nothing but the constraint refuses the second row."""
    row = {"merchant": shop.merchant, "mode": Mode.LIVE, "created_at": NOON}
    FiatInterest.objects.create(email="ines@halden.example", **row)
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX fiat_interest_once")
    FiatInterest.objects.create(email="INES@halden.example", **row)
    assert FiatInterest.objects.count() == 2


@pytest.mark.django_db
def test_the_database_refuses_a_second_place_for_an_address(shop: ApiClient) -> None:
    row = {"merchant": shop.merchant, "mode": Mode.LIVE, "created_at": NOON}
    FiatInterest.objects.create(email="ines@halden.example", **row)
    with pytest.raises(IntegrityError, match="fiat_interest_once"):
        FiatInterest.objects.create(email="INES@halden.example", **row)
