"""The client's address of a request, proxies considered."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from django.conf import settings
from django.http import HttpRequest

from gateway.core.outbound import plain

# The prefix length of one customer's network (RFC 6177, RFC 7934): 2^64 addresses.
_CUSTOMER_BITS: Final = 64
_MAPPED: Final = IPv6Network("::ffff:0:0/96")
# All of IPv4 behind a translator (RFC 6052): one prefix, and not one customer.
_NAT64: Final = IPv6Network("64:ff9b::/96")


def limited_as(address: str) -> str:
    """Return the key that rate limits use for an address: an IPv4 one, also inside an IPv6 one; an IPv6 one's /64; or the text."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    parsed = plain(parsed)
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed in _NAT64:
        return str(IPv4Address(int(parsed) & 0xFFFF_FFFF))
    return str(IPv6Network((int(parsed), _CUSTOMER_BITS), strict=False))


@lru_cache(maxsize=4096)
def _is_trusted(address: str) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return any(parsed in proxy_network(one) for one in settings.TRUSTED_PROXIES)


def proxy_network(text: str) -> IPv4Network | IPv6Network:
    """Return a network of TRUSTED_PROXIES; one of IPv4-mapped addresses as that of the IPv4 ones. Raises ValueError."""
    network = ip_network(text)
    if isinstance(network, IPv4Network) or not network.subnet_of(_MAPPED):
        return network
    inner = IPv4Address(int(network.network_address) & 0xFFFF_FFFF)
    return IPv4Network((inner, network.prefixlen - 96))


@lru_cache(maxsize=4096)
def _plain_text(address: str) -> str:
    """Return an IPv4-mapped address as an IPv4 one, and one of this link without its interface; other text unchanged."""
    if ":" not in address:
        return address
    try:
        return str(plain(ip_address(address.partition("%")[0])))
    except ValueError:
        return address


def client_address(request: HttpRequest) -> str:
    """Return the address of a request's client."""
    peer = request.META.get("REMOTE_ADDR") or "unknown"
    return client_of(peer, request.META.get("HTTP_X_FORWARDED_FOR", ""))


def client_of(peer: str, forwarded_for: str) -> str:
    """Return the client's address: the peer's, or the last untrusted address that a trusted proxy names in X-Forwarded-For."""
    address = _plain_text(peer)
    if not settings.TRUSTED_PROXIES:
        return address
    hops = [hop.strip() for hop in forwarded_for.split(",")]
    while _is_trusted(address) and hops and hops[-1]:
        address = _plain_text(hops.pop())
    return address


def address_or_none(request: HttpRequest) -> str | None:
    """Return the client's address for a database column; None if the connection has none, as on a Unix socket."""
    try:
        return str(ip_address(client_address(request)))
    except ValueError:
        return None
