"""Where the dashboard begins: the merchant one was at last, or the first one, or making one."""

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from accounts.merchants.service import create_merchant
from accounts.models import Merchant
from accounts.states import Mode
from accounts.team.forms import MerchantForm
from accounts.team.seats import (
    PersonRequest,
    signed_in,
)
from accounts.team.selectors import merchants_of
from gateway.core.web.client_address import address_or_none


@signed_in("GET")
def choose(request: PersonRequest) -> HttpResponse:
    """Go to the first merchant of the person; to making one, where there is none."""
    merchants = merchants_of(request.user)
    if not merchants:
        return HttpResponseRedirect(reverse("dashboard_new_merchant"))
    return _to_merchant(merchants[0])


@signed_in("GET", "POST")
def new_merchant(request: PersonRequest) -> HttpResponse:
    """Make a merchant whose owner is whoever asks."""
    form = MerchantForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        merchant = create_merchant(
            name=form.cleaned_data["name"],
            owner=request.user,
            now=timezone.now(),
            address=address_or_none(request),
        )
        return _to_merchant(merchant)
    context = {"form": form, "merchants": merchants_of(request.user)}
    return render(request, "dashboard/new_merchant.html", context)


def _to_merchant(merchant: Merchant) -> HttpResponse:
    path = {"mer_id": merchant.public_id, "mode": Mode.LIVE}
    return HttpResponseRedirect(reverse("dashboard_overview", kwargs=path))
