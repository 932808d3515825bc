"""Buyers who came too late, and what they press."""

from typing import Any

from django.test import Client

from accounts.models import Merchant
from checkouts.models import Checkout
from tests.checkouts.factories import make_expired


def expired(merchant: Merchant, **overrides: Any) -> Checkout:
    return make_expired(merchant=merchant, webhook_url="https://shop.example/hook", **overrides)


def again(client: Client, checkout: Checkout, **headers: str) -> Any:
    return client.post(f"/c/{checkout.code}/again", headers=headers)
