"""The merchant's pages of terminals: the list, one terminal with its device, its day's sheet, and its counter sign."""

from datetime import date
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_post_parameters

from accounts.audit.actors import actor_of
from accounts.brand.facts import brand_of, with_brand
from accounts.merchants.time_zones import zone_of
from accounts.states import Mode
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.models import Terminal
from checkouts.models.terminals import MOST_PERCENT, MOST_TIPS, NAME_LENGTH
from checkouts.page.qr import qr_code
from checkouts.till.days import day_of_terminal, shown_sales
from checkouts.till.pairing import (
    PAIRING_LASTS,
    PIN,
    TerminalValues,
    add_terminal,
    change_terminal,
    offer_pairing,
    pairing_address,
    revoke_terminal,
    status_of,
)
from checkouts.till.paper import asked_guides, asked_paper
from checkouts.till.service import latest_sales, sign_url
from gateway.core.api.errors import ConflictError
from gateway.core.api.fields import ascii_digits
from gateway.core.currencies import USD
from gateway.core.times import parse_day, today_in
from gateway.core.web.form_errors import words_of
from rates.selectors import has_prices, price_currencies
from wallets.networks import chain_spec, chains, known_chains


class TerminalForm(forms.Form):
    """What a person chooses about a terminal."""

    name = forms.CharField(
        label=_("Name"), max_length=NAME_LENGTH, help_text=_("Customers see it on their payment page.")
    )
    currency = forms.ChoiceField(
        label=_("Currency"),
        help_text=_(
            "Of what is typed. Another one than US dollars is converted when a sale is made, as for checkouts."
        ),
    )
    tips = forms.CharField(
        label=_("Tips in percent"),
        required=False,
        max_length=40,
        help_text=_("Up to four, such as 5, 10, 15. Empty: the device asks for no tip."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "5, 10, 15"}),
    )
    chain = forms.ChoiceField(
        label=_("First code"), required=False, help_text=_("A sale shows it first. The others are one tap away.")
    )
    chains = forms.MultipleChoiceField(
        label=_("Networks that stand first"),
        required=False,
        help_text=_("The others are behind “Other network”. None: all stand in one row."),
        widget=forms.CheckboxSelectMultiple,
    )
    shows_day = forms.BooleanField(label=_("The device shows today's sums"), required=False)
    pin = forms.CharField(
        label=_("New PIN"),
        required=False,
        max_length=12,
        help_text=_(
            "Four to six digits. The device asks for it after five minutes without use. Empty: nothing changes."
        ),
        widget=forms.PasswordInput(attrs={"inputmode": "numeric", "autocomplete": "new-password"}),
    )
    drops_pin = forms.BooleanField(label=_("Ask for no PIN any more"), required=False)
    has_sign = forms.BooleanField(
        label=_("Counter sign"),
        required=False,
        help_text=_(
            "A printed code with which customers type the amount themselves. Sales by it appear on the device."
        ),
    )

    def __init__(self, *args: Any, has_pin: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        present = self.initial.get("currency", USD)
        # One that the operator took out of the setting stays until a person chooses another.
        offered = dict.fromkeys((USD, *price_currencies(), present))
        self.fields["currency"].choices = [(one, one) for one in offered]  # type: ignore[attr-defined]
        if not has_prices() and present == USD:
            del self.fields["currency"]
        if not has_pin:
            del self.fields["drops_pin"]
        known = sorted(chains().values(), key=lambda spec: spec.priority)
        self.fields["chain"].choices = [  # type: ignore[attr-defined]
            ("", gettext("The payment page, for the customer's phone")),
            *((spec.name, spec.title) for spec in known),
        ]
        self.fields["chains"].choices = [(spec.name, spec.title) for spec in known]  # type: ignore[attr-defined]

    def clean_tips(self) -> list[int]:
        """Read the percents."""
        parts = self.cleaned_data["tips"].replace("%", " ").replace(",", " ").split()
        if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= MOST_PERCENT for part in parts):
            raise forms.ValidationError(
                gettext("Enter whole numbers from 1 to %(MOST_PERCENT)s.") % {"MOST_PERCENT": MOST_PERCENT}
            )
        tips = sorted({int(part) for part in parts})
        if len(tips) > MOST_TIPS:
            raise forms.ValidationError(gettext("Enter %(MOST_TIPS)s at most.") % {"MOST_TIPS": MOST_TIPS})
        return tips

    def clean_pin(self) -> str:
        """Read the digits, of any script."""
        pin = ascii_digits(self.cleaned_data["pin"])
        if pin and not PIN.fullmatch(pin):
            raise forms.ValidationError(gettext("Enter four to six digits."))
        return pin

    @property
    def values(self) -> TerminalValues:
        """Return what was chosen; the form is valid."""
        chosen = {"currency": USD} | self.cleaned_data
        drops = chosen.pop("drops_pin", False)
        # A new PIN goes before: without one, nothing changes unless the present one is dropped.
        pin = chosen.pop("pin") or ("" if drops else None)
        return TerminalValues(**chosen, pin=pin)


def _initial(terminal: Terminal) -> dict[str, Any]:
    return {
        "name": terminal.name,
        "currency": terminal.currency,
        "tips": ", ".join(map(str, terminal.tips)),
        "chain": terminal.chain,
        "chains": terminal.chains,
        "shows_day": terminal.shows_day,
        "has_sign": terminal.has_sign,
    }


@seated(get=Act.SEE)
def terminals(request: SeatedRequest) -> HttpResponse:
    """List the terminals, newest first; revoked ones last."""
    mine = _mine(request.seat).order_by("-pk")
    rows = sorted(mine, key=lambda terminal: terminal.revoked_at is not None)
    context = {"rows": [(terminal, status_of(terminal).badge) for terminal in rows]}
    return render(request, "dashboard/checkouts/terminals.html", context)


@sensitive_post_parameters("pin")
@seated(get=Act.RUN_PAYMENTS, post=Act.RUN_PAYMENTS)
def new_terminal(request: SeatedRequest) -> HttpResponse:
    """Show the form for a new terminal, and add it."""
    form = TerminalForm(request.POST if request.method == "POST" else None)
    if request.method != "POST" or not form.is_valid():
        return _form(request, form, None)
    seat = request.seat
    added = add_terminal(seat.merchant, Mode(seat.mode), form.values, actor=actor_of(request), now=timezone.now())
    messages.success(request, gettext("%(name)s is added. Pair a device with it.") % {"name": added.name})
    return _to_terminal(seat, added)


@sensitive_post_parameters("pin")
@seated(get=Act.RUN_PAYMENTS, post=Act.RUN_PAYMENTS)
def edit_terminal(request: SeatedRequest, *, terminal_id: str) -> HttpResponse:
    """Show a terminal's form, and change it."""
    found = _found(request.seat, terminal_id)
    sent = request.POST if request.method == "POST" else None
    form = TerminalForm(sent, initial=_initial(found), has_pin=bool(found.pin_hash))
    if request.method != "POST" or not form.is_valid():
        return _form(request, form, found)
    try:
        change_terminal(found, form.values, actor=actor_of(request), now=timezone.now())
    except ConflictError as error:
        messages.error(request, words_of(error))
    else:
        messages.success(request, gettext("%(name)s is changed.") % {"name": form.values.name})
    return _to_terminal(request.seat, found)


@seated(get=Act.SEE)
def terminal(request: SeatedRequest, *, terminal_id: str) -> HttpResponse:
    """Show one terminal."""
    return _page(request, _found(request.seat, terminal_id))


@seated(post=Act.RUN_PAYMENTS)
def pair_terminal(request: SeatedRequest, *, terminal_id: str) -> HttpResponse:
    """Show a code that pairs a device. It is on this answer alone, and in no address and no log."""
    found = _found(request.seat, terminal_id)
    try:
        code = offer_pairing(found, actor=actor_of(request), now=timezone.now())
    except ConflictError as error:
        messages.error(request, words_of(error))
        return _to_terminal(request.seat, found)
    address = pairing_address()
    offered = {
        "code": code,
        "address": address,
        "qr": qr_code(pairing_address(code)),
        "minutes": PAIRING_LASTS.seconds // 60,
    }
    return _page(request, found, offered=offered)


@seated(post=Act.RUN_PAYMENTS)
def revoke(request: SeatedRequest, *, terminal_id: str) -> HttpResponse:
    """Revoke a terminal."""
    found = _found(request.seat, terminal_id)
    revoke_terminal(found, actor=actor_of(request), now=timezone.now())
    messages.success(
        request, gettext("%(name)s is revoked. Its device can do nothing any more.") % {"name": found.name}
    )
    return _to_terminal(request.seat, found)


@seated(get=Act.SEE)
def terminal_day(request: SeatedRequest, *, terminal_id: str) -> HttpResponse:
    """Show a terminal's day, to print. Another day by `?day=2026-11-28`. Raises Http404 for what is no day."""
    found = _found(request.seat, terminal_id)
    zone = zone_of(request.seat.merchant)
    today = today_in(zone, now=timezone.now())
    context = {"terminal": found, "day": day_of_terminal(found, _asked_day(request, today), zone), "today": today}
    with timezone.override(zone):
        return render(request, "dashboard/checkouts/terminal_day.html", context)


@seated(get=Act.SEE)
def terminal_sign(request: SeatedRequest, *, terminal_id: str) -> HttpResponse:
    """Show a terminal's counter sign, to print, in the languages of `?language=` and the size of `?paper=`.

    Raises Http404 if it has none.
    """
    found = _found(request.seat, terminal_id)
    if not found.has_sign or found.revoked_at is not None:
        raise Http404
    address = sign_url(found)
    context = {
        "brand": brand_of(found.merchant),
        "title": found.name,
        "address": address,
        "qr": qr_code(address),
        **asked_guides(request.GET.getlist("language")),
        **asked_paper(request.GET.get("paper", "")),
    }
    return render(request, "dashboard/checkouts/terminal_sign.html", context)


def _asked_day(request: SeatedRequest, today: date) -> date:
    text = request.GET.get("day", "")
    if not text:
        return today
    asked = parse_day(text)
    if asked is None:
        raise Http404
    return asked


def _mine(seat: Seat) -> QuerySet[Terminal]:
    return Terminal.objects.filter(merchant=seat.merchant, mode=seat.mode)


def _found(seat: Seat, terminal_id: str) -> Terminal:
    """Return a terminal of the merchant and mode. Raises Http404."""
    found = with_brand(_mine(seat)).filter(public_id=terminal_id).first()
    if found is None:
        raise Http404
    return found


def _page(request: SeatedRequest, found: Terminal, *, offered: dict[str, Any] | None = None) -> HttpResponse:
    context = {
        "terminal": found,
        "badge": status_of(found).badge,
        "first_code": chain_spec(found.chain).title if found.chain in known_chains() else gettext("Payment page"),
        "sign": sign_url(found) if found.has_sign else "",
        "sales": shown_sales(latest_sales(found)),
        "offered": offered,
    }
    return render(request, "dashboard/checkouts/terminal.html", context)


def _form(request: SeatedRequest, form: TerminalForm, found: Terminal | None) -> HttpResponse:
    status = 422 if form.is_bound else 200
    context = {"form": form, "terminal": found}
    return render(request, "dashboard/checkouts/terminal_form.html", context, status=status)


def _to_terminal(seat: Seat, found: Terminal) -> HttpResponse:
    return HttpResponseRedirect(seat.url("dashboard_terminal", terminal_id=found.public_id))
