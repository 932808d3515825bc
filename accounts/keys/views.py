"""The page of a mode's API keys: list, create, show once, revoke."""

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from accounts.audit.actors import actor_of
from accounts.keys.service import create_api_key, revoke_api_key
from accounts.models import ApiKey
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from accounts.team.selectors import keys_of
from accounts.words import LineField


class KeyForm(forms.Form):
    """The name of a new key. The page determines its mode."""

    name = LineField(
        label="What will use it",
        max_length=80,
        help_text="Such as “Web shop” or “Accounting”, so that you know which one to revoke.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


@seated(get=Act.SEE)
def keys(request: SeatedRequest) -> HttpResponse:
    """List the keys without their secrets, which are not stored."""
    return _page(request, KeyForm())


@seated(post=Act.MANAGE_KEYS, fresh=True)
@sensitive_variables("secret")
def create(request: SeatedRequest) -> HttpResponse:
    """Create a key. No other response contains its secret."""
    form = KeyForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    key, secret = create_api_key(
        request.seat.merchant,
        mode=request.seat.mode,
        name=form.cleaned_data["name"],
        now=timezone.now(),
        actor=actor_of(request),
    )
    return render(request, "dashboard/accounts/key_created.html", {"key": key, "secret": secret})


@seated(post=Act.MANAGE_KEYS, fresh=True)
def revoke(request: SeatedRequest, *, key_id: str) -> HttpResponse:
    """Revoke a key."""
    key = _key(request, key_id)
    revoke_api_key(key, now=timezone.now(), actor=actor_of(request))
    messages.success(request, f"The key {key.name or key} is revoked.")
    return HttpResponseRedirect(request.seat.url("dashboard_keys"))


def _key(request: SeatedRequest, key_id: str) -> ApiKey:
    mine = keys_of(request.seat.merchant, mode=request.seat.mode)
    key = mine.filter(public_id=key_id).first()
    if key is None:
        raise Http404
    return key


def _page(request: SeatedRequest, form: KeyForm, status: int = 200) -> HttpResponse:
    found = keys_of(request.seat.merchant, mode=request.seat.mode)
    context = {"keys": found, "form": form}
    return render(request, "dashboard/accounts/keys.html", context, status=status)
