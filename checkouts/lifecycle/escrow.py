"""Escrow: chains that support it, and the release of held money."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from django.db.models import F, Q

from accounts.audit.actors import Actor
from checkouts.lifecycle.bells import ring_pages
from checkouts.models import Checkout
from checkouts.rows import AnyCheckout
from checkouts.states import FINAL, CheckoutException, CheckoutStatus
from gateway.core.api.errors import ConflictError
from gateway.core.texts import pgettext_noop
from settlements.sweeps.escrow import end_emptied, holds_of, release
from wallets.selectors import Offerable
from wallets.states import TransferState


def holdable(chains: Iterable[Offerable]) -> list[Offerable]:
    """Return the chains on which escrow can hold money in a forwarder; on others the merchant gets it at once."""
    return [chain for chain in chains if chain.destination is not None]


def releases_of(checkouts: Sequence[AnyCheckout]) -> dict[int, str]:
    """Return, by the key of each checkout in escrow, who released its money: a `ReleasedBy`, or empty if unreleased.

    Runs no query if none is in escrow.
    """
    subjects = {one.id: one.hold_subject for one in checkouts if one.escrow}
    if not subjects:
        return {}
    holds = holds_of(set(subjects.values()))
    return {key: holds[subject].released_by for key, subject in subjects.items()}


def release_escrow(checkout: AnyCheckout, *, actor: Actor, now: datetime) -> bool:
    """Release a checkout's money to the next sweep; return whether this call released it.

    A checkout and the successor that took its money are released together: their money is in one forwarder. Raises
    ConflictError (state_conflict) where the checkout has no escrow, or has not ended.
    """
    if not checkout.escrow:
        raise ConflictError(pgettext_noop("team", "The checkout was created without escrow."))
    if CheckoutStatus(checkout.status) not in FINAL:
        raise ConflictError(
            pgettext_noop("team", "The checkout is {status}; its money is released once it is completed or expired."),
            values={"status": checkout.status},
        )
    is_released = release(checkout.hold_subject, actor=actor, object_id=checkout.public_id, now=now)
    if is_released:
        # Its page says that the money is held, or its successor's does.
        ring_pages([checkout.id, *Checkout.objects.filter(replaces=checkout.id).values_list("pk", flat=True)])
    return is_released


def end_flushed(subject_ids: Collection[str]) -> None:
    """End holds whose checkouts are paid and whose forwarders a third party has emptied; `subject_ids` are the holds'.

    Before that, anyone may send dust to an address and flush it: the money that comes later is held all the same.
    """
    first = Checkout.objects.filter(public_id__in=subject_ids).values("pk")
    # Locked before they are read: one that completes meanwhile may not have seen the flush.
    locked = [one.pk for one in Checkout.objects.locked().filter(Q(pk__in=first) | Q(replaces__in=first))]
    completed = Checkout.objects.filter(pk__in=locked, status=CheckoutStatus.COMPLETED)
    end_completed(list(completed.select_related("replaces")))


def end_completed(completed: Sequence[Checkout]) -> None:
    """End the holds of completed checkouts, which the caller locked, whose money a third party has sent to the merchant."""
    standing = [one for one in completed if one.escrow and one.exception != CheckoutException.REVERSED]
    if not standing:
        return
    # Money that a person credited from another address is not in these forwarders.
    address = "payments__transfer__deposit__nonce"
    brought = Checkout.objects.filter(
        Q(replaces=None, **{address: F("deposit_nonce")}) | Q(**{address: F("replaces__deposit_nonce")}),
        pk__in=[one.pk for one in standing],
        payments__transfer__state=TransferState.CONFIRMED,
    )
    paid = set(brought.values_list("pk", flat=True))
    if end_emptied({one.hold_subject for one in standing if one.pk in paid}):
        ring_pages({pk for one in standing for pk in (one.pk, one.replaces_id) if pk})
