"""What may happen to a payment after it completed, and how it ends."""

from collections.abc import Callable

from checkouts.models import Checkout
from checkouts.states import CheckoutException, CheckoutStatus
from tests.checkouts.factories import HEAD, move, pay
from tests.factories import make_live_chain

TROUBLES = {"reversed": "The network reversed this payment", "doubted": "We are checking your payment again"}


def bring(trouble: str, checkout: Checkout) -> Callable[[], object]:
    """Reverse or doubt the payment of a live checkout; return what brings it back."""
    if trouble == "reversed":
        move(checkout, CheckoutStatus.COMPLETED, exception=CheckoutException.REVERSED, paid_at=checkout.paid_at)
        return lambda: move(
            checkout, CheckoutStatus.COMPLETED, exception=CheckoutException.NONE, paid_at=checkout.paid_at
        )
    pay(checkout, 1, confirmations=12)
    make_live_chain("base", halted_reason="a deep fork", doubted_above=0, head=HEAD)
    return lambda: make_live_chain("base", halted_reason="", doubted_above=None, head=HEAD)
