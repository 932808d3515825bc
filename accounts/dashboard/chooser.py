"""The dashboard's entry page: redirects to a merchant, or creates one."""

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from accounts.merchants.service import create_merchant
from accounts.models import Merchant
from accounts.states import Mode
from accounts.team.access import PersonRequest, signed_in
from accounts.team.forms import MerchantForm
from accounts.team.selectors import merchants_of
from gateway.core.web.client_address import address_or_none


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
        merchant = create_merchant(
            name=form.cleaned_data["name"], owner=request.user, now=timezone.now(), address=address_or_none(request)
        )
        return _to_merchant(merchant)
    context = {"form": form, "merchants": merchants_of(request.user)}
    return render(request, "dashboard/new_merchant.html", context)


def _to_merchant(merchant: Merchant) -> HttpResponse:
    path = {"mer_id": merchant.public_id, "mode": Mode.LIVE}
    return HttpResponseRedirect(reverse("dashboard_overview", kwargs=path))
