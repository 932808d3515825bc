"""Starts and ends an operator's impersonation of a merchant; `accounts.team.operators` defines it."""

from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from accounts.models import Membership, Merchant
from accounts.states import Mode
from accounts.team.operators import IMPERSONATION_LASTS, begin_look, end_look
from gateway.operator.access import operator_of

_MINUTES: Final = IMPERSONATION_LASTS.seconds // 60


class ReasonForm(forms.Form):
    """The operator's reason for impersonation: the merchant reads it."""

    reason = forms.CharField(
        min_length=10,
        max_length=200,
        help_text="10 to 200 characters, such as a support ticket number.",
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
    )


def look_page(request: HttpRequest, merchant: Merchant, context: dict[str, Any]) -> HttpResponse:
    """Ask for a reason, then redirect to the merchant's pages. Team members are redirected at once, with their own role.

    `context` is what every page of the site needs.
    """
    if Membership.objects.filter(merchant=merchant, user=operator_of(request)).exists():
        return _to_pages(merchant)
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        reason = form.cleaned_data["reason"]
        begin_look(request, merchant, reason=reason, now=timezone.now())
        return _to_pages(merchant)
    shown = {"title": f"Look at the pages of {merchant.name}", "merchant": merchant, "minutes": _MINUTES, "form": form}
    return render(request, "gateway/operator/look.html", context | shown)


@require_POST
def stop_looking(request: HttpRequest) -> HttpResponse:
    """End this session's impersonation, if any, and redirect to the page where it began."""
    look = end_look(request, now=timezone.now())
    if look is None:
        return HttpResponseRedirect(reverse("dashboard"))
    messages.success(request, f"You stopped impersonating {look.merchant.name}.")
    return HttpResponseRedirect(reverse("admin:accounts_merchant_change", args=[look.merchant.pk]))


def _to_pages(merchant: Merchant) -> HttpResponse:
    here = {"mer_id": merchant.public_id, "mode": Mode.LIVE}
    return HttpResponseRedirect(reverse("dashboard_overview", kwargs=here))
