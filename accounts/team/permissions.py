"""Permissions of each role, exactly as in the contract's table."""

from enum import StrEnum
from typing import Final

from accounts.states import Role


class Act(StrEnum):
    """A permission of a team member."""

    # All pages of the merchant, read-only.
    SEE = "see"
    # Links, checkouts, the inbox, escrow, settling, resending webhooks.
    RUN_PAYMENTS = "run_payments"
    # Refunds and payouts: asking for them, their addresses, and handing them out to be paid.
    REQUEST_PAYOUTS = "request_payouts"
    # Admins too, where their merchant says so: see `Seat.can`.
    APPROVE_PAYOUTS = "approve_payouts"
    EXPORT = "export"
    # The webhook URL and its secret, and requirements for machines' proofs.
    MANAGE_WEBHOOKS = "manage_webhooks"
    MANAGE_BRANDING = "manage_branding"
    MANAGE_WATCHED_WALLETS = "manage_watched_wallets"
    MANAGE_KEYS = "manage_keys"
    # Machine wallets too, and the schedule of settlements.
    MANAGE_RECEIVING_WALLETS = "manage_receiving_wallets"
    # How many people approve payouts, and who.
    MANAGE_APPROVALS = "manage_approvals"
    # The margin on converted prices: buyers pay it.
    MANAGE_PRICES = "manage_prices"
    MANAGE_TEAM = "manage_team"
    CLOSE = "close"


_VIEWER: Final = frozenset({Act.SEE, Act.EXPORT})
_ADMIN: Final = _VIEWER | {
    Act.RUN_PAYMENTS,
    Act.REQUEST_PAYOUTS,
    Act.MANAGE_WEBHOOKS,
    Act.MANAGE_BRANDING,
    Act.MANAGE_WATCHED_WALLETS,
}
_OWNER: Final = _ADMIN | {
    Act.APPROVE_PAYOUTS,
    Act.MANAGE_APPROVALS,
    Act.MANAGE_KEYS,
    Act.MANAGE_RECEIVING_WALLETS,
    Act.MANAGE_PRICES,
    Act.MANAGE_TEAM,
    Act.CLOSE,
}
ROLE_ACTS: Final = {Role.OWNER: _OWNER, Role.ADMIN: _ADMIN, Role.VIEWER: _VIEWER}


def may(role: Role, act: Act) -> bool:
    """Return whether a role has a permission."""
    return act in ROLE_ACTS[role]
