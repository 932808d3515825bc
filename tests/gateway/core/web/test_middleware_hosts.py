"""Addresses that pages once had lead to the present ones."""

from typing import Any

import pytest
from django.test import Client

from tests.factories import make_checkout
from tests.links.factories import make_link

OLD = "old.example"


@pytest.fixture
def hosts(settings: Any) -> None:
    """Pages on three hosts, one of them given up."""
    settings.LEGACY_HOSTS = [OLD, "older.example:8443"]
    settings.CHECKOUT_HOST = "https://checkout.example"
    settings.LINK_HOST = "https://links.example"


def target(path: str, host: str = OLD, method: str = "GET") -> tuple[int, str]:
    response = Client().generic(method, path, HTTP_HOST=host)
    return response.status_code, response.headers.get("Location", "")


@pytest.mark.usefixtures("hosts")
@pytest.mark.parametrize("host", [OLD, "OLD.example", "older.example:8443"])
@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/c/abc", "https://checkout.example/c/abc"),
        ("/c/abc/status?x=1&y=%20", "https://checkout.example/c/abc/status?x=1&y=%20"),
        ("/p/abc", "https://links.example/p/abc"),
        ("/p/abc/s/sub_1:x", "https://links.example/p/abc/s/sub_1:x"),
        ("/pay/abc", "https://links.example/pay/abc"),
    ],
)
def test_pages_of_a_legacy_host_have_moved_for_good(path: str, location: str, host: str) -> None:
    assert target(path, host) == (308, location)
    assert target(path, host, "POST") == (308, location)


@pytest.mark.usefixtures("hosts")
@pytest.mark.parametrize("path", ["/", "/api/v1/chains", "/healthz", "/cats"])
def test_what_is_no_page_stays_where_it_is(path: str, db: None) -> None:
    assert target(path)[0] != 308


@pytest.mark.usefixtures("hosts")
def test_a_path_cannot_choose_where_it_is_sent() -> None:
    for path in ("/c//evil.example", "/p/@evil.example", "//evil.example/c/x"):
        status, location = target(path)
        assert status != 308 or location.startswith(("https://checkout.example/", "https://links.example/"))


@pytest.mark.django_db
def test_without_legacy_hosts_nothing_moves() -> None:
    assert target("/c/abc", "testserver") == (404, "")


@pytest.mark.django_db
@pytest.mark.usefixtures("hosts")
def test_the_old_path_leads_to_the_link_or_the_checkout_of_that_code() -> None:
    link, checkout = make_link(), make_checkout()
    host = "testserver"
    assert target(f"/pay/{link.code}?lang=de", host) == (308, f"https://links.example/p/{link.code}?lang=de")
    assert target(f"/pay/{checkout.code}", host) == (308, f"https://checkout.example/c/{checkout.code}")
    assert target("/pay/nobodys", host) == (404, "")
