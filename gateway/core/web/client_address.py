"""The client's address of a request, proxies considered."""

from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from django.conf import settings
from django.http import HttpRequest

# The prefix length of one customer's network (RFC 6177, RFC 7934): 2^64 addresses.
_CUSTOMER_BITS: Final = 64


def limited_as(address: str) -> str:
    """Return the key that rate limits use for an address: an IPv6 address's /64; IPv4 addresses and other text unchanged."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(IPv6Network((int(parsed), _CUSTOMER_BITS), strict=False))


@lru_cache(maxsize=4096)
def _is_trusted(address: str) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return any(parsed in ip_network(network) for network in settings.TRUSTED_PROXIES)


def client_address(request: HttpRequest) -> str:
    """Return the address of a request's client."""
    peer = request.META.get("REMOTE_ADDR") or "unknown"
    return client_of(peer, request.META.get("HTTP_X_FORWARDED_FOR", ""))


def client_of(peer: str, forwarded_for: str) -> str:
    """Return the client's address: the peer's, or the last untrusted address that a trusted proxy names in X-Forwarded-For."""
    address = peer
    if not settings.TRUSTED_PROXIES:
        return address
    hops = [hop.strip() for hop in forwarded_for.split(",")]
    while _is_trusted(address) and hops and hops[-1]:
        address = hops.pop()
    return address


def address_or_none(request: HttpRequest) -> str | None:
    """Return the client's address for a database column; None if the connection has none, as on a Unix socket."""
    try:
        return str(ip_address(client_address(request)))
    except ValueError:
        return None
