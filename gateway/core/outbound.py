"""Rules for outgoing requests and merchants' URLs: public addresses only, never our own network; allowed schemes and hosts."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

import ada_url
from django.conf import settings

from gateway.core.api.errors import InvalidRequestError

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

MAX_URL_LENGTH = 2048
_MAX_HOST = 253
_MAX_LABEL = 63
# Names of the machine itself (RFC 6761, and what Debian and Red Hat write into /etc/hosts), and their subdomains.
_LOOPBACK_NAMES = ("localhost", "localdomain", "ip6-localhost", "ip6-loopback")
# Names that resolve only inside a network: RFC 6762, RFC 8375, ICANN's name for private use, and names common on routers.
_LOCAL_NAMES = ("local", "home.arpa", "internal", "lan")


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


@dataclass(frozen=True, slots=True)
class UrlPolicy:
    """Which URLs a merchant may give: https only in production, loopback only in development."""

    https_only: bool
    loopback_allowed: bool


def url_policy() -> UrlPolicy:
    """Return this installation's policy."""
    return UrlPolicy(https_only=settings.PRODUCTION, loopback_allowed=settings.WEBHOOK_ALLOW_LOOPBACK)


def check_url(text: str, *, param: str, policy: UrlPolicy) -> SplitResult:
    """Return the parts of a URL a buyer may be sent to. Raises InvalidRequestError (url_invalid, url_forbidden)."""
    parts = _split(text)
    if parts is None:
        raise InvalidRequestError(f"{param} must be an http(s) URL.", param=param, code="url_invalid")
    if parts.username is not None or parts.password is not None:
        raise _forbidden(param, "must not carry a user name or password")
    if policy.https_only and parts.scheme != "https":
        raise _forbidden(param, "must use https")
    return parts


def check_destination(text: str, *, param: str, policy: UrlPolicy) -> None:
    """Refuse a URL of a private address, in any spelling that a browser or resolver accepts.

    Addresses behind a public name are checked at each connection. Raises InvalidRequestError (url_invalid, url_forbidden).
    """
    parts = check_url(text, param=param, policy=policy)
    if parts.port == 0 or not _may_name(_normal_host(text), policy):
        raise _forbidden(param, "must be a public address")


def _split(text: str) -> SplitResult | None:
    # Counted in bytes: non-ASCII letters take several.
    is_plain = text.isprintable() and " " not in text
    if len(text.encode()) > MAX_URL_LENGTH or not is_plain:
        return None
    try:
        parts = urlsplit(text)
        _ = parts.port  # urlsplit checks the port only when asked
    except ValueError:
        return None
    return parts if parts.hostname and parts.scheme in {"http", "https"} else None


def _normal_host(text: str) -> str:
    """Return a URL's host as the WHATWG URL standard writes it: ASCII, addresses in their usual form; "" for none."""
    try:
        host = ada_url.URL(text).hostname
    except ValueError:
        return ""
    return host.removeprefix("[").removesuffix("]").removesuffix(".")


def _may_name(host: str, policy: UrlPolicy) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return _is_name(host) and _may_resolve(host, policy)
    return may_connect(host, loopback_allowed=policy.loopback_allowed)


def _is_name(host: str) -> bool:
    labels = host.split(".")
    return len(host) <= _MAX_HOST and all(0 < len(each) <= _MAX_LABEL for each in labels)


def _may_resolve(name: str, policy: UrlPolicy) -> bool:
    if _is_below(name, _LOOPBACK_NAMES):
        return policy.loopback_allowed
    # A bare name is looked up in our own network's search domains. Development has only such names.
    is_bare = "." not in name and policy.https_only
    return not is_bare and not _is_below(name, _LOCAL_NAMES)


def _is_below(name: str, parents: tuple[str, ...]) -> bool:
    return any(name == parent or name.endswith(f".{parent}") for parent in parents)


def _forbidden(param: str, problem: str) -> InvalidRequestError:
    return InvalidRequestError(f"{param} {problem}.", param=param, code="url_forbidden")
