"""Who is asking: nobody but a trusted proxy may say so."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import RequestFactory

from gateway.core.web import client_address as clientaddr
from gateway.core.web.client_address import client_address, limited_as


@pytest.fixture(autouse=True)
def nobody_remembered() -> Iterator[None]:
    clientaddr._is_trusted.cache_clear()
    yield
    clientaddr._is_trusted.cache_clear()


def seen(peer: str, forwarded: str | None = None) -> str:
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    return client_address(RequestFactory(headers=headers, REMOTE_ADDR=peer).get("/"))


def test_without_trusted_proxies_the_peer_is_the_client() -> None:
    assert seen("203.0.113.9", "198.51.100.1") == "203.0.113.9"


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", None, "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("203.0.113.9", "198.51.100.1", "203.0.113.9"),
        # What the client wrote itself stands left of what our proxies added.
        ("10.0.0.1", "1.1.1.1, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "1.1.1.1, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "203.0.113.9,", "10.0.0.1"),
        ("fd00::1", "2001:db8::9", "2001:db8::9"),
        ("fd00::1", "203.0.113.9", "203.0.113.9"),
        # A socket for both families names IPv4 peers so.
        ("::ffff:10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("::FFFF:0a00:0001", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "1.1.1.1, 203.0.113.9, ::ffff:10.0.0.2", "203.0.113.9"),
        ("10.0.0.1", "::ffff:203.0.113.9", "203.0.113.9"),
        ("::ffff:203.0.113.9", "198.51.100.1", "203.0.113.9"),
        # Who is translated is not who is inside.
        ("64:ff9b::10.0.0.1", "203.0.113.9", "64:ff9b::a00:1"),
        ("::10.0.0.1", "203.0.113.9", "::a00:1"),
        ("2002:a00:1::1", "203.0.113.9", "2002:a00:1::1"),
        ("fe80::1%eth0", "203.0.113.9", "fe80::1"),
        ("not-an-address", "203.0.113.9", "not-an-address"),
        ("", "203.0.113.9", "unknown"),
    ],
)
def test_trusted_proxies_name_the_client(settings: Any, peer: str, forwarded: str | None, client: str) -> None:
    settings.TRUSTED_PROXIES = ["10.0.0.0/8", "fd00::/8"]
    assert seen(peer, forwarded) == client


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("64:ff9b::203.0.113.9", "203.0.113.9"),
        ("64:ff9b:1::1", "64:ff9b:1::/64"),
        ("unknown", "unknown"),
    ],
)
def test_limits_count_an_ipv6_address_by_its_network(address: str, counted: str) -> None:
    assert limited_as(address) == counted


@pytest.mark.parametrize("network", ["::ffff:10.0.0.0/104", "::ffff:10.0.0.1"])
def test_a_proxy_that_is_named_as_a_mapped_address_is_trusted(settings: Any, network: str) -> None:
    settings.TRUSTED_PROXIES = [network]
    assert seen("10.0.0.1", "203.0.113.9") == "203.0.113.9"
    clientaddr._is_trusted.cache_clear()
    assert seen("::ffff:10.0.0.1", "203.0.113.9") == "203.0.113.9"
    assert seen("11.0.0.1", "203.0.113.9") == "11.0.0.1"


@pytest.mark.parametrize(
    ("peer", "kept"), [("::ffff:203.0.113.9", "203.0.113.9"), ("fe80::1%eth0", "fe80::1"), ("x", None)]
)
def test_what_is_written_down_of_a_client_is_one_address_for_each(peer: str, kept: str | None) -> None:
    request = RequestFactory(REMOTE_ADDR=peer).get("/")
    assert clientaddr.address_or_none(request) == kept
