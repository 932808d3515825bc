"""The team's note on the page of a checkout."""

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from accounts.audit.service import record
from accounts.models import User
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.dashboard.details import find_checkout
from checkouts.models import MOST_LETTERS, Checkout, TeamNote
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
        """Normalise line breaks, which differ by browser."""
        text: str = self.cleaned_data["text"]
        return text.replace("\r\n", "\n")


def note_context(checkout: Checkout) -> dict[str, Any]:
    """Return what the note's template needs: the note or None, and its form."""
    note = TeamNote.objects.select_related("author").filter(checkout=checkout).first()
    return {"note": note, "form": NoteForm({"text": note.text}) if note else NoteForm()}


@seated(post=Act.RUN_PAYMENTS)
def write(request: SeatedRequest, *, checkout_id: str) -> HttpResponse:
    """Save, change or remove the team's note about a checkout."""
    checkout = find_checkout(request.seat, checkout_id)
    if checkout is None:
        raise Http404
    form = NoteForm(request.POST)
    if form.is_valid():
        text = form.cleaned_data["text"]
        write_note(checkout, text, actor=request.user, address=address_or_none(request), now=timezone.now())
        messages.success(request, "Note saved." if text else "Note removed.")
    else:
        messages.error(request, f"Note: {form.errors['text'][0]}")
    url = request.seat.url("dashboard_checkout", checkout_id=checkout_id)
    return HttpResponseRedirect(url)


@transaction.atomic
def write_note(checkout: Checkout, text: str, *, actor: User, address: str | None, now: datetime) -> bool:
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
        values = {"text": text, "author": actor, "written_at": now}
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
        address=address,
        now=now,
    )
    return True
