"""Renews an expired checkout for a late buyer."""

from datetime import datetime
from math import ceil

from accounts.states import Mode
from checkouts.creation.service import create_checkout
from checkouts.inputs import NewCheckout
from checkouts.models import Checkout
from checkouts.rows import CheckoutRow
from checkouts.states import TestScenario

# Within the API's range, because test mode shortens the expiry of scenarios that expire.
_LEAST_SECONDS = 300


def begin_again(checkout: Checkout, *, now: datetime) -> CheckoutRow:
    """Return the renewal of an expired checkout: same amount, references, metadata and webhook address.

    Idempotent: all calls return the same one. The caller checks `may_begin_again` first. Raises ConflictError:
    receiving_wallet_missing, capacity_exhausted.
    """
    created = create_checkout(checkout.merchant_id, Mode(checkout.mode), _the_same(checkout), now=now)
    return created.row


def _the_same(checkout: Checkout) -> NewCheckout:
    lasted = ceil((checkout.expires_at - checkout.created_at).total_seconds())
    return NewCheckout(
        amount=checkout.amount,
        currency=checkout.currency,
        description=checkout.description,
        metadata=checkout.metadata,
        customer_email=checkout.customer_email,
        redirect_url=checkout.redirect_url,
        webhook_url=checkout.webhook_url,
        expires_in=max(lasted, _LEAST_SECONDS),
        customer_ref=checkout.customer_ref,
        product_ref=checkout.product_ref,
        order_ref=checkout.order_ref,
        # The renewal's scenario succeeds, whichever scenario made the first one expire.
        test_scenario=TestScenario.COMPLETED,
        again_for=checkout.public_id,
        escrow=checkout.escrow,
    )
