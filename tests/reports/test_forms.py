"""What a report can be narrowed by, and what is refused by name."""

import pytest

from tests.contract.client import ApiClient
from tests.reports.answers import LINES, SUMMARY, summary

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("evening")]


@pytest.mark.parametrize(
    ("query", "param", "code"),
    [
        ({"from": "yesterday"}, "from", "parameter_invalid"),
        ({"to": "2026-13-01"}, "to", "parameter_invalid"),
        ({"from": "2026-11-21", "to": "2026-11-20"}, "to", "parameter_invalid"),
        ({"chain": "bitcoin"}, "chain", "chain_unsupported"),
        ({"token": "DOGE"}, "token", "token_unsupported"),
        ({"direction": "up"}, "direction", "parameter_invalid"),
        ({"wallet": "0x12"}, "wallet", "address_invalid"),
        ({"tag": "\x00"}, "tag", "parameter_invalid"),
        ({"format": "xml"}, "format", "parameter_invalid"),
        ({"limit": "0", "format": "csv"}, "limit", "parameter_invalid"),
        ({"starting_after": "trf_1"}, "starting_after", "parameter_invalid"),
        ({"starting_after": "trf_x"}, "starting_after", "parameter_invalid"),
        ({"starting_after": "trf_" + "9" * 40}, "starting_after", "parameter_invalid"),
    ],
)
def test_what_cannot_be_read_is_named(shop: ApiClient, query: dict[str, str], param: str, code: str) -> None:
    assert shop.get(LINES, query).refusal == (400, code, param)


@pytest.mark.parametrize(
    ("query", "param", "code"),
    [
        ({"from": "x"}, "from", "parameter_invalid"),
        ({"from": "2026-11-21", "to": "2026-11-20"}, "to", "parameter_invalid"),
        ({"from": "2027-01-01"}, "from", "parameter_invalid"),
        ({"from": "2020-01-01"}, "from", "parameter_invalid"),
        ({"chain": "bitcoin"}, "chain", "chain_unsupported"),
    ],
)
def test_what_cannot_be_added_up_is_named(shop: ApiClient, query: dict[str, str], param: str, code: str) -> None:
    assert shop.get(SUMMARY, query).refusal == (400, code, param)


@pytest.mark.parametrize("to", ["0001-01-01", "0001-01-05", "9999-12-31T23:59:59Z"])
def test_the_ends_of_time_are_times(shop: ApiClient, to: str) -> None:
    assert summary(shop, to=to)["inflow"] == "0.000000"
