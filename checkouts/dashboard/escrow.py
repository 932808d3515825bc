"""The escrow status on a checkout's page."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from checkouts.models import Checkout
from checkouts.states import FINAL
from settlements.models import Hold
from settlements.states import ReleasedBy
from settlements.sweeps.escrow import holds_of
from webhooks.dashboard.words import Badge

HELD: Final = Badge("Held in escrow", "warn")
RELEASED: Final = Badge("Released from escrow", "ok")


@dataclass(frozen=True, slots=True)
class ShownEscrow:
    """Money in escrow. `released_by` is empty, and `released_at` None, while it is held.

    `is_outside` says that a third party's transaction sent it to the merchant's wallet.
    """

    badge: Badge
    released_by: str
    released_at: datetime | None
    is_releasable: bool
    is_outside: bool


def escrow_of(checkout: Checkout) -> ShownEscrow | None:
    """Return a checkout's escrow status; None if it has none."""
    if not checkout.escrow:
        return None
    hold = holds_of([checkout.hold_subject])[checkout.hold_subject]
    is_held = hold.released_at is None
    return ShownEscrow(
        badge=HELD if is_held else RELEASED,
        released_by=_who(hold),
        released_at=hold.released_at,
        is_releasable=is_held and checkout.status in FINAL,
        is_outside=hold.released_by == ReleasedBy.EXTERNAL,
    )


def _who(hold: Hold) -> str:
    if hold.released_by == ReleasedBy.EXTERNAL:
        return "a stranger, who paid the gas"
    if hold.released_by == ReleasedBy.API:
        return "an API key"
    return hold.released_actor.email if hold.released_actor else ""
