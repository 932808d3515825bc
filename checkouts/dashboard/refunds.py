"""The page that records a refund the merchant sent."""

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone

from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.dashboard.details import find_checkout
from checkouts.lifecycle.refunds import note_refund, refundable
from checkouts.models import Checkout
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.money import readable
from gateway.core.web.client_address import address_or_none
from gateway.core.web.form_errors import add_refusal


class RefundForm(forms.Form):
    """The refund's transaction."""

    refund_tx = forms.CharField(
        label="Transaction hash of the refund",
        max_length=200,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text="Copy it from your wallet or an explorer.",
    )


@seated(get=Act.RUN_PAYMENTS, post=Act.RUN_PAYMENTS)
def note(request: SeatedRequest, *, checkout_id: str) -> HttpResponse:
    """Ask for the transaction of a refund, and record it."""
    seat = request.seat
    checkout = find_checkout(seat, checkout_id)
    if checkout is None:
        raise Http404
    form = RefundForm(request.POST or None)
    back = HttpResponseRedirect(seat.url("dashboard_checkout", checkout_id=checkout_id))
    if hasattr(checkout, "refund_note") or not refundable(checkout):
        messages.error(request, "There is no refund to record for this checkout.")
        return back
    if request.method == "POST":
        if not _note(request, checkout, form):
            return _page(request, checkout, form, status=422)
        return back
    return _page(request, checkout, form)


def _note(request: SeatedRequest, checkout: Checkout, form: RefundForm) -> bool:
    """Record the refund; return whether that succeeded."""
    if not form.is_valid():
        return False
    try:
        note_refund(
            checkout,
            form.cleaned_data["refund_tx"],
            actor=request.user,
            address=address_or_none(request),
            now=timezone.now(),
        )
    except InvalidRequestError as error:
        add_refusal(form, error)
        return False
    except ConflictError as error:
        # A double click, or two people at once.
        messages.error(request, error.message)
        return True
    messages.success(request, "Refund noted.")
    return True


def _page(request: SeatedRequest, checkout: Checkout, form: RefundForm, status: int = 200) -> HttpResponse:
    context = {
        "form": form,
        "checkout": checkout,
        "price": readable(checkout.amount),
        "amount": readable(refundable(checkout)),
    }
    name = "dashboard/checkouts/note_refund.html"
    return render(request, name, context, status=status)
