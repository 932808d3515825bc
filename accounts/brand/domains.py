"""The domain of a merchant's shop, shown to buyers once the merchant proved it by a file there.

Each domain is looked up again every day. Who cannot be reached keeps it for a month, because servers fail and move.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

import ada_url
import structlog
from django.db import transaction

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from accounts.models import Branding, Merchant
from gateway.core.api.errors import InvalidRequestError
from gateway.core.fetching import UnavailableTextError, fetch_text
from gateway.core.outbound import check_destination, url_policy

log = structlog.get_logger(__name__)

PATH: Final = "/.well-known/florin.txt"
DOMAIN_LENGTH: Final = 253
_LOOK_AFTER: Final = timedelta(days=1)
_KEPT_FOR: Final = timedelta(days=30)
_MOST_LOOKS: Final = 500
# In ASCII, as certificates and browsers write it. What looks like another letter is then seen.
_DOMAIN: Final = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]", re.ASCII)

Fetch = Callable[[str], str]


def fetch_proof(url: str) -> str:
    """Return the text at a URL. Raises UnavailableTextError."""
    return fetch_text(url, policy=url_policy())


def parse_domain(text: str) -> str:
    """Return a typed domain or address of a shop as its host, in lower-case ASCII. Raises InvalidRequestError."""
    typed = text.strip().removesuffix("/")
    try:
        url = ada_url.URL(typed if "://" in typed else f"https://{typed}")
    except ValueError:
        raise _refusal("must be a domain such as shop.example.com.") from None
    is_host = url.protocol in {"http:", "https:"} and not (url.username or url.password or url.port)
    host = url.hostname
    if not is_host or len(host) > DOMAIN_LENGTH or not _DOMAIN.fullmatch(host):
        raise _refusal("must be a domain such as shop.example.com.")
    check_destination(f"https://{host}{PATH}", param="domain", policy=url_policy())
    return host


def set_domain(
    merchant: Merchant, text: str, *, now: datetime, actor: Actor = SYSTEM, fetch: Fetch = fetch_proof
) -> str:
    """Set the domain of a merchant's shop once its file names the merchant, and return it; an empty text removes it.

    Audited. Raises InvalidRequestError (`domain`) for what is no domain, and if the file is missing or names another merchant.
    No transaction may be open: the shop's server is asked.
    """
    domain = parse_domain(text) if text.strip() else ""
    if domain:
        _require_proof(merchant, domain, fetch)
    with transaction.atomic():
        branding, _ = Branding.objects.select_for_update().get_or_create(
            merchant=merchant, defaults={"updated_at": now}
        )
        before = branding.domain
        branding.domain, branding.domain_verified_at = domain, now if domain else None
        branding.save(update_fields=["domain", "domain_verified_at"])
        if before != domain:
            record(
                merchant,
                action="merchant.domain_changed",
                actor=actor,
                object_id=merchant.public_id,
                before={"domain": before},
                after={"domain": domain},
                now=now,
            )
    return domain


def _require_proof(merchant: Merchant, domain: str, fetch: Fetch) -> None:
    try:
        text = fetch(f"https://{domain}{PATH}")
    except UnavailableTextError as error:
        raise _refusal(f"is not proven: we asked for https://{domain}{PATH}, and {error}.") from None
    if not _names(text, merchant):
        raise _refusal(f"is not proven: https://{domain}{PATH} has no line {merchant.public_id}.")


def _names(text: str, merchant: Merchant) -> bool:
    return merchant.public_id in (line.strip() for line in text.splitlines())


def review_domains(*, now: datetime, fetch: Fetch = fetch_proof) -> int:
    """Look up again what was proven a day ago or earlier; return how many domains were removed.

    A file that names the merchant no longer removes the domain at once, a server that does not answer after a month.
    """
    due = Branding.objects.filter(domain_verified_at__lt=now - _LOOK_AFTER).select_related("merchant").defer("logo")
    removed = 0
    for branding in due.order_by("domain_verified_at")[:_MOST_LOOKS]:
        removed += _review(branding, now, fetch)
    return removed


def _review(branding: Branding, now: datetime, fetch: Fetch) -> bool:
    proven_at = branding.domain_verified_at
    # What somebody set meanwhile stays.
    unchanged = Branding.objects.filter(pk=branding.pk, domain=branding.domain, domain_verified_at=proven_at)
    try:
        text = fetch(f"https://{branding.domain}{PATH}")
    except UnavailableTextError as error:
        log.info("domain not reached", merchant=branding.merchant.public_id, error=str(error))
        is_over = proven_at is not None and proven_at < now - _KEPT_FOR
        return is_over and bool(unchanged.update(domain="", domain_verified_at=None))
    if _names(text, branding.merchant):
        unchanged.update(domain_verified_at=now)
        return False
    return bool(unchanged.update(domain="", domain_verified_at=None))


def _refusal(problem: str) -> InvalidRequestError:
    return InvalidRequestError(f"domain {problem}", param="domain")
