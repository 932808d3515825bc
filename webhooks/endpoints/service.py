"""Changes endpoints: URL, disabling, enabling, and mails about failures."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

import structlog
from django.db import transaction
from django.db.models import F, Q
from django.utils.text import format_lazy
from django.utils.translation import pgettext_lazy

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from accounts.models import Merchant
from accounts.states import Mode
from accounts.team.service import mail_owners
from gateway.core import bell
from gateway.core.api.errors import ConflictError
from gateway.core.outbound import check_destination, url_policy
from gateway.core.texts import pgettext_noop
from webhooks.endpoints.secrets import ensure_secret
from webhooks.models import LISTED, Delivery, Endpoint
from webhooks.outbox.events import BELL, lock_stream
from webhooks.states import NOTES, DeliveryStatus

log = structlog.get_logger(__name__)

# How long an endpoint must fail before its owners get the first and the second mail.
TELL_AFTER = (timedelta(hours=24), timedelta(hours=72))

UNFAILED: Final[Mapping[str, Any]] = MappingProxyType(
    {"consecutive_failures": 0, "failing_since": None, "next_probe_at": None, "owner_told_at": None}
)
"""An endpoint's columns while nothing has failed."""

UNTRIED: Final[Mapping[str, Any]] = MappingProxyType({"disabled_at": None, "disabled_reason": "", **UNFAILED})
"""An endpoint's columns while it is enabled and nothing has failed."""

UNSERVED: Final[Mapping[str, Any]] = MappingProxyType({"served_by": "", "served_until": None})
"""The columns of an endpoint that is taken from its sender, which drops what it read and did not send when it renews its leases.

Only where all of that is cancelled: the next sender does not know what is in flight, and would send it again.
"""


@transaction.atomic
def set_default_url(
    merchant: Merchant, *, mode: Mode, url: str, now: datetime, actor: Actor = SYSTEM
) -> Endpoint | None:
    """Send the mode's events to `url` unless a checkout names another; if empty, stop sending them.

    Naming a disabled endpoint enables it. Owners get a mail about a change by an `actor`. Raises InvalidRequestError
    (url_invalid, url_forbidden), and ConflictError for the URL of a listed endpoint, which has a secret of its own.
    """
    if url:
        check_destination(url, param="url", policy=url_policy())
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    defaults = Endpoint.objects.filter(merchant=merchant, mode=mode, is_default=True)
    before = defaults.values_list("url", flat=True).first() or ""
    endpoint = None
    if url != before:
        if Endpoint.objects.filter(LISTED, merchant=merchant, mode=mode, url=url).exists():
            raise ConflictError(
                pgettext_noop("team", "Another endpoint has this URL. Delete that one first."),
                param="url",
                code="duplicate",
            )
        defaults.update(is_default=False)
    if url:
        endpoint = _default_endpoint(merchant, mode, url, now, actor)
        ensure_secret(merchant, now=now)
    if url != before:
        record(
            merchant,
            action="webhook_url.changed",
            actor=actor,
            object_id=merchant.public_id,
            before={"mode": mode, "url": before},
            after={"mode": mode, "url": url},
            now=now,
        )
        if actor.user:
            _mail_change(merchant, mode, url, now, actor)
    return endpoint


_ADDRESS_CHANGED: Final = pgettext_lazy(
    "team",
    """\
{actor} changed where the {mode} events of {merchant} are sent. They now go

  to {url}

If you did not expect this, change it in the dashboard under Webhooks, and check your team.
""",
)
_ADDRESS_REMOVED: Final = pgettext_lazy(
    "team",
    """\
{actor} changed where the {mode} events of {merchant} are sent. They now go

  nowhere

If you did not expect this, change it in the dashboard under Webhooks, and check your team.
""",
)
_SILENT: Final = pgettext_lazy(
    "team",
    """\
Since {since:%Y-%m-%d %H:%M} UTC no webhook could be delivered to

  {url}

We keep trying. After five days of failures we stop until you enable it again.
No payment is lost: GET /api/v1/events lists every event.
""",
)


def _mail_change(merchant: Merchant, mode: Mode, url: str, now: datetime, actor: Actor) -> None:
    mail_owners(
        merchant.pk,
        key=f"webhook_url:{merchant.pk}:{mode}:{now.isoformat()}",
        subject=format_lazy(
            pgettext_lazy("team", "The webhook address was changed ({merchant})"), merchant=merchant.name
        ),
        text=format_lazy(
            _ADDRESS_CHANGED if url else _ADDRESS_REMOVED,
            actor=actor.name,
            mode=mode.word,
            merchant=merchant.name,
            url=url,
        ),
        now=now,
    )


def _default_endpoint(merchant: Merchant, mode: Mode, url: str, now: datetime, actor: Actor) -> Endpoint:
    # A stronger lock, as update_or_create takes, would keep publishers waiting; one may hold the counter that enabling needs.
    endpoint, _ = Endpoint.objects.select_for_update(no_key=True).get_or_create(
        merchant=merchant, mode=mode, url=url, defaults={"is_default": True, "created_at": now}
    )
    if not endpoint.is_default:
        endpoint.is_default = True
        endpoint.save(update_fields=["is_default"])
    if endpoint.disabled_at is not None:
        enable_endpoint(endpoint, now=now, actor=actor)
    return endpoint


@transaction.atomic
def disable_endpoint(endpoint: Endpoint, *, reason: str, now: datetime, actor: Actor = SYSTEM) -> None:
    """Disable an endpoint; waiting deliveries are held. Idempotent.

    Its sender keeps it, and learns of it when it renews its leases: it alone knows what is in flight if the endpoint is enabled soon.
    """
    changed = Endpoint.objects.filter(pk=endpoint.pk, disabled_at=None).update(
        disabled_at=now, disabled_reason=reason, next_probe_at=None
    )
    if not changed:
        return
    Delivery.objects.filter(endpoint=endpoint, status=DeliveryStatus.PENDING).update(status=DeliveryStatus.HELD)
    record(
        endpoint.merchant,
        action="webhook_endpoint.disabled",
        actor=actor,
        object_id=endpoint.url[:80],
        after={"mode": endpoint.mode, "reason": reason},
        now=now,
    )


@transaction.atomic
def enable_endpoint(endpoint: Endpoint, *, now: datetime, actor: Actor = SYSTEM) -> None:
    """Enable an endpoint, and send at once what was held. Idempotent."""
    changed = Endpoint.objects.filter(pk=endpoint.pk).exclude(disabled_at=None).update(**UNTRIED)
    if not changed:
        return
    # A publisher that still read the endpoint as disabled must commit first, or its delivery would be held for ever.
    lock_stream(endpoint.merchant_id, endpoint.mode)
    Delivery.objects.filter(endpoint=endpoint, status=DeliveryStatus.HELD).update(
        status=DeliveryStatus.PENDING, next_attempt_at=now, is_due=True
    )
    record(
        endpoint.merchant,
        action="webhook_endpoint.enabled",
        actor=actor,
        object_id=endpoint.url[:80],
        after={"mode": endpoint.mode},
        now=now,
    )
    bell.ring(BELL)


def tell_owners(*, now: datetime) -> int:
    """Mail the owners of endpoints that have been failing for a day, and again after three days; return how many."""
    return sum(_tell_of(endpoint, now) for endpoint in _failing_untold(now))


@transaction.atomic
def _tell_of(endpoint: Endpoint, now: datetime) -> bool:
    """Queue the mails and mark them as sent in one transaction, so that two sweeps mail only once."""
    marked = Endpoint.objects.filter(
        pk=endpoint.pk, failing_since=endpoint.failing_since, owner_told_at=endpoint.owner_told_at
    ).update(owner_told_at=now)
    if marked:
        _mail_owners(endpoint, now)
    return bool(marked)


def _failing_untold(now: datetime) -> list[Endpoint]:
    first, second = TELL_AFTER
    never = Q(failing_since__lte=now - first, owner_told_at=None)
    again = Q(failing_since__lte=now - second, owner_told_at__lt=F("failing_since") + second)
    # Of their devices and chats people see in the dashboard.
    rows = Endpoint.objects.filter(never | again, disabled_at=None).exclude(mode=NOTES)
    return list(rows.select_related("merchant").order_by("pk"))


def _mail_owners(endpoint: Endpoint, now: datetime) -> None:
    log.warning(
        "a webhook endpoint keeps failing",
        merchant=endpoint.merchant.public_id,
        endpoint=endpoint.pk,
        failing_since=str(endpoint.failing_since),
    )
    mail_owners(
        endpoint.merchant_id,
        key=f"endpoint:{endpoint.pk}:{now:%Y%m%dT%H%M%S}",
        subject=format_lazy(
            pgettext_lazy("team", "Your webhook endpoint does not answer ({merchant})"), merchant=endpoint.merchant.name
        ),
        text=format_lazy(_SILENT, since=endpoint.failing_since, url=endpoint.url),
        now=now,
    )
