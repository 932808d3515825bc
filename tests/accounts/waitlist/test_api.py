"""Waiting for card payments: one place per address, and every field read strictly."""

from typing import Any

import pytest

from accounts.models import FiatInterest
from accounts.states import Mode
from tests.contract.client import Answer, ApiClient, client_of

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
    ],
)
def test_what_cannot_be_understood_is_named(shop: ApiClient, field: str, value: Any, code: str) -> None:
    assert join(shop, **{field: value}).refusal == (400, code, field)
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
