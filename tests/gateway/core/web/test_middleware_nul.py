"""A path with a NUL in it names nothing: PostgreSQL would refuse every statement that looks it up."""

import json

import pytest
from django.test import Client

from tests.contract.client import some_address
from tests.dashboard.people import make_desk

PATHS = [
    "/%00",
    "/c/%00",
    "/c/abc%00",
    "/c/%00/status",
    "/p/%00",
    "/pay/%00",
    "/static/%00",
    "/brand/%00",
    "/account/%00",
    "/account/invitations/%00/",
    "/dashboard/%00",
    "/operator/%00",
    "/api/v1/%00",
    "/api/v1/checkouts/%00",
    "/api/v1/links/%00",
]


@pytest.mark.django_db
@pytest.mark.parametrize("path", PATHS)
def test_a_path_with_a_nul_is_not_found(path: str) -> None:
    client = Client(raise_request_exception=False, REMOTE_ADDR=some_address())
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer["X-Request-Id"]
    if path.startswith("/api"):
        assert json.loads(answer.content)["error"]["code"] == "route_missing"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("dashboard_checkout", "checkout_id"),
        ("dashboard_link", "link_id"),
        ("dashboard_settlement", "settlement_id"),
        ("dashboard_watched_wallet", "wallet_id"),
    ],
)
def test_the_pages_of_people_do_not_find_one_either(name: str, given: str) -> None:
    desk = make_desk()
    desk.client.raise_request_exception = False
    path = desk.url(name, **{given: "x"}).replace("/x/", "/%00/")
    assert desk.client.get(path).status_code == 404
