"""What each role may do: the contract's table, and nothing that is not in it."""

from enum import StrEnum
from typing import Final

from accounts.states import Role


class Act(StrEnum):
    """Something a member of a team may be allowed to do."""

    # Every page of the merchant, without changing anything.
    SEE = "see"
    # Links, checkouts, the inbox, escrow, settling, sending a webhook again.
    RUN_PAYMENTS = "run_payments"
    EXPORT = "export"
    # The webhook URL and its secret, and what machines' proofs need.
    MANAGE_WEBHOOKS = "manage_webhooks"
    MANAGE_BRANDING = "manage_branding"
    MANAGE_WATCHED_WALLETS = "manage_watched_wallets"
    MANAGE_KEYS = "manage_keys"
    # Those of machines too, and when forwarders are emptied.
    MANAGE_RECEIVING_WALLETS = "manage_receiving_wallets"
    MANAGE_TEAM = "manage_team"
    CLOSE = "close"


_VIEWER: Final = frozenset({Act.SEE, Act.EXPORT})
_ADMIN: Final = _VIEWER | {
    Act.RUN_PAYMENTS,
    Act.MANAGE_WEBHOOKS,
    Act.MANAGE_BRANDING,
    Act.MANAGE_WATCHED_WALLETS,
}
_OWNER: Final = _ADMIN | {
    Act.MANAGE_KEYS,
    Act.MANAGE_RECEIVING_WALLETS,
    Act.MANAGE_TEAM,
    Act.CLOSE,
}
ROLE_ACTS: Final = {Role.OWNER: _OWNER, Role.ADMIN: _ADMIN, Role.VIEWER: _VIEWER}


def may(role: Role, act: Act) -> bool:
    """Say whether a role includes an act."""
    return act in ROLE_ACTS[role]
