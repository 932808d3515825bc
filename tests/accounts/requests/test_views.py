"""The page of API requests: whose it shows, and what finds them."""

from urllib.parse import urlencode

import pytest

from accounts.models import ApiKey
from accounts.requests import views
from accounts.states import Mode, Role
from tests.dashboard.people import Desk, make_desk
from tests.factories import make_api_request, make_key, make_merchant

pytestmark = pytest.mark.django_db


def ask(desk: Desk, query: dict[str, str]) -> str:
    page: str = desk.get("dashboard_api_requests", f"?{urlencode(query)}").text
    return page


@pytest.fixture
def key(owner: Desk) -> ApiKey:
    return make_key(owner.merchant, Mode.LIVE)[0]


@pytest.mark.parametrize("role", Role)
def test_every_member_sees_the_requests_of_a_mode_and_no_others(owner: Desk, key: ApiKey, role: Role) -> None:
    make_api_request(key, "/api/v1/links", status=409, code="duplicate")
    make_api_request(make_key(owner.merchant, Mode.TEST)[0], "/api/v1/of-test-mode")
    make_api_request(make_key(make_merchant(), Mode.LIVE)[0], "/api/v1/of-another")
    make_api_request(key, "/api/v1/of-last-week", days=8)
    page = make_desk(owner.merchant, role).get("dashboard_api_requests").text
    assert all(part in page for part in ("/api/v1/links", "409", "duplicate", "1.2 s", "req_v1links"))
    assert not any(part in page for part in ("of-test-mode", "of-another", "of-last-week"))


def test_an_address_in_a_path_is_masked_for_who_only_looks(owner: Desk, viewer: Desk, key: ApiKey) -> None:
    make_api_request(key, "/api/v1/checkouts/ann@shop.example")
    assert "/api/v1/checkouts/ann@shop.example<" in owner.get("dashboard_api_requests").text
    page = viewer.get("dashboard_api_requests").text
    assert "/api/v1/checkouts/a•••@shop.example<" in page
    assert "ann@" not in page


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"result": "answered"}, {"/api/v1/one", "/api/v1/three"}),
        ({"result": "failed"}, {"/api/v1/two"}),
        ({"q": "ne"}, {"/api/v1/one"}),
        ({"q": "parameter_invalid"}, {"/api/v1/two"}),
        ({"q": "req_v1three"}, {"/api/v1/three"}),
        ({"q": "100%"}, set()),
        ({"q": "a\x00b"}, {"/api/v1/one", "/api/v1/two", "/api/v1/three"}),
        ({"key": "key_nobody"}, set()),
    ],
)
def test_filters(owner: Desk, key: ApiKey, query: dict[str, str], found: set[str]) -> None:
    make_api_request(key, "/api/v1/one")
    make_api_request(key, "/api/v1/two", status=400, code="parameter_invalid")
    make_api_request(key, "/api/v1/three")
    page = ask(owner, query)
    assert {path for path in ("/api/v1/one", "/api/v1/two", "/api/v1/three") if f"</b> {path}<" in page} == found
    assert ("No requests match" in page) == (not found)


def test_one_keys_requests(owner: Desk, key: ApiKey) -> None:
    other, _ = make_key(owner.merchant, Mode.LIVE)
    make_api_request(key, "/api/v1/mine")
    make_api_request(other, "/api/v1/its")
    page = ask(owner, {"key": other.public_id})
    assert ("/api/v1/its" in page, "/api/v1/mine" in page) == (True, False)


def test_a_search_reads_the_newest_alone_and_says_so(owner: Desk, key: ApiKey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "MOST_SEARCHED", 3)
    for number in range(5):
        make_api_request(key, f"/api/v1/number{number}")
    page = ask(owner, {"q": "number"})
    assert [f"number{number}" in page for number in range(5)] == [False, False, True, True, True]
    assert "Only the newest 3 requests are searched" in page
    assert "number0" in owner.get("dashboard_api_requests").text


def test_a_merchant_without_requests_is_told_what_comes_here(owner: Desk) -> None:
    assert "No requests yet" in owner.get("dashboard_api_requests").text
