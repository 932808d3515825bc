"""What callers ask of the checkout services, read and checked already."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from checkouts.states import TestScenario

AGAIN: Final = "again:"
"""How the creation_ref of a checkout begins that a buyer had made afresh; then comes the expired one's public id."""


@dataclass(frozen=True, slots=True)
class NewCheckout:
    """A creation request that was understood. `metadata` is compact JSON text; expiry is in seconds."""

    amount: Decimal
    currency: str
    description: str
    metadata: str
    customer_email: str
    redirect_url: str
    webhook_url: str
    expires_in: int
    customer_ref: str
    product_ref: str
    order_ref: str
    test_scenario: TestScenario
    # Whether order_ref, amount and currency name it for good. Of a payment link each payer gets a checkout.
    is_repeatable: bool = True
    # The public id of the expired checkout that its buyer wants again. Of each there is one.
    again_for: str = ""
    # Where a buyer who comes too late begins again instead.
    again_url: str = ""
    # Whether what is paid stays in its forwarder until somebody of the team releases it.
    escrow: bool = False

    @property
    def is_from_link(self) -> bool:
        """Whether a payment link asks for it: only a link's page is where buyers begin again."""
        return bool(self.again_url)

    @property
    def creation_ref(self) -> str | None:
        """What makes creation idempotent, beside amount and currency; None where every call makes a checkout."""
        if self.again_for:
            return f"{AGAIN}{self.again_for}"
        return (self.order_ref or None) if self.is_repeatable else None


@dataclass(frozen=True, slots=True)
class OptionChoice:
    """A chain and token a buyer wants to pay with."""

    chain: str
    token: str
