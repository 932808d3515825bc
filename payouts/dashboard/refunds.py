"""The form that asks for a refund of a checkout: how much, why, and where the link to the claim page goes."""

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone

from accounts.audit.actors import actor_of
from accounts.states import Mode
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.dashboard.details import find_checkout
from checkouts.models import Checkout
from checkouts.states import CheckoutException
from gateway.core.api.errors import ConflictError, InvalidRequestError, RateLimitError
from gateway.core.money import TOKEN_DIGITS, from_units, readable
from gateway.core.web.form_errors import add_refusal
from mails.addresses import writable
from payouts.mails import mail_claim
from payouts.models import REASON_LENGTH
from payouts.service import Requested, Terms, request_refund
from payouts.sources import Source, rests_of, source_transfers
from wallets.networks import chain_title


class RefundForm(forms.Form):
    """A refund: an amount in tokens, the reason that the recipient reads, and who gets the link."""

    amount = forms.DecimalField(max_digits=TOKEN_DIGITS, min_value=0)
    reason = forms.CharField(
        label="Reason", required=False, max_length=REASON_LENGTH, help_text="The recipient reads it on the claim page."
    )
    email = forms.CharField(
        label="Send the link to",
        required=False,
        max_length=254,
        widget=forms.TextInput(attrs={"autocomplete": "off", "inputmode": "email"}),
        help_text="The claim page asks for an address to pay to. Leave this empty to pass the link on yourself.",
    )

    def __init__(self, *args: Any, token: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["amount"].label = f"Amount in {token}"

    def clean_email(self) -> str:
        """Return an address that can be written to, or nothing. Raises ValidationError."""
        typed: str = self.cleaned_data["email"]
        email = writable(typed)
        if typed and not email:
            raise forms.ValidationError("Enter a valid email address.")
        return email


@seated(get=Act.REQUEST_PAYOUTS, post=Act.REQUEST_PAYOUTS)
def refund(request: SeatedRequest, *, checkout_id: str) -> HttpResponse:
    """Ask for a refund of a checkout, and reserve its money."""
    seat = request.seat
    checkout = find_checkout(seat, checkout_id)
    if checkout is None:
        raise Http404
    source = Source(checkout=checkout_id)
    try:
        transfers = source_transfers(source, merchant_id=seat.merchant.pk, mode=Mode(seat.mode))
    except ConflictError as error:
        return _back(request, checkout, error.message)
    rest = sum(one.units for one in rests_of(transfers))
    if not rest:
        return _back(request, checkout, "All of this checkout's money is refunded already, or about to be.")
    token, left = transfers[0].token, from_units(rest, transfers[0].decimals)
    shown = {"token": token, "network": chain_title(transfers[0].chain), "rest": left}
    if request.method != "POST":
        initial = {"amount": _suggested(checkout, left), "email": checkout.customer_email}
        form = RefundForm(initial=initial, token=token)
        return _page(request, checkout, form, shown)
    form = RefundForm(request.POST, token=token)
    if not form.is_valid():
        return _page(request, checkout, form, shown, status=422)
    try:
        asked = _ask(request, source, form)
    except InvalidRequestError as error:
        add_refusal(form, error)
        return _page(request, checkout, form, shown, status=422)
    except (ConflictError, RateLimitError) as error:
        form.add_error(None, error.message)
        return _page(request, checkout, form, shown, status=error.status)
    sent = f" The link is on its way to {asked.payout.email}." if asked.payout.email else " Pass its link on."
    messages.success(request, f"Refund created.{sent}")
    return HttpResponseRedirect(seat.url("dashboard_payout", payout_id=asked.payout.public_id))


@transaction.atomic
def _ask(request: SeatedRequest, source: Source, form: RefundForm) -> Requested:
    """Write the refund, and queue the mail with its link."""
    seat, now = request.seat, timezone.now()
    terms = Terms(reason=form.cleaned_data["reason"], email=form.cleaned_data["email"])
    amount = form.cleaned_data["amount"]
    asked = request_refund(
        seat.merchant, mode=Mode(seat.mode), source=source, amount=amount, terms=terms, now=now, actor=actor_of(request)
    )
    mail_claim(asked.payout, now=now)
    return asked


def _suggested(checkout: Checkout, rest: Decimal) -> str:
    """Return what was overpaid, or else all that is left, as a form writes it."""
    over = checkout.amount_received - checkout.amount if checkout.exception == CheckoutException.OVERPAID else rest
    return f"{min(over, rest).normalize():f}"


def _back(request: SeatedRequest, checkout: Checkout, why: str) -> HttpResponse:
    messages.error(request, why)
    return HttpResponseRedirect(request.seat.url("dashboard_checkout", checkout_id=checkout.public_id))


def _page(
    request: SeatedRequest, checkout: Checkout, form: RefundForm, shown: dict[str, Any], status: int = 200
) -> HttpResponse:
    context = shown | {"form": form, "checkout": checkout, "price": readable(checkout.amount)}
    return render(request, "dashboard/payouts/refund.html", context, status=status)
