"""Test checkouts that are played to their end."""

from datetime import timedelta

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.creation.forms import parse_create
from checkouts.creation.service import create_checkout
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import Checkout
from checkouts.testmode import play_due_steps
from gateway.core.outbound import url_policy
from tests.factories import NOON


def play(scenario: str, merchant: Merchant, amount: str = "10.01") -> Checkout:
    """A test checkout of noon, played to its end."""
    body = {"amount": amount, "currency": "USD", "test_scenario": scenario}
    wanted = parse_create(body, url_policy())
    made = create_checkout(merchant.pk, Mode.TEST, wanted, now=NOON)
    play_due_steps(now=NOON + timedelta(minutes=1))
    expire_due_checkouts(now=NOON + timedelta(minutes=10))
    return Checkout.objects.get(pk=made.row.id)
