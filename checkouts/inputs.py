"""What callers ask of the checkout services, read and checked already."""

from dataclasses import dataclass
from decimal import Decimal

from checkouts.states import TestScenario


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


@dataclass(frozen=True, slots=True)
class OptionChoice:
    """A chain and token a buyer wants to pay with."""

    chain: str
    token: str
