"""Escrow: our sweeps skip its forwarders until a team member releases them.

A release sends nothing. It ends the hold, and the next sweep includes the forwarder.
"""

from collections.abc import Collection
from datetime import datetime

from django.db import transaction

from accounts.audit.actors import Actor
from accounts.audit.service import record
from settlements.models import Hold
from settlements.states import ReleasedBy


def insert_holds(source: str, *, merchant: str, mode: str, subject: str, nonce: str, now: str) -> str:
    """Return SQL that inserts a hold for each row of `source`, as part of the caller's statement."""
    return f"""
        INSERT INTO settlements_hold (merchant_id, mode, subject_id, nonce, created_at, released_by)
        SELECT {merchant}, {mode}, {subject}, {nonce}, {now}, '' FROM {source}
    """  # noqa: S608 - only our own text is put in


@transaction.atomic
def release(subject_id: str, *, actor: Actor, object_id: str, now: datetime) -> bool:
    """Release a hold, and audit it under `object_id`; return whether this call did it.

    An earlier release stays as it was. Raises Hold.DoesNotExist.
    """
    holds = Hold.objects.select_for_update(of=("self",), no_key=True)
    hold = holds.select_related("merchant").get(subject_id=subject_id)
    if hold.released_at is not None:
        return False
    # The audit log knows which key.
    hold.released_by = ReleasedBy.MEMBER if actor.user else ReleasedBy.API
    hold.released_at, hold.released_actor = now, actor.user
    hold.save(update_fields=["released_at", "released_by", "released_actor"])
    record(
        hold.merchant,
        action="escrow.released",
        actor=actor,
        object_id=object_id,
        before={"escrow": "held"},
        after={"escrow": "released"},
        now=now,
    )
    return True


def holds_of(subject_ids: Collection[str]) -> dict[str, Hold]:
    """Return the holds by subject, with their releasers loaded."""
    holds = Hold.objects.filter(subject_id__in=subject_ids)
    return {hold.subject_id: hold for hold in holds.select_related("released_actor")}
