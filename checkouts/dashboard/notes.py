"""The team's note on the page of a checkout."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from accounts.team.permissions import Act
from accounts.team.seats import (
    SeatedRequest,
    seated,
)
from checkouts.dashboard.details import find_checkout
from checkouts.lifecycle.notes import write_note
from checkouts.models import Checkout, TeamNote
from checkouts.models.notes import MOST_LETTERS
from gateway.core.web.client_address import address_or_none


class NoteForm(forms.Form):
    """The text of a note; an empty one removes it."""

    text = forms.CharField(
        label="Note",
        required=False,
        max_length=MOST_LETTERS,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Only your team sees it. Leave it empty to remove it.",
    )

    def clean_text(self) -> str:
        """Normalise line breaks, whatever the browser sent."""
        text: str = self.cleaned_data["text"]
        return text.replace("\r\n", "\n")


def note_context(checkout: Checkout) -> dict[str, Any]:
    """Return what the note's template needs: the note or None, and its form."""
    note = TeamNote.objects.select_related("author").filter(checkout=checkout).first()
    return {"note": note, "form": NoteForm({"text": note.text}) if note else NoteForm()}


@seated(post=Act.RUN_PAYMENTS)
def write(request: SeatedRequest, *, checkout_id: str) -> HttpResponse:
    """Keep, change or remove the team's note about a checkout."""
    checkout = find_checkout(request.seat, checkout_id)
    if checkout is None:
        raise Http404
    form = NoteForm(request.POST)
    if form.is_valid():
        text = form.cleaned_data["text"]
        write_note(
            checkout,
            text,
            actor=request.user,
            address=address_or_none(request),
            now=timezone.now(),
        )
        messages.success(request, "Note saved." if text else "Note removed.")
    else:
        messages.error(request, f"Note: {form.errors['text'][0]}")
    url = request.seat.url("dashboard_checkout", checkout_id=checkout_id)
    return HttpResponseRedirect(url)
