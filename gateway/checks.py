"""System checks of the whole installation, with ids that operators can look up."""

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, collapse_addresses
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

from cryptography.fernet import Fernet
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register
from django.core.checks.security import base as security

from gateway.apps import tracing_installed, tracing_wanted
from gateway.core.web.client_address import proxy_network
from gateway.releases.stages import our_migrations, problems

DEPLOYMENT = "deployment"
MOST_KEY_CACHE_SECONDS = 5
LEAST_HOLD_HOURS = 24
LEAST_TOKEN = 20
_ADDRESSES = ("BASE_URL", "CHECKOUT_HOST", "LINK_HOST", "STREAM_URL")
_HERE = ("127.0.0.1", "::1", "localhost")


@register()
def revocation_is_prompt(**_: Any) -> list[CheckMessage]:
    """Check that a revoked API key is refused by all processes within five seconds, as promised to merchants."""
    if settings.API_KEY_CACHE_SECONDS <= MOST_KEY_CACHE_SECONDS:
        return []
    return [
        Error(
            "API_KEY_CACHE_SECONDS is more than five.",
            hint="A revoked key would work for longer than merchants are promised.",
            id="gateway.E001",
        )
    ]


@register()
def late_money_meets_no_stranger(**_: Any) -> list[CheckMessage]:
    """Check that exact amounts stay reserved for a day: an exchange may take that long to send."""
    short, usual = (settings.EXACT_AMOUNT_SHORT_HOLD_HOURS, settings.EXACT_AMOUNT_HOLD_HOURS)
    if LEAST_HOLD_HOURS <= short <= usual:
        return []
    return [
        Error(
            "Exact amounts are given to other checkouts too soon.",
            hint="EXACT_AMOUNT_SHORT_HOLD_HOURS must be at least 24, and EXACT_AMOUNT_HOLD_HOURS no less than that.",
            id="gateway.E002",
        )
    ]


@register(DEPLOYMENT, deploy=True)
def hosts_are_named(**_: Any) -> list[CheckMessage]:
    """Check that not every host is allowed: links and redirects carry the request's host."""
    if "*" not in settings.ALLOWED_HOSTS:
        return []
    return [
        Error(
            "ALLOWED_HOSTS allows every host.",
            hint="Name the hosts of your pages, such as pay.example.",
            id="gateway.E003",
        )
    ]


@register(DEPLOYMENT, deploy=True)
def proxies_are_named(**_: Any) -> list[CheckMessage]:
    """Check that not every peer is a trusted proxy: then any client could name another address and evade rate limits."""
    try:
        is_everybody = any(not network.prefixlen for network in _proxy_networks())
    except ValueError as error:
        problem = f"TRUSTED_PROXIES cannot be read: {error}."
    else:
        if not is_everybody:
            return []
        problem = "TRUSTED_PROXIES trusts every address."
    return [
        Error(
            problem, hint="Name the addresses or networks of your own proxies, such as 10.0.0.0/8.", id="gateway.E004"
        )
    ]


def _proxy_networks() -> Iterator[IPv4Network | IPv6Network]:
    """Return the trusted networks, with neighbours merged. Raises ValueError."""
    networks = [proxy_network(network) for network in settings.TRUSTED_PROXIES]
    return chain(
        collapse_addresses(one for one in networks if isinstance(one, IPv4Network)),
        collapse_addresses(one for one in networks if isinstance(one, IPv6Network)),
    )


@register(DEPLOYMENT, deploy=True)
def mail_is_sent(**_: Any) -> list[CheckMessage]:
    """Check that a mail server is set: without one, users cannot confirm an address or reset a password."""
    if settings.EMAIL_HOST:
        return []
    return [
        Error(
            "EMAIL_HOST is empty, so no mail is sent.",
            hint="Name a mail server: logins, receipts and warnings to owners need it.",
            id="gateway.E005",
        )
    ]


@register(DEPLOYMENT, deploy=True)
def secret_key_is_secret(**_: Any) -> list[CheckMessage]:
    """Check that the secret key is long enough: a guessed key signs sessions. Django only warns of a weak one."""
    if not security.check_secret_key(None) + security.check_secret_key_fallbacks(None):
        return []
    return [
        Error(
            "SECRET_KEY, or one of SECRET_KEY_FALLBACKS, is missing, short or made for development.",
            hint="Set at least 50 random characters.",
            id="gateway.E006",
        )
    ]


@register(DEPLOYMENT, deploy=True)
def addresses_are_https(**_: Any) -> list[CheckMessage]:
    """Check that buyers and keys come by https; on this machine alone plain http will do."""
    return [
        Error(f"{name} is not https.", hint="Let the proxy end TLS, and write https://.", id="gateway.E008")
        for name in _ADDRESSES
        if (url := urlsplit(getattr(settings, name))).netloc and url.scheme != "https" and url.hostname not in _HERE
    ]


@register()
def encryption_keys_are_keys(**_: Any) -> list[CheckMessage]:
    """Check that each of ENCRYPTION_KEYS can encrypt; the first webhook would be the first to notice."""
    return [
        Error(
            f"Key {number} of ENCRYPTION_KEYS cannot be used.",
            hint="docs/guide/configuration.md says how to make one.",
            id="gateway.E009",
        )
        for number, key in enumerate(settings.ENCRYPTION_KEYS, start=1)
        if not _is_fernet_key(key)
    ]


def _is_fernet_key(key: str) -> bool:
    try:
        Fernet(key)
    except ValueError:
        return False
    return True


@register(DEPLOYMENT, deploy=True)
def metrics_are_private(**_: Any) -> list[CheckMessage]:
    """Check that the token of /metrics cannot be guessed."""
    if not settings.METRICS_TOKEN or len(settings.METRICS_TOKEN) >= LEAST_TOKEN:
        return []
    return [Error("METRICS_TOKEN is too short.", hint="Set 30 random characters.", id="gateway.E010")]


@register(DEPLOYMENT, deploy=True)
def engines_are_named(**_: Any) -> list[CheckMessage]:
    """Check that the database and the broker are named: nothing starts them in production."""
    return [
        Error(f"{name} is empty.", hint="docs/guide/configuration.md shows how it is written.", id="gateway.E011")
        for name in ("DATABASE_URL", "REDIS_URL")
        if not getattr(settings, name)
    ]


@register()
def migrations_have_stages(**_: Any) -> list[CheckMessage]:
    """Check that each migration says whether old processes can stand it."""
    found = problems(our_migrations())
    return [
        Error(
            f"{problem}.",
            hint="docs/adr/0023-migrations-expand-then-contract.md says what each stage may do.",
            id="gateway.E007",
        )
        for problem in found
    ]


@register()
def traces_can_be_sent(**_: Any) -> list[CheckMessage]:
    """Check that OpenTelemetry is installed if a collector is named."""
    if tracing_installed() or not tracing_wanted():
        return []
    return [
        checks.Warning(
            "A collector of traces is named, but OpenTelemetry is not installed.",
            hint="Install requirements/tracing.txt.",
            id="gateway.W001",
        )
    ]
