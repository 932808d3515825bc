"""What a checkout's state makes of a payment's. No network."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from payments import FraudStatus, PaymentError, PaymentStatus

ENDED = ("completed", "expired")
"""Statuses of a checkout that may change a payment."""

UNPAID = (PaymentStatus.WAITING, PaymentStatus.INPUT)
_DONE = (PaymentStatus.CONFIRMED, PaymentStatus.REFUNDED)


def bring_to(payment: Any, checkout: Mapping[str, Any]) -> None:
    """Bring a locked payment to what a checkout says, and save it; repeats change nothing. Raises PaymentError for another's checkout."""
    if checkout["references"]["order_ref"] != payment.token:
        raise PaymentError("The checkout is another payment's.", code=400)
    is_completed = checkout["status"] == "completed"
    if is_completed and checkout["exception"] == "reversed":
        _take_back(payment, checkout)
    elif is_completed and payment.status not in _DONE:
        _confirm(payment, checkout)
    elif checkout["status"] == "expired" and payment.status in UNPAID and checkout["id"] == payment.transaction_id:
        payment.change_status(PaymentStatus.REJECTED, "The time to pay ended.")


def is_on_its_way(payment: Any, checkout: Mapping[str, Any] | None) -> bool:
    """Whether a buyer who comes back has done their part: the payment is confirmed, or all the money was seen and is not final."""
    return payment.status == PaymentStatus.CONFIRMED or (checkout is not None and checkout["status"] == "processing")


def _confirm(payment: Any, checkout: Mapping[str, Any]) -> None:
    price, currency = Decimal(checkout["amount"]), checkout["currency"]
    if (price, currency) != (payment.total, payment.currency):
        # The shop changed the price after the buyer got the page: a person decides what that buys.
        told = f"Checkout {checkout['id']} was paid at another price: {price} {currency}."
        payment.change_fraud_status(FraudStatus.REVIEW, told)
        return
    taken_back = getattr(payment.attrs, "taken_back", None)
    captured = payment.total
    if taken_back is not None and checkout["id"] == payment.transaction_id:
        captured = Decimal(taken_back)
    payment.transaction_id = checkout["id"]
    payment.captured_amount = captured
    payment.save(update_fields=["transaction_id", "captured_amount"])
    payment.change_status(PaymentStatus.CONFIRMED)


def _take_back(payment: Any, checkout: Mapping[str, Any]) -> None:
    if payment.status != PaymentStatus.CONFIRMED or checkout["id"] != payment.transaction_id:
        return
    # Without what was refunded: it is not refunded once more if the network gives the payment back.
    payment.attrs.taken_back = str(payment.captured_amount)
    payment.captured_amount = Decimal(0)
    payment.save(update_fields=["captured_amount", "extra_data"])
    payment.change_status(PaymentStatus.ERROR, "The network took the payment back: hold the order.")
