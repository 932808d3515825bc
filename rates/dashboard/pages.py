"""The page of converted prices: which currencies there are, at which rates now, and the merchant's choices."""

from decimal import Decimal
from typing import Any, NamedTuple

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.audit.actors import actor_of
from accounts.merchants.service import set_price_currency, set_rate_margin
from accounts.models import MOST_RATE_MARGIN
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.currencies import USD, readable_rate
from rates.selectors import Quotable, form_currency, price_currencies, quotable_currencies

_HUNDRED = Decimal(100)


class MarginForm(forms.Form):
    """The merchant's margin, in per cent."""

    margin = forms.DecimalField(
        label=_("Margin in per cent"),
        min_value=0,
        max_value=MOST_RATE_MARGIN * _HUNDRED,
        decimal_places=2,
        help_text=_("Added to the rate of each new price that is not in USD, from 0 to 5. Buyers see it."),
    )


class CurrencyForm(forms.Form):
    """The currency that forms begin with."""

    price_currency = forms.ChoiceField(
        label=_("Currency of new checkouts and links"),
        help_text=_("Their forms begin with it, and each can be changed. The API and the till are not affected."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["price_currency"].choices = [(one, one) for one in (USD, *price_currencies())]  # type: ignore[attr-defined]


class RateRow(NamedTuple):
    """A currency, and its rate for people; `rate` is empty while there is none. `sources` are names."""

    currency: str
    rate: str
    sources: str


def _shown(one: Quotable) -> RateRow:
    if one.agreed is None:
        return RateRow(one.currency, "", "")
    names = ", ".join(reading.source for reading in one.agreed.evidence)
    return RateRow(one.currency, readable_rate(one.agreed.rate), names)


@seated(get=Act.SEE)
def prices(request: SeatedRequest) -> HttpResponse:
    """Show the currencies, their rates, the currency of forms, and the margin."""
    return _page(request)


@seated(post=Act.MANAGE_PRICES)
def currency(request: SeatedRequest) -> HttpResponse:
    """Set the currency that forms begin with."""
    form = CurrencyForm(request.POST)
    if not form.is_valid():
        return _page(request, currency_form=form, status=422)
    chosen = form.cleaned_data["price_currency"]
    set_price_currency(request.seat.merchant, chosen, now=timezone.now(), actor=actor_of(request))
    messages.success(request, gettext("Forms begin with %(chosen)s now.") % {"chosen": chosen})
    return HttpResponseRedirect(request.seat.url("dashboard_prices"))


@seated(post=Act.MANAGE_PRICES)
def margin(request: SeatedRequest) -> HttpResponse:
    """Set the margin. Checkouts that exist keep their quotes."""
    form = MarginForm(request.POST)
    if not form.is_valid():
        return _page(request, margin_form=form, status=422)
    share = form.cleaned_data["margin"] / _HUNDRED
    set_rate_margin(request.seat.merchant, share, now=timezone.now(), actor=actor_of(request))
    messages.success(request, gettext("Margin saved. It counts for checkouts that are created from now on."))
    return HttpResponseRedirect(request.seat.url("dashboard_prices"))


def _page(
    request: SeatedRequest,
    *,
    currency_form: CurrencyForm | None = None,
    margin_form: MarginForm | None = None,
    status: int = 200,
) -> HttpResponse:
    """Show the page; a form that was not posted has what is stored."""
    merchant = request.seat.merchant
    per_cent = (merchant.rate_margin * _HUNDRED).normalize()
    context = {
        "currency_form": currency_form or CurrencyForm(initial={"price_currency": form_currency(merchant)}),
        "margin_form": margin_form or MarginForm(initial={"margin": f"{per_cent:f}"}),
        "rows": [_shown(one) for one in quotable_currencies() if one.currency != USD],
    }
    return render(request, "dashboard/rates/prices.html", context, status=status)
