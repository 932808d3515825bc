"""System checks of the whole installation, with ids that operators can look up."""

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from itertools import chain
from typing import Any

from cryptography.fernet import Fernet
from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks.security import base as security

DEPLOYMENT = "deployment"
MOST_KEY_CACHE_SECONDS = 5
LEAST_HOLD_HOURS = 24
LEAST_TOKEN = 20


@register()
def revocation_is_prompt(**_: Any) -> list[CheckMessage]:
    """Check that a revoked API key is refused everywhere within five seconds, as merchants are promised."""
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
    short, usual = (
        settings.EXACT_AMOUNT_SHORT_HOLD_HOURS,
        settings.EXACT_AMOUNT_HOLD_HOURS,
    )
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
    """Check that not every peer is a trusted proxy: a trusted proxy names the client, so rate limits per address would not work."""
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
            problem,
            hint="Name the addresses or networks of your own proxies, such as 10.0.0.0/8.",
            id="gateway.E004",
        )
    ]


def _proxy_networks() -> Iterator[IPv4Network | IPv6Network]:
    """Return the trusted networks, with neighbours merged. Raises ValueError."""
    networks = [ip_network(network) for network in settings.TRUSTED_PROXIES]
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
def pages_come_by_https(**_: Any) -> list[CheckMessage]:
    """Check that buyers and merchants come by https: keys, sessions and addresses of wallets go over these pages."""
    names = ("BASE_URL", "CHECKOUT_HOST", "LINK_HOST")
    return [
        Error(
            f"{name} is not https.",
            hint=f"Set {name}=https://your.host and let the proxy end TLS.",
            id="gateway.E007",
        )
        for name in names
        if not getattr(settings, name).startswith("https://")
    ]


@register(DEPLOYMENT, deploy=True)
def encryption_keys_encrypt(**_: Any) -> list[CheckMessage]:
    """Check that each encryption key is one: otherwise the first webhook secret or restored address fails."""
    for number, key in enumerate(settings.ENCRYPTION_KEYS, start=1):
        try:
            Fernet(key)
        except ValueError:
            return [
                Error(
                    f"ENCRYPTION_KEYS: number {number} is no Fernet key.",
                    hint="docs/guide/configuration.md has the command that makes one.",
                    id="gateway.E008",
                )
            ]
    return []


@register(DEPLOYMENT, deploy=True)
def metrics_are_private(**_: Any) -> list[CheckMessage]:
    """Check that the token of the metrics cannot be guessed. Without a token there are no metrics."""
    if not settings.METRICS_TOKEN or len(settings.METRICS_TOKEN) >= LEAST_TOKEN:
        return []
    return [
        Error(
            "METRICS_TOKEN is short: who guesses it reads what the installation earns.",
            hint="Set 30 random characters.",
            id="gateway.E009",
        )
    ]
