"""Reading what somebody says who would take cards."""

from decimal import Decimal
from typing import Any

import pytest

from accounts.waitlist.forms import parse_interest
from accounts.waitlist.service import Interest
from gateway.core.api.errors import InvalidRequestError


def test_an_address_is_enough_and_its_host_has_no_capitals() -> None:
    assert parse_interest({"email": " Ana@HALDEN.example "}) == Interest("Ana@halden.example", "", "", None)


def test_a_volume_has_no_limit() -> None:
    body = {"email": "a@b.example", "monthly_volume": "99000000"}
    assert parse_interest(body).monthly_volume == Decimal(99_000_000)


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ({"email": ""}, "email"),
        ({"email": "no address"}, "email"),
        ({"monthly_volume": "a lot"}, "monthly_volume"),
        ({"monthly_volume": "-1"}, "monthly_volume"),
        ({"monthly_volume": "9" * 16}, "monthly_volume"),
        ({"company": 7}, "company"),
    ],
)
def test_what_cannot_be_read_is_named(wrong: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse_interest({"email": "a@b.example"} | wrong)
    assert caught.value.param == param


def test_an_address_that_is_too_long_in_lower_case_is_refused() -> None:
    address = "a@" + ("İ" * 27 + ".") * 8 + "example"
    assert len(address) <= 254 < len(address.lower())
    with pytest.raises(InvalidRequestError) as caught:
        parse_interest({"email": address})
    assert (caught.value.param, caught.value.code) == ("email", "parameter_too_long")
