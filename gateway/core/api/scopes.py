"""What an API key may do: one scope opens the operations that name it, and nothing follows from another scope."""

from enum import StrEnum
from typing import Final


class Scope(StrEnum):
    """A permission of an API key. Each names operations of the API (`ApiViewSet.scopes`), none a person's decisions.

    There is no scope for receiving wallets, keys, people, fees, branding or approvals: custody.md promises that.
    """

    CHECKOUTS_READ = "checkouts:read"
    CHECKOUTS_WRITE = "checkouts:write"
    ESCROW_RELEASE = "escrow:release"
    LINKS_READ = "links:read"
    LINKS_WRITE = "links:write"
    EVENTS_READ = "events:read"
    INBOX_READ = "inbox:read"
    PAYOUTS_READ = "payouts:read"
    PAYOUTS_REQUEST = "payouts:request"
    REPORTS_READ = "reports:read"
    TERMINALS_READ = "terminals:read"
    TERMINALS_WRITE = "terminals:write"
    WALLETS_READ = "wallets:read"
    WALLETS_WRITE = "wallets:write"
    WEBHOOKS_READ = "webhooks:read"
    WEBHOOKS_WRITE = "webhooks:write"
    X402_READ = "x402:read"
    X402_VERIFY = "x402:verify"
    X402_SETTLE = "x402:settle"


SCOPE_CHOICES: Final = [(scope.value, scope.name) for scope in Scope]
"""For serializers: values, and names by which the OpenAPI document finds them to be one enumeration."""
