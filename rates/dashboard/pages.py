"""The page of converted prices: which currencies there are, at which rates now, and the merchant's margin."""

from decimal import Decimal
from typing import NamedTuple

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone

from accounts.audit.actors import actor_of
from accounts.merchants.service import set_rate_margin
from accounts.models import MOST_RATE_MARGIN
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.currencies import USD, readable_rate
from rates.selectors import Quotable, quotable_currencies

_HUNDRED = Decimal(100)


class MarginForm(forms.Form):
    """The merchant's margin, in per cent."""

    margin = forms.DecimalField(
        label="Margin in per cent",
        min_value=0,
        max_value=MOST_RATE_MARGIN * _HUNDRED,
        decimal_places=2,
        help_text="Added to the rate of each new price that is not in USD, from 0 to 5. Buyers see it.",
    )


class ShownRate(NamedTuple):
    """A currency, and its rate for people; `rate` is empty while there is none. `sources` are names."""

    currency: str
    rate: str
    sources: str


def _shown(one: Quotable) -> ShownRate:
    if one.agreed is None:
        return ShownRate(one.currency, "", "")
    names = ", ".join(reading.source for reading in one.agreed.evidence)
    return ShownRate(one.currency, readable_rate(one.agreed.rate), names)


@seated(get=Act.SEE)
def prices(request: SeatedRequest) -> HttpResponse:
    """Show the currencies, their rates, and the margin."""
    margin = (request.seat.merchant.rate_margin * _HUNDRED).normalize()
    return _page(request, MarginForm(initial={"margin": f"{margin:f}"}))


@seated(post=Act.MANAGE_PRICES)
def margin(request: SeatedRequest) -> HttpResponse:
    """Set the margin. Checkouts that exist keep their quotes."""
    form = MarginForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    share = form.cleaned_data["margin"] / _HUNDRED
    set_rate_margin(request.seat.merchant, share, now=timezone.now(), actor=actor_of(request))
    messages.success(request, "Margin saved. It counts for checkouts that are created from now on.")
    return HttpResponseRedirect(request.seat.url("dashboard_prices"))


def _page(request: SeatedRequest, form: MarginForm, *, status: int = 200) -> HttpResponse:
    rows = [_shown(one) for one in quotable_currencies() if one.currency != USD]
    return render(request, "dashboard/rates/prices.html", {"form": form, "rows": rows}, status=status)
