"""Writes the team's note about a checkout."""

from datetime import datetime

from django.db import transaction

from accounts.audit.service import record
from accounts.models import User
from checkouts.models import Checkout, TeamNote


@transaction.atomic
def write_note(
    checkout: Checkout, text: str, *, actor: User, address: str | None, now: datetime
) -> bool:
    """Replace the team's note, or remove it if `text` is empty; return whether anything changed.

    The audit log has who wrote it, and both texts. `text` has at most `MOST_LETTERS` characters.
    """
    # Locks the checkout: with two writers at once, the second audit entry shows what the first wrote.
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
