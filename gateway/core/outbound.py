"""Rules for our own outgoing requests: public addresses only, never our own network.

`ipaddress.is_global` is not strict enough: Python 3.11 calls NAT64 and 6to4 forms of private addresses, `::127.0.0.1`, multicast and
site-local addresses global. So this is an allow list: an address is public only if it is known to be.
"""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address

# The IANA IPv4 special-purpose registry, with multicast and the reserved block.
_NOT_PUBLIC_V4 = tuple(
    ip_network(block)
    for block in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
# The only block IANA has given out for ordinary hosts, and the special parts of it: protocol assignments (Teredo
# among them), documentation twice, and 6to4, which carries an IPv4 address.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NOT_PUBLIC_V6 = tuple(ip_network(block) for block in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"))


def plain(address: Address) -> Address:
    """Return the IPv4 address inside an IPv4-mapped one (`::ffff:a.b.c.d`); any other address unchanged."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def is_public(address: Address) -> bool:
    """Return whether `address` is on the public internet, so that connecting to it for a stranger is safe."""
    address = plain(address)
    if isinstance(address, IPv4Address):
        return not any(address in block for block in _NOT_PUBLIC_V4)
    if address.scope_id is not None or address not in _GLOBAL_UNICAST:
        return False
    return not any(address in block for block in _NOT_PUBLIC_V6)


def may_connect(host: str, *, loopback_allowed: bool) -> bool:
    """Return whether a connection to the IP address `host` is allowed; False if it is not an IP address."""
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return is_public(address) or (loopback_allowed and plain(address).is_loopback)
