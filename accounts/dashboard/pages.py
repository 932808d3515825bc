"""The dashboard's entry page, which leads to a merchant or creates one, and the export page of all its data."""

from collections.abc import Iterator

from django import forms
from django.conf import settings
from django.http import HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _

from accounts.audit.actors import actor_of
from accounts.audit.service import record
from accounts.merchants.service import create_merchant
from accounts.models import Merchant
from accounts.states import Mode
from accounts.team.access import PersonRequest, SeatedRequest, seated, signed_in
from accounts.team.permissions import Act
from accounts.team.selectors import merchants_of
from accounts.words import LineField
from gateway.core.exports import ExportTable, zip_response


class MerchantForm(forms.Form):
    """The name of a business."""

    name = LineField(
        label=_("Name of your business"),
        max_length=120,
        help_text=_("Buyers see it when they pay."),
        widget=forms.TextInput(attrs={"autocomplete": "organization"}),
    )


@signed_in("GET")
def choose(request: PersonRequest) -> HttpResponse:
    """Redirect to the person's first merchant, or to the form for a new one."""
    merchants = merchants_of(request.user)
    if not merchants:
        return HttpResponseRedirect(reverse("dashboard_new_merchant"))
    return _to_merchant(merchants[0])


@signed_in("GET", "POST")
def new_merchant(request: PersonRequest) -> HttpResponse:
    """Create a merchant owned by the current person."""
    form = MerchantForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        merchant = create_merchant(name=form.cleaned_data["name"], actor=actor_of(request), now=timezone.now())
        return _to_merchant(merchant)
    context = {"form": form, "merchants": merchants_of(request.user)}
    return render(request, "dashboard/accounts/new_merchant.html", context)


def _to_merchant(merchant: Merchant) -> HttpResponse:
    path = {"mer_id": merchant.public_id, "mode": Mode.LIVE}
    return HttpResponseRedirect(reverse("dashboard_overview", kwargs=path))


@seated(get=Act.SEE)
def data_export(request: SeatedRequest) -> HttpResponse:
    """Show what an export contains."""
    return render(request, "dashboard/accounts/export.html")


@seated(post=Act.CLOSE, fresh=True)
def download(request: SeatedRequest) -> HttpResponseBase:
    """Send the export, after auditing it."""
    merchant = request.seat.merchant
    record(
        merchant,
        action="merchant.data_exported",
        actor=actor_of(request),
        object_id=merchant.public_id,
        now=timezone.now(),
    )
    return zip_response(f"florin-{merchant.public_id}", _tables(merchant))


def _tables(merchant: Merchant) -> Iterator[ExportTable]:
    for name in settings.DATA_EXPORTS:
        yield from import_string(name)(merchant)
