"""Escrow: chains that support it, and the release of held money."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from accounts.audit.actors import Actor
from checkouts.lifecycle.bells import ring_pages
from checkouts.models import Checkout
from checkouts.rows import AnyCheckout
from checkouts.states import FINAL, CheckoutStatus
from gateway.core.api.errors import ConflictError
from settlements.sweeps.escrow import holds_of, release
from wallets.selectors import Offerable


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
        raise ConflictError("The checkout was created without escrow.")
    if CheckoutStatus(checkout.status) not in FINAL:
        raise ConflictError(
            f"The checkout is {checkout.status}; its money is released once it is completed or expired."
        )
    is_released = release(checkout.hold_subject, actor=actor, object_id=checkout.public_id, now=now)
    if is_released:
        # Its page says that the money is held, or its successor's does.
        ring_pages([checkout.id, *Checkout.objects.filter(replaces=checkout.id).values_list("pk", flat=True)])
    return is_released
