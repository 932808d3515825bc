"""The pages of a mode's API keys: list, create, show once, change, rotate, revoke."""

from datetime import datetime, timedelta
from typing import Any, Final

from allauth.core.exceptions import ReauthenticationRequired
from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.defaultfilters import date
from django.utils import timezone
from django.utils.translation import gettext, ngettext, pgettext
from django.views.decorators.debug import sensitive_variables

from accounts.audit.actors import actor_of
from accounts.freshness import is_fresh, needs_proof
from accounts.keys.forms import KeyForm, RotateForm
from accounts.keys.service import (
    WARN_BEFORE,
    WideningError,
    change_api_key,
    create_api_key,
    revoke_api_key,
    rotate_api_key,
)
from accounts.models import ApiKey
from accounts.states import Preset
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from accounts.team.selectors import keys_of
from gateway.core.api.errors import ConflictError
from gateway.core.web.badges import Badge
from gateway.core.web.form_errors import words_of

_UNUSED: Final = timedelta(days=90)
_REFUSED: Final = timedelta(days=7)


@seated(get=Act.SEE)
def keys(request: SeatedRequest) -> HttpResponse:
    """List the keys without their secrets, which are not stored."""
    now = timezone.now()
    found = [_row(key, now) for key in keys_of(request.seat.merchant, mode=request.seat.mode)]
    return render(request, "dashboard/accounts/keys.html", {"rows": found})


@seated(get=Act.MANAGE_KEYS, post=Act.MANAGE_KEYS, fresh=True)
@sensitive_variables("secret")
def create(request: SeatedRequest) -> HttpResponse:
    """Create a key. No other response contains its secret."""
    form = KeyForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return render(request, "dashboard/accounts/new_key.html", {"form": form}, status=422 if form.is_bound else 200)
    now = timezone.now()
    key, secret = create_api_key(
        request.seat.merchant,
        mode=request.seat.mode,
        name=form.cleaned_data["name"],
        powers=form.powers(now=now),
        now=now,
        actor=actor_of(request),
    )
    return render(request, "dashboard/accounts/key_created.html", {"key": key, "secret": secret})


@seated(get=Act.SEE)
def key(request: SeatedRequest, *, key_id: str) -> HttpResponse:
    """Show one key: what it may do, where it was used, and what an owner can change."""
    return _page(request, _key(request, key_id))


@seated(post=Act.MANAGE_KEYS)
def change(request: SeatedRequest, *, key_id: str) -> HttpResponse:
    """Change a key. One that would do more afterwards needs a recent login."""
    found, now = _key(request, key_id), timezone.now()
    form = KeyForm(request.POST, key=found)
    if not form.is_valid():
        return _page(request, found, form)
    name, may_widen = form.cleaned_data["name"], is_fresh(request, now=now)
    try:
        change_api_key(
            found, name=name, powers=form.powers(now=now), may_widen=may_widen, now=now, actor=actor_of(request)
        )
    except WideningError:
        needs_proof(request, now=now)
        raise ReauthenticationRequired from None
    except ConflictError as error:
        messages.error(request, words_of(error))
    else:
        messages.success(
            request, gettext("The key %(name)s is changed. All servers know within seconds.") % {"name": name}
        )
    return HttpResponseRedirect(request.seat.url("dashboard_key", key_id=key_id))


@seated(post=Act.MANAGE_KEYS, fresh=True)
@sensitive_variables("secret")
def rotate(request: SeatedRequest, *, key_id: str) -> HttpResponse:
    """Create a key that may do the same, and let the old one end. No other response contains the new secret."""
    old, form = _key(request, key_id), RotateForm(request.POST)
    if not form.is_valid():
        return _page(request, old, rotation=form)
    try:
        fresh, secret = rotate_api_key(
            old, ends_in=form.cleaned_data["ends"], now=timezone.now(), actor=actor_of(request)
        )
    except ConflictError as error:
        messages.error(request, words_of(error))
        return HttpResponseRedirect(request.seat.url("dashboard_key", key_id=key_id))
    old.refresh_from_db()
    return render(request, "dashboard/accounts/key_created.html", {"key": fresh, "secret": secret, "old": old})


@seated(post=Act.MANAGE_KEYS, fresh=True)
def revoke(request: SeatedRequest, *, key_id: str) -> HttpResponse:
    """Revoke a key."""
    found = _key(request, key_id)
    revoke_api_key(found, now=timezone.now(), actor=actor_of(request))
    messages.success(request, gettext("The key %(name)s is revoked.") % {"name": found.name or found})
    return HttpResponseRedirect(request.seat.url("dashboard_keys"))


def _key(request: SeatedRequest, key_id: str) -> ApiKey:
    mine = keys_of(request.seat.merchant, mode=request.seat.mode)
    found = mine.filter(public_id=key_id).first()
    if found is None:
        raise Http404
    return found


def _page(
    request: SeatedRequest, found: ApiKey, form: KeyForm | None = None, rotation: RotateForm | None = None
) -> HttpResponse:
    row = _row(found, timezone.now())
    context = row | {"form": form or KeyForm(key=found), "rotation": rotation or RotateForm()}
    is_wrong = (form and form.errors) or (rotation and rotation.errors)
    return render(request, "dashboard/accounts/key.html", context, status=422 if is_wrong else 200)


def _row(found: ApiKey, now: datetime) -> dict[str, Any]:
    has_expired = found.expires_at is not None and found.expires_at <= now
    count = len(found.scopes)
    powers = (
        ngettext("%(count)s scope", "%(count)s scopes", count) % {"count": count}
        if found.preset == Preset.CUSTOM
        else found.get_preset_display()
    )
    return {
        "key": found,
        "powers": powers,
        "badges": list(_badges(found, now)),
        "has_ended": found.revoked_at is not None or has_expired,
    }


def _day(moment: datetime) -> str:
    return date(moment, pgettext("team", "j M Y"))


def _badges(found: ApiKey, now: datetime) -> list[Badge]:
    """Return what a person should know of a key: how it ended; else that it ends soon, is not used, or was refused."""
    if found.revoked_at is not None:
        ended = gettext("Revoked %(day)s") % {"day": _day(found.revoked_at)}
        return [Badge(ended, "bad")]
    if found.expires_at is not None and found.expires_at <= now:
        ended = gettext("Expired %(day)s") % {"day": _day(found.expires_at)}
        return [Badge(ended, "bad")]
    badges = []
    if found.expires_at is not None and found.expires_at - now <= WARN_BEFORE:
        days = (found.expires_at - now).days
        soon = gettext("Expires in %(days)s days") % {"days": days} if days > 1 else gettext("Expires within two days")
        badges.append(Badge(soon, "warn"))
    if now - (found.last_used_at or found.created_at) >= _UNUSED:
        badges.append(Badge(gettext("Unused for 90 days"), ""))
    if found.refused_at is not None and now - found.refused_at < _REFUSED:
        refusal = gettext("Refused: %(scope)s") % {"scope": found.refused_scope}
        badges.append(Badge(refusal, "warn"))
    return badges
