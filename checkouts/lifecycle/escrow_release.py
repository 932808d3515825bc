"""Releases a checkout's money from escrow."""

from datetime import datetime

from checkouts.rows import CheckoutFacts
from checkouts.states import FINAL, CheckoutStatus
from gateway.core.api.errors import ConflictError
from settlements.sweeps.escrow import (
    Releaser,
    release,
)


def release_escrow(checkout: CheckoutFacts, *, by: Releaser, now: datetime) -> bool:
    """Release a checkout's money to the next sweep; return whether this call did it.

    A checkout and the successor that took its money are released together: their money is in one forwarder. Raises
    ConflictError (state_conflict) where the checkout has no escrow, or has not ended.
    """
    if not checkout.escrow:
        raise ConflictError("The checkout was created without escrow.")
    if CheckoutStatus(checkout.status) not in FINAL:
        raise ConflictError(
            f"The checkout is {checkout.status}; its money is released once it is completed or expired."
        )
    return release(checkout.hold_subject, by=by, object_id=checkout.public_id, now=now)
