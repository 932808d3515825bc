"""Waiting for card payments: one place per address, and every field read strictly."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from django.db import IntegrityError, connection, connections

from accounts.models import FiatInterest
from accounts.states import Mode
from accounts.waitlist import api
from accounts.waitlist.service import keep_interest
from gateway.core.api.errors import InvalidRequestError
from tests.contract.client import Answer, ApiClient, client_of
from tests.factories import NOON

ASKED = {"email": "Ines@Halden.example", "company": "Halden Roasters", "country": "DE", "monthly_volume": "50000"}


def join(client: ApiClient, **changes: Any) -> Answer:
    return client.post("/waitlist/fiat", ASKED | changes)


@pytest.mark.django_db
def test_a_place_is_kept_as_it_was_asked_for(shop: ApiClient) -> None:
    answer = join(shop)
    assert answer.status == 201
    kept = FiatInterest.objects.get()
    assert kept.merchant == shop.merchant
    assert answer.body == {
        "id": kept.public_id,
        "email": "Ines@halden.example",
        "company": "Halden Roasters",
        "country": "DE",
        "monthly_volume": "50000.00",
        "livemode": True,
        "created_at": answer.body["created_at"],
    }


@pytest.mark.django_db
def test_an_address_is_all_that_is_needed(shop: ApiClient) -> None:
    answer = shop.post("/waitlist/fiat", {"email": " ines@halden.example "})
    assert answer.status == 201
    assert answer.body["email"] == "ines@halden.example"
    said = [answer.body[name] for name in ("company", "country", "monthly_volume")]
    assert said == [None, None, None]


@pytest.mark.django_db
def test_a_repeat_finds_what_was_said_first_whatever_its_capitals(shop: ApiClient) -> None:
    first = join(shop)
    again = join(shop, email="INES@halden.EXAMPLE", company="Another", country=None)
    assert (again.status, again.body) == (200, first.body)
    assert FiatInterest.objects.count() == 1


@pytest.mark.django_db
def test_merchants_and_modes_have_lists_of_their_own(shop: ApiClient) -> None:
    clients = [shop, client_of(shop.merchant, Mode.TEST), client_of(mode=Mode.LIVE)]
    answers = [join(client) for client in clients]
    assert [answer.status for answer in answers] == [201, 201, 201]
    assert [answer.body["livemode"] for answer in answers] == [True, False, True]


@pytest.mark.django_db
def test_whoever_is_not_understood_gets_no_place(shop: ApiClient) -> None:
    assert join(shop, email="nobody").refusal == (400, "parameter_invalid", "email")
    assert not FiatInterest.objects.exists()


@pytest.mark.django_db
def test_the_largest_volume_that_is_read_can_be_kept(shop: ApiClient) -> None:
    volume = "9" * 15 + ".99"
    assert join(shop, monthly_volume=volume).body["monthly_volume"] == volume


@pytest.mark.django_db
@pytest.mark.usefixtures("still_clock")
def test_the_eleventh_request_of_a_minute_is_refused(shop: ApiClient) -> None:
    statuses = [join(shop).status for _ in range(11)]
    assert statuses == [201, *[200] * 9, 429]


# An address has one place on the waitlist, however many ask at once.


AT_ONCE = 16


def places_after_sixteen_at_once(client: ApiClient) -> list[bool]:
    """Ask for one place over sixteen connections, and return who got a new one."""
    assert client.merchant is not None
    interest = {"email": "ines@halden.example"}
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


# Reading what somebody says who would take cards.


def test_an_address_is_enough_and_its_host_has_no_capitals() -> None:
    interest = {"email": "Ana@halden.example", "company": "", "country": "", "monthly_volume": None}
    assert api.NewFiatInterest.read({"email": " Ana@HALDEN.example "}) == interest


def test_a_volume_has_no_limit() -> None:
    body = {"email": "a@b.example", "monthly_volume": "99000000"}
    assert api.NewFiatInterest.read(body)["monthly_volume"] == Decimal(99_000_000)


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("email", None, "parameter_missing"),
        ("email", "  ", "parameter_missing"),
        ("email", "nobody", "parameter_invalid"),
        ("email", "a@b", "parameter_invalid"),
        ("email", "a@b.example\nBcc: c@d.example", "parameter_invalid"),
        ("email", "a\x00@b.example", "parameter_invalid"),
        ("email", 5, "parameter_invalid"),
        ("email", "a" * 250 + "@b.example", "parameter_too_long"),
        ("company", ["Halden"], "parameter_invalid"),
        ("company", "x" * 121, "parameter_too_long"),
        ("country", "x" * 81, "parameter_too_long"),
        ("monthly_volume", 50000, "amount_not_string"),
        ("monthly_volume", "1e5", "amount_invalid"),
        ("monthly_volume", "-5", "amount_invalid"),
        ("monthly_volume", "0.001", "amount_invalid"),
        ("monthly_volume", "٥", "amount_invalid"),
        ("monthly_volume", True, "amount_invalid"),
        ("monthly_volume", "9" * 16, "amount_out_of_range"),
    ],
)
def test_what_cannot_be_understood_is_named(field: str, value: Any, code: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        api.NewFiatInterest.read(ASKED | {field: value})
    assert (caught.value.param, caught.value.code) == (field, code)


def test_an_address_that_is_too_long_in_lower_case_is_refused() -> None:
    address = "a@" + ("İ" * 27 + ".") * 8 + "example"
    assert len(address) <= 254 < len(address.lower())
    with pytest.raises(InvalidRequestError) as caught:
        api.NewFiatInterest.read({"email": address})
    assert (caught.value.param, caught.value.code) == ("email", "parameter_too_long")


# What the API tells of a place on the waitlist, and that its description says the same.


def test_what_was_not_said_is_null() -> None:
    said = api.FiatInterest.of(FiatInterest(public_id="fia_1", email="a@b.example", mode=Mode.TEST, created_at=NOON))
    assert (said["company"], said["country"], said["monthly_volume"]) == (None,) * 3
    assert said["livemode"] is False


def test_a_volume_is_an_amount_in_text() -> None:
    said = api.FiatInterest.of(FiatInterest(monthly_volume=Decimal("50000.00"), mode=Mode.LIVE, created_at=NOON))
    assert said["monthly_volume"] == "50000.00"
    assert said["livemode"] is True
