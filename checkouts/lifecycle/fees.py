"""Charges merchants' fees for completed checkouts. Test mode is free."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from accounts.fees.service import CompletedPayment, charge, unvoid, void
from accounts.states import FeeKind, Mode
from checkouts.models import Checkout
from checkouts.rows import TransferRow
from checkouts.states import CheckoutException


def charge_completed(
    completed: Iterable[Checkout], transfers: Mapping[int, Sequence[TransferRow]], *, now: datetime
) -> None:
    """Charge the fee of each live checkout that just completed, on everything it has received."""
    payments = [_payment(checkout, transfers[checkout.pk][-1]) for checkout in _live(completed)]
    charge(payments, now=now)


def follow_reversals(turned: Iterable[Checkout], *, now: datetime) -> None:
    """Refund the fees of checkouts that turned `reversed`, and charge again those that no longer are."""
    lost: list[str] = []
    back: list[str] = []
    for checkout in _live(turned):
        is_lost = checkout.exception == CheckoutException.REVERSED
        (lost if is_lost else back).append(checkout.public_id)
    void(FeeKind.CHECKOUT, lost, now=now)
    unvoid(FeeKind.CHECKOUT, back, now=now)


def _live(checkouts: Iterable[Checkout]) -> list[Checkout]:
    return [checkout for checkout in checkouts if checkout.mode == Mode.LIVE]


def _payment(checkout: Checkout, last: TransferRow) -> CompletedPayment:
    """Return the fee's payment facts: of the newest transfer, as in the daily total."""
    return CompletedPayment(
        merchant_id=checkout.merchant_id,
        kind=FeeKind.CHECKOUT,
        subject_id=checkout.public_id,
        chain=last.chain,
        token=last.token,
        received=checkout.amount_received,
    )
