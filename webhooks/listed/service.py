"""Adds, changes and deletes listed endpoints, and rotates their secrets."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.text import format_lazy
from django.utils.translation import pgettext_lazy

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from accounts.models import Merchant
from accounts.states import Mode
from accounts.team.service import mail_owners
from gateway.core.api.errors import ConflictError, NotFoundError
from gateway.core.ids import new_id
from gateway.core.texts import Lazy, pgettext_noop
from webhooks.endpoints.secrets import DEFAULT_OVERLAP, give_secret, has_secret, rotate_own
from webhooks.endpoints.service import UNFAILED, UNSERVED, UNTRIED, disable_endpoint, enable_endpoint
from webhooks.models import LISTED, NAME_LENGTH, Delivery, Endpoint, SigningSecret
from webhooks.outbox.events import lock_choices, lock_stream
from webhooks.states import DeliveryStatus, Format

MOST_LISTED: Final = 20
"""How many endpoints a merchant may add in each mode, beside the default one."""

DEFAULT_ID: Final = "whe_default"
"""The id of a mode's default endpoint, whatever its URL."""

# What ends when an endpoint is deleted: also what failed, because a retry would send it there again.
_ENDED: Final = (DeliveryStatus.PENDING, DeliveryStatus.HELD, DeliveryStatus.FAILED)

Values = Mapping[str, Any]


def endpoints_of(merchant_id: int, mode: Mode) -> QuerySet[Endpoint]:
    """Return a merchant's listed endpoints and its default one."""
    rows = Endpoint.objects.filter(LISTED | Q(is_default=True), merchant=merchant_id, mode=mode)
    return rows.select_related("merchant")


def endpoint_named(merchant_id: int, mode: Mode, public_id: str) -> Endpoint:
    """Return one of `endpoints_of`. Raises NotFoundError."""
    rows = endpoints_of(merchant_id, mode)
    named = Q(is_default=True) if public_id == DEFAULT_ID else Q(is_default=False, public_id=public_id)
    endpoint = rows.filter(named).first()
    if endpoint is None:
        raise _nothing_there()
    return endpoint


def types_at(endpoint: Endpoint) -> set[str]:
    """Return the types of event that an endpoint chose, and the opt-in types of what is still sent there, or may be again."""
    waiting = Delivery.objects.filter(
        endpoint=endpoint,
        merchant=endpoint.merchant_id,
        mode=endpoint.mode,
        status__in=_ENDED,
        event_type__in=settings.WEBHOOK_OPT_IN_TYPES,
    )
    return {*(endpoint.events or ()), *waiting.values_list("event_type", flat=True).distinct()}


def id_of(endpoint: Endpoint) -> str:
    """Return the id that the API has for one of `endpoints_of`."""
    return DEFAULT_ID if endpoint.is_default else endpoint.public_id or ""


def chosen_events(types: Iterable[str]) -> list[str]:
    """Return types of event, each once and in our order, with those that another one implies."""
    wanted = set(types)
    for name in tuple(wanted):
        wanted.update(settings.WEBHOOK_EVENTS_IMPLIED.get(name, ()))
    return [name for name in settings.WEBHOOK_EVENT_TYPES if name in wanted]


@transaction.atomic
def add_endpoint(
    merchant: Merchant,
    *,
    mode: Mode,
    values: Values,
    secret: str = "",
    now: datetime,
    actor: Actor = SYSTEM,
    form: Format = Format.FLORIN,
) -> tuple[Endpoint, str]:
    """Add an endpoint with the `values` of `url`, `name`, `events` and `is_enabled`; return it with its secret.

    An endpoint of another `form` has a `dialect` in `values` too. `secret` is the caller's own, already checked; without one it gets a new one. A URL that checkouts named keeps its row, and from
    now on the endpoint's secret. Raises ConflictError (duplicate) where the URL is the default one or listed, and
    (capacity_exhausted) where MOST_LISTED are.
    """
    # Concurrent calls wait here, so that the limit is not passed.
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    # Before the choices are held: who changes an endpoint holds it, and waits for them.
    if endpoints_of(merchant.pk, mode).filter(url=values["url"]).exists():
        raise _duplicate()
    _hold_choices(merchant.pk, values["events"])
    if Endpoint.objects.filter(LISTED, merchant=merchant, mode=mode).count() >= MOST_LISTED:
        raise ConflictError(
            pgettext_noop("team", "{most} endpoints are listed; delete one first."),
            code="capacity_exhausted",
            values={"most": MOST_LISTED},
        )
    endpoint, _ = Endpoint.objects.select_for_update(no_key=True).get_or_create(
        merchant=merchant, mode=mode, url=values["url"], defaults={"created_at": now}
    )
    if endpoint.is_default or endpoint.public_id is not None:
        raise _duplicate()
    endpoint.public_id = new_id("whe")
    endpoint.name, endpoint.events = values["name"], values["events"]
    endpoint.created_at, endpoint.created_by = now, actor.name[:NAME_LENGTH]
    endpoint.format, endpoint.dialect = form, values.get("dialect")
    endpoint.save(update_fields=["public_id", "name", "events", "created_at", "created_by", "format", "dialect"])
    _switch(endpoint, on=values["is_enabled"], now=now, actor=actor)
    given = give_secret(endpoint, now=now, secret=secret)
    record(
        merchant,
        action="webhook_endpoint.added",
        actor=actor,
        object_id=endpoint.public_id,
        after={"mode": mode} | _described(endpoint),
        now=now,
    )
    _mail(endpoint, _ADDED, now, actor)
    return endpoint, given


@transaction.atomic
def locked_endpoint(endpoint: Endpoint) -> Endpoint:
    """Lock a listed endpoint and return it as it is now.

    Raises ConflictError for the default one, which people change in the dashboard, and NotFoundError for a deleted one.
    """
    rows = Endpoint.objects.select_for_update(no_key=True, of=("self",)).select_related("merchant")
    held = rows.get(pk=endpoint.pk)
    if held.is_default:
        raise ConflictError("People change the default endpoint, in the dashboard under Webhooks.")
    if held.public_id is None:
        raise _nothing_there()
    return held


@transaction.atomic
def change_endpoint(endpoint: Endpoint, *, values: Values, now: datetime, actor: Actor = SYSTEM) -> Endpoint:
    """Set `url`, `name`, `events` and `is_enabled`, and the `dialect` if there is one; waiting deliveries go to the new URL.

    Failures of the URL before are forgotten. Raises ConflictError (duplicate) where another endpoint has the URL, also one that only
    checkouts named, and what `locked_endpoint` raises.
    """
    held = locked_endpoint(endpoint)
    _hold_choices(held.merchant_id, values["events"])
    before = _described(held)
    changed = ["url", "name", "events", "dialect"]
    if values["url"] != held.url:
        # Otherwise what waits would wait for the probe of the URL before, and one failure more could disable the endpoint.
        for column, value in UNFAILED.items():
            setattr(held, column, value)
        changed += UNFAILED
    held.url, held.name, held.events = values["url"], values["name"], values["events"]
    held.dialect = values.get("dialect", held.dialect)
    try:
        with transaction.atomic():
            held.save(update_fields=changed)
    except IntegrityError as error:
        raise _duplicate() from error
    _switch(held, on=values["is_enabled"], now=now, actor=actor)
    after = _described(held)
    if after == before:
        return held
    record(
        held.merchant,
        action="webhook_endpoint.changed",
        actor=actor,
        object_id=held.public_id or "",
        before=before,
        after=after,
        now=now,
    )
    if after["url"] != before["url"]:
        _mail(held, _MOVED, now, actor)
    elif after["enabled"] and not before["enabled"]:
        _mail(held, _ENABLED, now, actor)
    elif after | {"name": before["name"]} != before:
        # Who turns it off, or takes types away, keeps a shop from hearing that a payment was taken back.
        _mail(held, _CHANGED, now, actor)
    return held


@transaction.atomic
def delete_endpoint(endpoint: Endpoint, *, now: datetime, actor: Actor = SYSTEM) -> None:
    """Delete a listed endpoint: its secrets end at once, and what did not arrive is cancelled.

    Its row and deliveries stay, for the lists, and for checkouts that name its URL: for them it is enabled. Raises what
    `locked_endpoint` raises.
    """
    held = locked_endpoint(endpoint)
    record(
        held.merchant,
        action="webhook_endpoint.deleted",
        actor=actor,
        object_id=held.public_id or "",
        before={"mode": held.mode} | _described(held),
        now=now,
    )
    held.public_id = held.events = held.dialect = None
    held.name = held.created_by = ""
    # A checkout that names the URL later means an ordinary one.
    held.format = Format.FLORIN
    held.save(update_fields=["public_id", "events", "dialect", "name", "created_by", "format"])
    # The URL is another endpoint once a checkout names it: that it was off, or failed, is forgotten.
    Endpoint.objects.filter(pk=held.pk).update(**UNTRIED, **UNSERVED)
    SigningSecret.objects.filter(endpoint=held).delete()
    # A publisher that still read the endpoint as listed must commit first, or its delivery would wait there.
    lock_stream(held.merchant_id, held.mode)
    Delivery.objects.filter(endpoint=held, status__in=_ENDED).update(
        status=DeliveryStatus.CANCELLED, is_due=False, finished_at=now
    )
    _mail(held, _DELETED, now, actor)


@transaction.atomic
def rotate_endpoint_secret(
    endpoint: Endpoint, *, now: datetime, overlap: timedelta = DEFAULT_OVERLAP, actor: Actor = SYSTEM
) -> str:
    """Rotate a listed endpoint's own secret alone and return the new one; the old one keeps signing for `overlap`.

    Raises what `locked_endpoint` raises.
    """
    held = locked_endpoint(endpoint)
    secret = rotate_own(held, now=now, overlap=overlap)
    _note_secret(held, _ROTATED, now, actor, overlap=overlap)
    return secret


@transaction.atomic
def replace_endpoint_secret(endpoint: Endpoint, *, secret: str = "", now: datetime, actor: Actor = SYSTEM) -> str:
    """Give a listed endpoint another secret of its own, `secret` or a new one, and return it; the one before ends at once.

    One that it has already stays, and nothing is noted. Raises what `locked_endpoint` raises.
    """
    held = locked_endpoint(endpoint)
    if secret and has_secret(held, secret):
        return secret
    given = give_secret(held, now=now, secret=secret)
    _note_secret(held, _REPLACED, now, actor, overlap=timedelta(0))
    return given


def _note_secret(endpoint: Endpoint, done: Lazy, now: datetime, actor: Actor, *, overlap: timedelta) -> None:
    """Audit another secret of an endpoint, and mail the owners."""
    record(
        endpoint.merchant,
        action="webhook_endpoint.secret_rotated",
        actor=actor,
        object_id=endpoint.public_id or "",
        after={"mode": endpoint.mode, "overlap_seconds": int(overlap.total_seconds())},
        now=now,
    )
    _mail(endpoint, done, now, actor)


def _hold_choices(merchant_id: int, events: Sequence[str] | None) -> None:
    """Let a merchant's endpoint choose opt-in types: no publisher that finds none chosen commits after the caller's transaction."""
    if not set(settings.WEBHOOK_OPT_IN_TYPES).isdisjoint(events or ()):
        lock_choices(merchant_id)


def _switch(endpoint: Endpoint, *, on: bool, now: datetime, actor: Actor) -> None:
    if on == endpoint.is_enabled:
        return
    if on:
        enable_endpoint(endpoint, now=now, actor=actor)
    else:
        # An e-mail address may be longer than the reason.
        disable_endpoint(endpoint, reason=f"Disabled by {actor.name[:NAME_LENGTH]}.", now=now, actor=actor)
    endpoint.refresh_from_db()


def _described(endpoint: Endpoint) -> dict[str, Any]:
    told = {"url": endpoint.url, "name": endpoint.name, "events": endpoint.events, "enabled": endpoint.is_enabled}
    # Of our types alone it would not be seen that a plugin is told fewer of its own.
    return told if endpoint.dialect is None else told | {"types": endpoint.dialect.get("events")}


_ADDED: Final = pgettext_lazy("team", "{actor} added a webhook endpoint of {merchant}, for {mode} events:")
_MOVED: Final = pgettext_lazy("team", "{actor} moved a webhook endpoint of {merchant}, for {mode} events:")
_ENABLED: Final = pgettext_lazy("team", "{actor} enabled a webhook endpoint of {merchant}, for {mode} events:")
_CHANGED: Final = pgettext_lazy("team", "{actor} changed a webhook endpoint of {merchant}, for {mode} events:")
_DELETED: Final = pgettext_lazy("team", "{actor} deleted a webhook endpoint of {merchant}, for {mode} events:")
_ROTATED: Final = pgettext_lazy(
    "team", "{actor} rotated the secret of a webhook endpoint of {merchant}, for {mode} events:"
)
_REPLACED: Final = pgettext_lazy(
    "team", "{actor} replaced the secret of a webhook endpoint of {merchant}, for {mode} events:"
)


def _mail(endpoint: Endpoint, what: Lazy, now: datetime, actor: Actor) -> None:
    """Mail all owners about a change by an actor; of one API key's changes, about the first in an hour."""
    if actor == SYSTEM:
        return
    merchant = endpoint.merchant
    moment = now.isoformat() if actor.user else f"{actor.name}:{now:%Y%m%d%H}"
    path = reverse("dashboard_webhooks", kwargs={"mer_id": merchant.public_id, "mode": endpoint.mode})
    mail_owners(
        merchant.pk,
        key=f"webhook_endpoints:{merchant.pk}:{endpoint.mode}:{moment}",
        subject=format_lazy(
            pgettext_lazy("team", "A webhook endpoint was changed ({merchant})"), merchant=merchant.name
        ),
        text=format_lazy(
            "{}\n\n  {}\n\n{}\n{}\n",
            format_lazy(what, actor=actor.name, merchant=merchant.name, mode=Mode(endpoint.mode).word),
            endpoint.url,
            pgettext_lazy(
                "team", "If you did not expect this, look at all endpoints, revoke the key, and check your team:"
            ),
            f"{settings.BASE_URL}{path}",
        ),
        now=now,
    )


def _duplicate() -> ConflictError:
    return ConflictError(pgettext_noop("team", "Another endpoint has this URL."), param="url", code="duplicate")


def _nothing_there() -> NotFoundError:
    return NotFoundError("There is no such webhook endpoint here.", param="endpoint_id")
