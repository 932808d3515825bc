"""Acts on a checkout's page: the team's note, a receipt by mail, a refund that the merchant sent, short money accepted."""

from datetime import datetime
from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.core.exceptions import BadRequest
from django.db import transaction
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.audit.actors import Actor, actor_of
from accounts.audit.service import record
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.dashboard.details import find_checkout
from checkouts.errors import MailLimitError
from checkouts.inbox.acceptances import accept_as_paid, undo_acceptance
from checkouts.inbox.pages import parse_accepted
from checkouts.lifecycle.receipts import reason_against_receipt, send_receipt
from checkouts.models import MOST_LETTERS, Acceptance, Checkout, TeamNote
from checkouts.rows import credited_transfers
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.web.form_errors import add_refusal, in_words, words_of
from mails.addresses import writable

_USED_ONCE = _("The address is used for this e-mail only. The checkout does not keep it.")
_TEST = _("In test mode, enter the address of a team member.")


class NoteForm(forms.Form):
    """The text of a note; an empty one removes it."""

    text = forms.CharField(
        label=_("Note"),
        required=False,
        max_length=MOST_LETTERS,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Only your team sees it. Leave it empty to remove it."),
    )

    def clean_text(self) -> str:
        """Normalise line breaks, which differ by browser."""
        text: str = self.cleaned_data["text"]
        return text.replace("\r\n", "\n")


def note_context(checkout: Checkout) -> dict[str, Any]:
    """Return what the note's template needs: the note or None, and its form."""
    note = TeamNote.objects.select_related("author").filter(checkout=checkout).first()
    return {"note": note, "form": NoteForm({"text": note.text}) if note else NoteForm()}


@seated(post=Act.RUN_PAYMENTS)
def note(request: SeatedRequest, *, checkout_id: str) -> HttpResponse:
    """Save, change or remove the team's note about a checkout."""
    checkout = find_checkout(request.seat, checkout_id)
    if checkout is None:
        raise Http404
    form = NoteForm(request.POST)
    if form.is_valid():
        text = form.cleaned_data["text"]
        write_note(checkout, text, actor=actor_of(request), now=timezone.now())
        messages.success(request, gettext("Note saved.") if text else gettext("Note removed."))
    else:
        messages.error(request, gettext("Note: %(errors)s") % {"errors": form.errors["text"][0]})
    url = request.seat.url("dashboard_checkout", checkout_id=checkout_id)
    return HttpResponseRedirect(url)


@transaction.atomic
def write_note(checkout: Checkout, text: str, *, actor: Actor, now: datetime) -> bool:
    """Replace the team's note, or remove it if `text` is empty; return whether anything changed.

    The audit log records the author and both texts. `text` has at most `MOST_LETTERS` characters.
    """
    # Locks the checkout, so that of two concurrent writers, the second one's audit entry has the first one's text.
    Checkout.objects.locked().get(pk=checkout.pk)
    known = TeamNote.objects.filter(checkout=checkout).first()
    before = known.text if known else ""
    if text == before:
        return False
    if text:
        values = {"text": text, "author": actor.person, "written_at": now}
        TeamNote.objects.update_or_create(checkout=checkout, defaults=values)
    else:
        TeamNote.objects.filter(checkout=checkout).delete()
    record(
        checkout.merchant,
        action="checkout.note_written",
        actor=actor,
        object_id=checkout.public_id,
        before={"note": before},
        after={"note": text},
        now=now,
    )
    return True


class ReceiptForm(forms.Form):
    """The address for a receipt. `nonce` detects a double click."""

    nonce = forms.UUIDField(initial=uuid4, widget=forms.HiddenInput)
    # No e-mail input: browsers refuse letters that internationalised addresses have.
    email = forms.CharField(
        label=_("E-mail address of the buyer"),
        max_length=254,
        widget=forms.TextInput(attrs={"autocomplete": "off", "inputmode": "email"}),
    )

    def __init__(self, *args: Any, is_test: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].help_text = _TEST if is_test else _USED_ONCE

    def clean_email(self) -> str:
        """Validate the address. Raises ValidationError."""
        if not (email := writable(self.cleaned_data["email"])):
            raise forms.ValidationError(gettext("Enter a valid email address."))
        return email


@seated(get=Act.RUN_PAYMENTS, post=Act.RUN_PAYMENTS)
def receipt(request: SeatedRequest, *, checkout_id: str) -> HttpResponse:
    """Ask for the address of a checkout's receipt, and send it."""
    seat = request.seat
    checkout = find_checkout(seat, checkout_id)
    if checkout is None:
        raise Http404
    back = HttpResponseRedirect(seat.url("dashboard_checkout", checkout_id=checkout_id))
    if refusal := reason_against_receipt(checkout, credited_transfers([checkout.pk]).get(checkout.pk, [])):
        messages.error(request, in_words(refusal))
        return back
    is_test = seat.mode == "test"
    if request.method != "POST":
        known = {"email": checkout.customer_email}
        return _receipt_form(request, checkout, ReceiptForm(initial=known, is_test=is_test))
    form = ReceiptForm(request.POST, is_test=is_test)
    if status := _send(request, checkout, form):
        return _receipt_form(request, checkout, form, status)
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
            checkout, email, nonce=form.cleaned_data["nonce"], actor=actor_of(request), now=timezone.now()
        )
    except InvalidRequestError as error:
        add_refusal(form, error)
        return 422
    except MailLimitError as error:
        form.add_error(None, words_of(error))
        return 429
    words = (
        gettext("The receipt is on its way to %(email)s.")
        if is_first
        else gettext("The receipt was already sent to %(email)s.")
    )
    messages.success(request, words % {"email": email})
    return 0


def _receipt_form(request: SeatedRequest, checkout: Checkout, form: ReceiptForm, status: int = 200) -> HttpResponse:
    context = {"form": form, "checkout": checkout, "price": checkout.asked}
    name = "dashboard/checkouts/send_receipt.html"
    return render(request, name, context, status=status)


@seated(post=Act.RUN_PAYMENTS)
def accept(request: SeatedRequest, *, checkout_id: str) -> HttpResponse:
    """Accept what a checkout received as its full payment."""
    checkout = find_checkout(request.seat, checkout_id)
    if checkout is None:
        raise Http404
    amount = parse_accepted(request.POST.get("accepted", ""))
    if amount is None:
        raise BadRequest("A form of ours has the sum that its page showed.")
    try:
        accept_as_paid(checkout, amount=amount, now=timezone.now(), actor=actor_of(request))
    except ConflictError as error:
        messages.error(request, gettext("Nothing was changed. %(message)s") % {"message": words_of(error)})
    return HttpResponseRedirect(request.seat.url("dashboard_checkout", checkout_id=checkout_id))


@seated(post=Act.RUN_PAYMENTS)
def undo_accept(request: SeatedRequest, *, checkout_id: str, acceptance_id: int) -> HttpResponse:
    """Undo an acceptance."""
    mine = Acceptance.objects.filter(checkout__merchant=request.seat.merchant, checkout__mode=request.seat.mode)
    made = mine.filter(pk=acceptance_id, checkout__public_id=checkout_id)
    if (acceptance := made.select_related("checkout__merchant").first()) is None:
        raise Http404
    try:
        undo_acceptance(acceptance, now=timezone.now(), actor=actor_of(request))
    except ConflictError as error:
        messages.error(request, words_of(error))
    else:
        messages.success(request, gettext("Undone. Nothing has changed."))
    return HttpResponseRedirect(request.seat.url("dashboard_checkout", checkout_id=checkout_id))
