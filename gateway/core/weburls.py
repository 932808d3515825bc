"""URLs that merchants give: which are URLs at all, which are allowed, which we may connect to."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from gateway.core.errors import InvalidRequestError
from gateway.core.outbound import may_connect

MAX_LENGTH = 2048


@dataclass(frozen=True, slots=True)
class UrlPolicy:
    """Which URLs a merchant may give: https alone in production, loopback only in development."""

    https_only: bool
    loopback_allowed: bool


def url_policy() -> UrlPolicy:
    """Return this installation's policy."""
    return UrlPolicy(
        https_only=settings.PRODUCTION, loopback_allowed=settings.WEBHOOK_ALLOW_LOOPBACK
    )


def check_url(text: str, *, param: str, policy: UrlPolicy) -> SplitResult:
    """Return the parts of a URL a buyer may be sent to. Raises InvalidRequestError (url_invalid, url_forbidden)."""
    parts = _split(text)
    if parts is None:
        raise InvalidRequestError(
            f"{param} must be an http(s) URL.", param=param, code="url_invalid"
        )
    if parts.username is not None or parts.password is not None:
        raise _forbidden(param, "must not carry a user name or password")
    if policy.https_only and parts.scheme != "https":
        raise _forbidden(param, "must use https")
    return parts


def check_destination(text: str, *, param: str, policy: UrlPolicy) -> None:
    """Refuse a URL that we would refuse to connect to; names are judged when they are resolved, at each connection.

    Raises InvalidRequestError (url_invalid, url_forbidden).
    """
    host = (check_url(text, param=param, policy=policy).hostname or "").rstrip(".")
    if not _may_name(host, policy):
        raise _forbidden(param, "must be a public address")


def _split(text: str) -> SplitResult | None:
    # Counted in bytes: letters beyond ASCII are longer than they look.
    is_plain = text.isprintable() and " " not in text
    if len(text.encode()) > MAX_LENGTH or not is_plain:
        return None
    try:
        parts = urlsplit(text)
        _ = parts.port  # urlsplit checks the port only when asked
    except ValueError:
        return None
    return parts if parts.hostname and parts.scheme in {"http", "https"} else None


def _may_name(host: str, policy: UrlPolicy) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return host != "localhost" or policy.loopback_allowed
    return may_connect(host, loopback_allowed=policy.loopback_allowed)


def _forbidden(param: str, problem: str) -> InvalidRequestError:
    return InvalidRequestError(f"{param} {problem}.", param=param, code="url_forbidden")
