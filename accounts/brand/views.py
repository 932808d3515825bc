"""The settings pages of branding, with a preview, and of the checkout page."""

from dataclasses import replace
from typing import Any, Final

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone

from accounts.brand.facts import Brand, brand_of
from accounts.brand.forms import BrandingForm, CheckoutPageForm
from accounts.brand.preview import preview_notes, preview_stylesheet
from accounts.brand.service import change_branding
from accounts.merchants.service import BUYERS_MAY_RETRY, MAILS_RECEIPTS, ROUND_PRICE_RIVALS, turn
from accounts.models import Branding
from accounts.team.permissions import Act
from accounts.team.seats import SeatedRequest, seated
from gateway.core.api.errors import InvalidRequestError
from gateway.core.web.client_address import address_or_none
from gateway.core.web.form_errors import add_refusal

_TEXTS: Final = ("display_name", "accent", "support_url", "terms_url", "return_label")
# The lengths of the columns; saving would refuse anything longer.
_PREVIEWED: Final = {"display_name": 80, "return_label": 40}


@seated(get=Act.SEE, post=Act.MANAGE_BRANDING)
def branding(request: SeatedRequest) -> HttpResponse:
    """Show the branding; save changes."""
    present = _present(request)
    if request.method != "POST":
        initial = {name: getattr(present, name) for name in _TEXTS} if present else {}
        return _page(request, BrandingForm(initial=initial))
    form = BrandingForm(request.POST, request.FILES)
    if form.is_valid() and _save(request, form):
        messages.success(request, "Branding saved.")
        return _back(request)
    return _page(request, form, status=422)


@seated(post=Act.MANAGE_BRANDING)
def checkout_page(request: SeatedRequest) -> HttpResponse:
    """Save the checkout page's switches."""
    form = CheckoutPageForm(request.POST)
    form.is_valid()
    now, address = timezone.now(), address_or_none(request)
    for switch in (BUYERS_MAY_RETRY, MAILS_RECEIPTS, ROUND_PRICE_RIVALS):
        turn(
            request.seat.merchant,
            switch,
            to=form.cleaned_data[switch.field],
            now=now,
            actor=request.user,
            address=address,
        )
    messages.success(request, "Saved.")
    return _back(request)


@seated(get=Act.SEE)
def preview(request: SeatedRequest) -> HttpResponse:
    """Render a part of the checkout page in both themes from an unsaved form."""
    texts = {name: request.GET.get(name, "")[:most] for name, most in _PREVIEWED.items()}
    accent = request.GET.get("accent", "").strip().lower()
    brand = _brand(request)
    shown = replace(
        brand,
        name=texts["display_name"].strip() or request.seat.merchant.name,
        return_label=texts["return_label"].strip(),
    )
    context = {"brand": shown, "notes": preview_notes(accent)}
    return render(request, "dashboard/branding/_preview.html", context)


@seated(get=Act.SEE)
def preview_style(request: SeatedRequest) -> HttpResponse:
    """Return the colours of a preview."""
    accent = request.GET.get("accent", "").strip().lower()
    return HttpResponse(preview_stylesheet(accent), content_type="text/css")


def _save(request: SeatedRequest, form: BrandingForm) -> bool:
    try:
        change_branding(
            request.seat.merchant,
            changes=form.changes(),
            now=timezone.now(),
            actor=request.user,
            address=address_or_none(request),
        )
    except InvalidRequestError as error:
        add_refusal(form, error)
        return False
    return True


def _present(request: SeatedRequest) -> Branding | None:
    mine = Branding.objects.defer("logo").filter(merchant=request.seat.merchant)
    return mine.first()


def _brand(request: SeatedRequest) -> Brand:
    if present := _present(request):
        request.seat.merchant.branding = present
    return brand_of(request.seat.merchant)


def _back(request: SeatedRequest) -> HttpResponse:
    return HttpResponseRedirect(request.seat.url("dashboard_branding"))


def _page(request: SeatedRequest, form: BrandingForm, status: int = 200) -> HttpResponse:
    merchant = request.seat.merchant
    accent = str(form["accent"].value() or "").strip().lower()
    switches: dict[str, Any] = {
        "buyers_may_retry": merchant.buyers_may_retry,
        "mails_receipts": merchant.mails_receipts,
        "round_price_rivals": merchant.round_price_rivals,
    }
    context = {
        "form": form,
        "brand": _brand(request),
        "accent": accent,
        "notes": preview_notes(accent),
        "switches": CheckoutPageForm(initial=switches),
    }
    return render(request, "dashboard/branding/page.html", context, status=status)
