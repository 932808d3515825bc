"""Escrow: our sweeps skip its forwarders until a team member releases them.

A release sends nothing. It ends the hold, and the next sweep includes the forwarder. Anyone may flush a forwarder, also before
its buyer pays; so the app whose money is held says whether a third party's flush ended the hold. It registers when it starts.
"""

from collections.abc import Callable, Collection
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Subquery

from accounts.audit.actors import Actor
from accounts.audit.service import record
from settlements.models import Hold
from settlements.states import ReleasedBy
from wallets.models import DepositBalance, DepositOutflow
from wallets.states import TransferState

_listeners: list[Callable[[Collection[str]], None]] = []


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


def register(listener: Callable[[Collection[str]], None]) -> None:
    """Have an app told from now on, by their subjects, of unreleased holds whose forwarders a third party flushed."""
    _listeners.append(listener)


def tell_of_flushes(nonces: Collection[bytes]) -> None:
    """Tell the apps of a third party's flush of forwarders with these nonces, in the transaction that writes it down."""
    held = set(Hold.objects.filter(nonce__in=nonces, released_at=None).values_list("subject_id", flat=True))
    for listener in _listeners if held else []:
        listener(held)


def end_emptied(subject_ids: Collection[str]) -> int:
    """End those of these holds whose forwarders third parties emptied on every chain; return how many.

    The caller has checked that the money that was to be held had come.
    """
    outflows = DepositOutflow.objects.filter(deposit__nonce=OuterRef("nonce"), state=TransferState.CONFIRMED)
    left = DepositBalance.objects.filter(deposit__nonce=OuterRef("nonce"), received__gt=F("flushed"))
    holds = Hold.objects.filter(Exists(outflows), ~Exists(left), subject_id__in=subject_ids, released_at=None)
    ended_at = Subquery(outflows.order_by("-confirmed_at").values("confirmed_at")[:1])
    return holds.update(released_at=ended_at, released_by=ReleasedBy.EXTERNAL)
