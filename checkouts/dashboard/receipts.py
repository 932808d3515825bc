"""The page that sends a receipt by mail."""

from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone

from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.dashboard.details import find_checkout
from checkouts.errors import MailLimitError
from checkouts.lifecycle.receipts import reason_against_receipt, send_receipt
from checkouts.models import Checkout
from checkouts.rows import credited_transfers
from gateway.core.api.errors import InvalidRequestError
from gateway.core.money import readable
from gateway.core.web.client_address import address_or_none
from gateway.core.web.form_errors import add_refusal
from mails.addresses import writable

_USED_ONCE = "The address is used for this e-mail only. The checkout does not keep it."
_TEST = "In test mode, enter the address of a team member."


class ReceiptForm(forms.Form):
    """The address for a receipt. `nonce` detects a double click."""

    nonce = forms.UUIDField(initial=uuid4, widget=forms.HiddenInput)
    # No e-mail input: browsers refuse letters that internationalised addresses have.
    email = forms.CharField(
        label="E-mail address of the buyer",
        max_length=254,
        widget=forms.TextInput(attrs={"autocomplete": "off", "inputmode": "email"}),
    )

    def __init__(self, *args: Any, is_test: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].help_text = _TEST if is_test else _USED_ONCE

    def clean_email(self) -> str:
        """Validate the address. Raises ValidationError."""
        if not (email := writable(self.cleaned_data["email"])):
            raise forms.ValidationError("Enter a valid email address.")
        return email


@seated(get=Act.RUN_PAYMENTS, post=Act.RUN_PAYMENTS)
def send(request: SeatedRequest, *, checkout_id: str) -> HttpResponse:
    """Ask for the address of a checkout's receipt, and send it."""
    seat = request.seat
    checkout = find_checkout(seat, checkout_id)
    if checkout is None:
        raise Http404
    back = HttpResponseRedirect(seat.url("dashboard_checkout", checkout_id=checkout_id))
    if refusal := reason_against_receipt(checkout, credited_transfers([checkout.pk]).get(checkout.pk, [])):
        messages.error(request, refusal)
        return back
    is_test = seat.mode == "test"
    if request.method != "POST":
        known = {"email": checkout.customer_email}
        return _form(request, checkout, ReceiptForm(initial=known, is_test=is_test))
    form = ReceiptForm(request.POST, is_test=is_test)
    if status := _send(request, checkout, form):
        return _form(request, checkout, form, status)
    return back


def _send(request: SeatedRequest, checkout: Checkout, form: ReceiptForm) -> int:
    """Send the receipt; return 0, or the status of the response that shows an error."""
    is_valid = form.is_valid()
    if "nonce" in form.errors:
        raise BadRequest("A form of ours has a nonce.")
    if not is_valid:
        return 422
    email = form.cleaned_data["email"]
    try:
        is_first = send_receipt(
            checkout,
            email,
            nonce=form.cleaned_data["nonce"],
            actor=request.user,
            address=address_or_none(request),
            now=timezone.now(),
        )
    except InvalidRequestError as error:
        add_refusal(form, error)
        return 422
    except MailLimitError as error:
        form.add_error(None, str(error))
        return 429
    words = "is on its way" if is_first else "was already sent"
    messages.success(request, f"The receipt {words} to {email}.")
    return 0


def _form(request: SeatedRequest, checkout: Checkout, form: ReceiptForm, status: int = 200) -> HttpResponse:
    context = {"form": form, "checkout": checkout, "price": readable(checkout.amount)}
    name = "dashboard/checkouts/send_receipt.html"
    return render(request, name, context, status=status)
