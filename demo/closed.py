"""Finds the payment option of a closed checkout, to demonstrate late and duplicate payments.

The API no longer returns it, so the demo reads its own database.
"""

from typing import Any

import base58

from checkouts.amounts import exact_units
from checkouts.models import AmountReservation, Checkout
from demo.wallets.base import WalletError
from gateway.core.money import format_token, format_units


def closed_option(checkout_id: str, chain: str) -> dict[str, Any]:
    """Return the option as the API returned it earlier. Raises `WalletError` if the chain was never chosen."""
    checkout = Checkout.objects.get(public_id=checkout_id)
    offer = checkout.offers.get(chain)
    if offer is None:
        message = "The checkout was not offered on that chain."
        raise WalletError(message)
    if offer["address"] is not None:
        amount = format_token(checkout.amount)
        return {"address": offer["address"], "payAmount": amount, "paymentUri": None}
    reserved = checkout.reservations.order_by("reserved_at").last()
    if reserved is None:
        message = "No exact amount was ever asked for: nobody chose that chain in time."
        raise WalletError(message)
    return _exact_option(offer["wallet"], reserved)


def _exact_option(wallet: str, reserved: AmountReservation) -> dict[str, Any]:
    units = exact_units(reserved.price, reserved.suffix)
    reference = base58.b58encode(bytes(reserved.reference)).decode()
    return {
        "address": wallet,
        "payAmount": format_units(units),
        "paymentUri": f"pay:?reference={reference}&text={reserved.memo}",
    }
