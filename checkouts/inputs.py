"""Validated inputs of the checkout services."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from checkouts.states import TestScenario

AGAIN: Final = "again:"
"""The prefix of a renewal's creation_ref; the expired checkout's public id follows."""


@dataclass(frozen=True, slots=True)
class NewQuote:
    """How the price of a new checkout was converted. `evidence` has the sources as the API shows them; `margin` is a share."""

    usd_amount: Decimal
    rate: Decimal
    margin: Decimal
    evidence: list[dict[str, str]]
    taken_at: datetime


@dataclass(frozen=True, slots=True)
class NewCheckout:
    """A validated creation request. `metadata` is compact JSON text; expiry is in seconds. `amount` is in `currency`."""

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
    # Whether order_ref, amount and currency identify it. A payment link makes a checkout for each payer.
    is_repeatable: bool = True
    # The public id of the checkout that it renews, which expired, or which a shop plugin gave up. Each has one renewal at most.
    again_for: str = ""
    # The page where a late buyer begins again, if not the checkout's.
    again_url: str = ""
    # Whether the payment stays in its forwarder until a team member releases it.
    escrow: bool = False
    # The chains and tokens to offer, of those that there are; empty: all.
    pairs: frozenset[tuple[str, str]] = frozenset()
    # What stands for the checkout's own id in `redirect_url`; empty: nothing does.
    id_mark: str = ""

    @property
    def is_from_link(self) -> bool:
        """Return whether it is from a payment link: its buyers begin again only on the link's page."""
        return bool(self.again_url)

    @property
    def creation_ref(self) -> str | None:
        """Return the key that makes creation idempotent, beside amount and currency; None if every call creates a checkout."""
        if self.again_for:
            return f"{AGAIN}{self.again_for}"
        return (self.order_ref or None) if self.is_repeatable else None


@dataclass(frozen=True, slots=True)
class OptionChoice:
    """The chain and token that a buyer chose."""

    chain: str
    token: str
