"""Validates merchants' URLs: syntax, allowed schemes and hosts, hosts we may connect to."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

import ada_url
from django.conf import settings

from gateway.core.api.errors import InvalidRequestError
from gateway.core.outbound import may_connect

MAX_LENGTH = 2048
_MAX_HOST = 253
_MAX_LABEL = 63

# Names of the machine itself (RFC 6761, and what Debian and Red Hat write into /etc/hosts), and their subdomains.
_LOOPBACK_NAMES = ("localhost", "localdomain", "ip6-localhost", "ip6-loopback")
# Names that resolve only inside a network: RFC 6762, RFC 8375, ICANN's name for private use, and names common on routers.
_LOCAL_NAMES = ("local", "home.arpa", "internal", "lan")


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
    if len(text.encode()) > MAX_LENGTH or not is_plain:
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
