"""Checkouts that take EURC on Base, at rates as if they had been fetched."""

from typing import Any

from django.utils import timezone

from checkouts.models import Checkout
from tests.checkouts.watcher import Watcher, attribute
from tests.contract.client import ApiClient
from tests.rates.playing import price_in, store_rates
from wallets.models import Transfer
from wallets.selectors import forget

TAKEN = {"BASE_TOKENS": "USDC,EURC", "BASE_CHECKOUT_TOKENS": "USDC,EURC"}
RATES = {"EUR": "1.088260", "JPY": "0.006666666667"}
DUE = 23_000_000
"""Of 23.00 EUR, which are 25.03 USD."""


def offer_euros(settings: Any, **rates: str) -> None:
    """Let new checkouts on Base offer EURC, and prices be in EUR and JPY."""
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | TAKEN
    forget()
    price_in(settings, "EUR", "JPY")
    settings.DEPEG_GUARD = False
    store_rates(RATES | rates)


def offered(shop: ApiClient, amount: str = "23.00", currency: str = "EUR", **fields: Any) -> Checkout:
    """A checkout that the API creates."""
    body = shop.created(amount=amount, currency=currency, **fields)
    return Checkout.objects.select_related("merchant").get(public_id=body["id"])


def paid(checkout: Checkout, units: int, token: str = "EURC") -> Transfer:
    """Pay by a transfer that is seen, final and credited now."""
    now, watcher = timezone.now(), Watcher(height=100 + Transfer.objects.count())
    transfer = watcher.sees(checkout, units, at=now, token=token)
    watcher.confirms(transfer, now=now)
    attribute(now=now)
    return transfer


def base_of(options: list[dict[str, Any]]) -> dict[str, Any]:
    """The option of Base."""
    [found] = [one for one in options if one["chain"] == "base"]
    return found
