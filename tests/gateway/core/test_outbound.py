"""Which addresses an outsider may have us connect to."""

from ipaddress import ip_address

import pytest

from gateway.core.outbound import is_public, may_connect

FORBIDDEN = [
    ("this network", "0.1.2.3"),
    ("private 10", "10.0.0.1"),
    ("carrier-grade NAT", "100.64.0.1"),
    ("loopback", "127.0.0.1"),
    ("loopback, another", "127.8.9.1"),
    ("cloud metadata, link-local", "169.254.169.254"),
    ("private 172.16", "172.31.255.255"),
    ("protocol assignments", "192.0.0.8"),
    ("documentation 1", "192.0.2.1"),
    ("6to4 relay anycast", "192.88.99.1"),
    ("private 192.168", "192.168.1.1"),
    ("benchmarking", "198.19.0.1"),
    ("documentation 2", "198.51.100.7"),
    ("documentation 3", "203.0.113.7"),
    ("multicast", "224.0.0.1"),
    ("reserved", "240.0.0.1"),
    ("broadcast", "255.255.255.255"),
    ("IPv6 unspecified", "::"),
    ("IPv6 loopback", "::1"),
    ("IPv4-compatible loopback", "::127.0.0.1"),
    ("IPv4-mapped loopback", "::ffff:127.0.0.1"),
    ("IPv4-mapped private", "::ffff:10.0.0.1"),
    ("IPv4-translated", "::ffff:0:127.0.0.1"),
    ("NAT64 of metadata", "64:ff9b::a9fe:a9fe"),
    ("local NAT64", "64:ff9b:1::1"),
    ("discard only", "100::1"),
    ("Teredo", "2001::1"),
    ("IPv6 documentation", "2001:db8::1"),
    ("6to4 of loopback", "2002:7f00:1::"),
    ("IPv6 documentation, the newer", "3fff::1"),
    ("unique local", "fd00:ec2::254"),
    ("IPv6 link-local", "fe80::1"),
    ("link-local with a zone", "fe80::1%eth0"),
    ("global with a zone", "2606:4700::1111%eth0"),
    ("site-local", "fec0::1"),
    ("IPv6 multicast", "ff0e::1"),
    ("outside what IANA gave out", "4000::1"),
]


@pytest.mark.parametrize("address", [address for _, address in FORBIDDEN], ids=[name for name, _ in FORBIDDEN])
def test_addresses_inside_or_of_no_use_are_not_public(address: str) -> None:
    assert not is_public(ip_address(address))
    assert not may_connect(address, loopback_allowed=False)


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_ordinary_addresses_are_public(address: str) -> None:
    assert is_public(ip_address(address))
    assert may_connect(address, loopback_allowed=False)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_loopback_is_allowed_only_by_the_switch(address: str) -> None:
    assert may_connect(address, loopback_allowed=True)


@pytest.mark.parametrize("address", ["10.0.0.1", "169.254.169.254", "fe80::1"])
def test_the_switch_allows_loopback_and_nothing_else(address: str) -> None:
    assert not may_connect(address, loopback_allowed=True)


@pytest.mark.parametrize("text", ["localhost", "127.1", "0x7f000001", "2130706433", ""])
def test_what_is_not_an_address_may_not_be_connected_to(text: str) -> None:
    assert not may_connect(text, loopback_allowed=True)
